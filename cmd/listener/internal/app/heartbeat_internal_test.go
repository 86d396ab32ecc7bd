package app

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/state"
)

const heartbeatSecret = "0b7e-secret"

// roundTrip is a way to answer requests without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answered(status int) (*http.Response, error) {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader("OK"))}, nil
}

func beating(url string, trouble *string) (*heartbeat, *observer.ObservedLogs) {
	core, logs := observer.New(zap.InfoLevel)
	h := newHeartbeat(Options{Config: config.Config{Heartbeat: config.NewCredential(url)}, Version: "1.2.3", Log: zap.New(core)},
		func(context.Context) (string, error) { return *trouble, nil }, newHeartbeatMetrics(prometheus.NewRegistry()))
	return h, logs
}

// A heartbeat a minute while all is well, none while it is not, and one line where that changes.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // over these, since the race detector does not know that the bubble's time orders them
		trouble, status := "", 200
		var at []time.Duration
		now := func(nowTrouble string, nowStatus int) {
			mu.Lock()
			defer mu.Unlock()
			trouble, status = nowTrouble, nowStatus
		}
		started := time.Now()
		h, logs := beating("https://hc.example/"+heartbeatSecret, &trouble)
		h.trouble = func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return trouble, nil
		}
		h.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(started))
			if r.Method != http.MethodGet || r.URL.String() != "https://hc.example/"+heartbeatSecret {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			return answered(status)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go h.run(ctx)
		time.Sleep(2 * time.Minute)
		now("Prefect was last read: 5m0s ago", 200)
		time.Sleep(3 * time.Minute)
		now("", 500)
		time.Sleep(2 * time.Minute)
		now("", 200)
		time.Sleep(time.Minute)
		cancel()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		var want []time.Duration
		for _, second := range []int{10, 70, 310, 370, 430} {
			want = append(want, time.Duration(second)*time.Second)
		}
		if !slices.Equal(at, want) {
			t.Errorf("heartbeats after %v, want %v", at, want)
		}
		got := []float64{testutil.ToFloat64(h.metrics.sent), testutil.ToFloat64(h.metrics.failed), testutil.ToFloat64(h.metrics.withheld)}
		if got[0] != 3 || got[1] != 2 || got[2] != 3 {
			t.Errorf("sent, failed and withheld: %v", got)
		}
		lines := ""
		for _, entry := range logs.All() {
			lines += entry.Message + "\n"
		}
		if lines != "no heartbeat is sent until all is well again\nheartbeats are sent again\n"+
			"a heartbeat did not get through; trying every minute\nheartbeats get through again\n" {
			t.Errorf("the log:\n%s", lines)
		}
	})
}

// Whatever goes wrong, nothing of the address but its host shows.
func TestHeartbeatKeepsItsAddress(t *testing.T) {
	t.Parallel()
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(cut.Close)
	round := httptest.NewServer(http.RedirectHandler("/elsewhere-"+heartbeatSecret, http.StatusFound))
	t.Cleanup(round.Close)
	lost := httptest.NewServer(http.RedirectHandler("https://[::1:"+heartbeatSecret, http.StatusFound))
	t.Cleanup(lost.Close)
	tls := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(tls.Close)
	none := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(none.Close)
	for name, test := range map[string]struct{ url, says string }{
		"nobody there":         {"http://127.0.0.1:1/" + heartbeatSecret, "connection refused"},
		"no such host":         {"http://no-such-host.invalid/" + heartbeatSecret, "no-such-host.invalid"},
		"an unknown authority": {tls.URL + "/" + heartbeatSecret, "certificate"},
		"cut off":              {cut.URL + "/" + heartbeatSecret, "could not be read"},
		"led round":            {round.URL + "/" + heartbeatSecret, "leads nowhere"},
		"led to nothing":       {lost.URL + "/" + heartbeatSecret, "leads nowhere"},
		"not there":            {none.URL + "/" + heartbeatSecret, "404 Not Found"},
		"no address":           {"http://h/%zz" + heartbeatSecret, "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trouble := ""
			h, logs := beating(test.url, &trouble)
			h.turn(t.Context())
			if logs.Len() != 1 || testutil.ToFloat64(h.metrics.failed) != 1 {
				t.Fatalf("the log: %v", logs.All())
			}
			said, _ := logs.All()[0].ContextMap()["error"].(string)
			if !strings.Contains(said, test.says) || strings.Contains(said, heartbeatSecret) {
				t.Errorf("it says %q, want %q in it", said, test.says)
			}
		})
	}
}

func TestHeartbeatWithoutAStore(t *testing.T) {
	t.Parallel()
	trouble := ""
	h, logs := beating("http://127.0.0.1:1/", &trouble)
	h.trouble = func(context.Context) (string, error) { return "", errors.New("no disk") }
	h.turn(t.Context())
	if logs.FilterField(zap.String("reason", "no disk")).Len() != 1 {
		t.Errorf("the log: %v", logs.All())
	}
}

func TestTroubleOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	old := state.DestinationStatus{Destination: state.Destination{Name: "a"}, Pending: 1, OldestPending: now.Add(-11 * time.Minute)}
	young, parked := old, old
	young.OldestPending = now.Add(-9 * time.Minute)
	parked.Parked = true
	held := deliver.DestinationState{Name: "a", State: deliver.Held, Reason: "auth", Since: now.Add(-time.Minute), Next: now.Add(time.Second)}
	retrying := deliver.DestinationState{Name: "a", State: deliver.Retrying}
	for name, test := range map[string]struct {
		unready []string
		status  state.DestinationStatus
		stands  deliver.DestinationState
		want    string
	}{
		"all well":             {nil, state.DestinationStatus{}, deliver.DestinationState{State: deliver.Delivering}, ""},
		"unready":              {[]string{"starting", "more"}, old, held, "starting"},
		"held":                 {nil, young, held, "a: held for 1m0s (auth), next try in 1s"},
		"behind":               {nil, old, retrying, "a: its oldest event waits for 11m0s"},
		"retrying, not behind": {nil, young, retrying, ""},
		"parked":               {nil, parked, held, ""},
	} {
		if got := troubleOf(test.unready, []state.DestinationStatus{test.status}, []deliver.DestinationState{test.stands}, now); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
