package hints

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// world is a real Prefect behind a gate, a consumer, and a listener between them.
type world struct {
	t        *testing.T
	prefect  *rig.Prefect
	gate     *rig.SocketGate
	sink     *transporttest.Sink
	listener *rig.Listener
}

func start(t *testing.T, env ...string) *world {
	t.Helper()
	w := &world{t: t, prefect: rig.StartPrefect(t), sink: transporttest.NewSink(t)}
	api, err := url.Parse(w.prefect.URL)
	if err != nil {
		t.Fatal(err)
	}
	w.gate = rig.NewSocketGate(t, api.Host)
	through := strings.Replace(w.prefect.URL, api.Host, w.gate.Addr(), 1)
	w.listener = rig.NewListener(t, through, append([]string{"OPENLINEAGE_URL=" + w.sink.URL()}, env...)...)
	w.listener.Start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the listener's log:\n%s", w.listener.Log())
		}
	})
	rig.Eventually(t, time.Minute, "events are heard", func() bool {
		return len(w.listener.LogLines("events are heard over its websocket")) == 1
	})
	time.Sleep(3 * time.Second) // the first poll is over as well
	return w
}

func (w *world) taken() []told.Event {
	var lines [][]byte
	for _, r := range w.sink.Taken() {
		lines = append(lines, r.Body)
	}
	return told.Decode(w.t, lines)
}

// complete waits until all has come, and judges it.
func (w *world) complete(within time.Duration) {
	w.t.Helper()
	want := told.Settled(w.t, w.prefect)
	rig.Eventually(w.t, within, "all events have come", func() bool { return len(told.Missing(want, w.taken())) == 0 })
	told.Judge(w.t, want, w.taken(), 0)
}

// Polls are ten minutes apart: whatever comes, comes because an event named it.
func TestEventsAloneBringEverything(t *testing.T) {
	t.Parallel()
	w := start(t, "LISTENER_POLL_INTERVAL=10m")
	began := time.Now()
	w.prefect.RunFlows("plain", "subflows", "mapped", "task_retries", "failing", "flow_artifacts")
	w.complete(time.Minute)
	if took := time.Since(began); took > 5*time.Minute {
		t.Errorf("it took %s, in which a poll may have helped", took)
	}
	if code, out, _ := w.listener.Run("check"); code != 0 || !strings.Contains(out, "ok: heard") {
		t.Errorf("check ends with %d and says\n%s", code, out)
	}
}

// assetEar notices that an asset was heard of.
type assetEar struct{ up, asset chan struct{} }

func (e assetEar) HintsUp()   { close(e.up) }
func (e assetEar) HintsDown() {}

func (e assetEar) Hint(h prefect.Hint) {
	if h.Asset {
		select {
		case e.asset <- struct{}{}:
		default:
		}
	}
}

// Looks for assets are left out while none is heard of, so that all of them must be.
func TestAssetsAreHeardOf(t *testing.T) {
	t.Parallel()
	server := rig.StartPrefect(t)
	client, err := prefect.NewClient(prefect.Config{URL: server.URL}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, stop := context.WithCancel(t.Context())
	ear := assetEar{make(chan struct{}), make(chan struct{}, 1)}
	var listening sync.WaitGroup
	listening.Go(func() { client.Hints(ear, zap.NewNop()).Run(ctx) })
	defer listening.Wait()
	defer stop()
	await := func(what string, heard <-chan struct{}) {
		select {
		case <-heard:
		case <-time.After(time.Minute):
			t.Fatalf("not %s within a minute", what)
		}
	}
	await("connected", ear.up)
	server.RunFlows("plain", "assets")
	await("heard of an asset", ear.asset)
}

// The websocket breaks every second while flows run.
func TestNothingIsMissedWhileTheWebsocketBreaks(t *testing.T) {
	t.Parallel()
	w := start(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				w.gate.Cut()
			}
		}
	}()
	w.prefect.RunFlows("plain", "mapped", "subflows", "plain", "failing")
	close(stop)
	<-stopped
	w.complete(time.Minute)
	rig.Eventually(t, time.Minute, "events are heard again", func() bool { return w.gate.Sockets() == 3 })
}

// The websocket dies without a word, comes back, and dies again.
func TestNothingIsMissedWhileTheWebsocketIsDead(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.gate.Freeze(true)
	w.prefect.RunFlows("plain", "mapped")
	w.complete(time.Minute)
	rig.Eventually(t, time.Minute, "the dead websocket is given up", func() bool { return len(w.listener.LogLines("no sign of life")) > 0 })
	w.gate.Freeze(false)
	w.prefect.RunFlows("subflows")
	w.complete(time.Minute)
	rig.Eventually(t, time.Minute, "events are heard again", func() bool {
		return len(w.listener.LogLines("events are heard over its websocket")) > 1
	})
	w.prefect.RunFlows("plain")
	w.complete(time.Minute)
}
