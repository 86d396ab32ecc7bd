package prefect_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// ear hears hints.
type ear struct {
	mu    sync.Mutex
	hints []prefect.Hint
	says  []string // up and down
	at    []time.Time

	deaf chan struct{} // set: nothing is taken until it is closed
}

func (e *ear) HintsUp()   { e.say("up") }
func (e *ear) HintsDown() { e.say("down") }

func (e *ear) say(word string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.says, e.at = append(e.says, word), append(e.at, time.Now())
}

func (e *ear) Hint(h prefect.Hint) {
	if e.deaf != nil {
		<-e.deaf
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hints = append(e.hints, h)
}

func (e *ear) heard() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, h := range e.hints {
		lines = append(lines, fmt.Sprintf("%s %v %s", h.Run.String()[:8], h.Task, h.State))
	}
	return lines
}

func (e *ear) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.says, " ")
}

// listen starts to listen and returns the log. It ends with the test's context or by stop.
func listen(t *testing.T, client *prefect.Client, to *ear) (logs *observer.ObservedLogs, stop func()) {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { client.Hints(to, zap.New(core)).Run(ctx) })
	return logs, func() {
		cancel()
		running.Wait()
	}
}

func short(id uuid.UUID) string { return id.String()[:8] }

func TestHints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t, prefecttest.Socket())
		to := &ear{}
		logs, stop := listen(t, server.Client(t), to)
		defer stop()
		synctest.Wait()
		flow := server.AddFlow("Load")
		run := server.AddFlowRun(prefect.FlowRun{FlowID: flow.ID})
		server.SetState(run.ID, prefect.State{Type: prefect.Pending}) // no poll looks for it
		server.SetState(run.ID, prefect.State{Type: prefect.Running})
		synctest.Wait() // what comes over different connections has no order
		task := server.AddTaskRun(prefect.TaskRun{FlowRunID: &run.ID, State: &prefect.State{Type: prefect.Running, Name: "Running", Timestamp: time.Now()}})
		synctest.Wait()
		server.SetState(task.ID, prefect.State{Type: prefect.Failed})
		synctest.Wait()
		server.SetState(run.ID, prefect.State{Type: prefect.Crashed})
		server.Emit(prefecttest.Event{Name: "prefect.flow-run.heartbeat", Occurred: time.Now(), Resource: map[string]any{
			"prefect.resource.id": "prefect.flow-run." + run.ID.String(),
		}})
		server.Emit(prefecttest.Event{Name: "prefect.block.write", Occurred: time.Now(), Resource: map[string]any{"prefect.resource.id": "x"}})
		synctest.Wait()
		want := []string{
			short(run.ID) + " false RUNNING", short(task.ID) + " true RUNNING", short(task.ID) + " true FAILED", short(run.ID) + " false CRASHED",
		}
		if got := to.heard(); !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
		if last := to.hints[3]; !last.At.Equal(server.FlowRun(run.ID).State.Timestamp) {
			t.Errorf("the hint is of %s, the row of %s", last.At, server.FlowRun(run.ID).State.Timestamp)
		}
		if logs.Len() != 1 {
			t.Errorf("the log: %v", logs.All())
		}
	})
}

// What users put into events may be megabytes, in the payload or in what stands before it.
func TestHintsOfBigEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t, prefecttest.Socket())
		to := &ear{}
		_, stop := listen(t, server.Client(t), to)
		defer stop()
		synctest.Wait()
		for i, big := range []struct{ message, payload int }{{0, 9 << 20}, {5 << 20, 0}, {100_000, 1000}} {
			server.Emit(prefecttest.Event{
				Name: "prefect.task-run.Completed", Occurred: time.Now(), Payload: strings.Repeat("x", big.payload),
				Resource: map[string]any{
					"prefect.a-label": strings.Repeat("y", big.message), "prefect.state-type": "COMPLETED",
					"prefect.resource.id": "prefect.task-run." + prefecttest.ID(fmt.Sprint(i)).String(),
				},
			})
		}
		synctest.Wait()
		want := []string{short(prefecttest.ID("0")) + " true COMPLETED", short(prefecttest.ID("2")) + " true COMPLETED"}
		if got := to.heard(); !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q: one label of megabytes is no label of Prefect's", got, want)
		}
		if said := to.said(); said != "up" {
			t.Errorf("the websocket went %s", said)
		}
	})
}

// A server keeps no more than 256 events for one connection. Those of tasks by the hundred crowd out neither the flow
// run's own nor each other's.
func TestHintsOfACrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t, prefecttest.Socket())
		to := &ear{deaf: make(chan struct{})}
		_, stop := listen(t, server.Client(t), to)
		defer stop()
		synctest.Wait()
		server.Announce(prefecttest.ID("flow"), false, prefect.State{Type: prefect.Running, Name: "Running"})
		for _, state := range []prefect.State{{Type: prefect.Pending, Name: "Pending"}, {Type: prefect.Running, Name: "Running"}, {Type: prefect.Completed, Name: "Completed"}} {
			for i := range 250 {
				server.Announce(prefecttest.ID(fmt.Sprint(i)), true, state)
			}
		}
		server.Announce(prefecttest.ID("flow"), false, prefect.State{Type: prefect.Completed, Name: "Completed"})
		synctest.Wait()
		close(to.deaf)
		synctest.Wait()
		if got := to.heard(); len(got) != 502 || !slices.Contains(got, short(prefecttest.ID("flow"))+" false COMPLETED") {
			t.Errorf("%d heard, want 502, the flow run's end among them", len(got))
		}
	})
}

func TestHintsReconnect(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		trouble func(*prefecttest.Server)
		within  time.Duration // until it is noticed
		back    time.Duration // until it is mended, once the trouble is over
	}{
		{"cut", (*prefecttest.Server).CutSockets, 0, time.Second},
		{"closed by a server that goes away", func(s *prefecttest.Server) { s.CloseSockets(1001, "bye") }, 0, time.Second},
		{"dead without a word", func(s *prefecttest.Server) { s.FreezeSockets(true) }, 25 * time.Second, 40 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := prefecttest.New(t, prefecttest.Socket())
				to := &ear{}
				logs, stop := listen(t, server.Client(t), to)
				defer stop()
				time.Sleep(5 * time.Minute)
				began := time.Now()
				test.trouble(server)
				time.Sleep(test.within + time.Millisecond)
				if said := to.said(); said != "up down" {
					t.Fatalf("%s after the trouble: %s", time.Since(began), said)
				}
				server.FreezeSockets(false)
				time.Sleep(test.back)
				if said := to.said(); said != "up down up" {
					t.Errorf("%s later: %s", test.back, said)
				}
				server.Announce(prefecttest.ID("later"), true, prefect.State{Type: prefect.Running, Name: "Running"})
				synctest.Wait()
				if len(to.heard()) != 1 {
					t.Errorf("heard %q over the new connection", to.heard())
				}
				if logs.Len() != 3 && test.within == 0 {
					t.Errorf("the log: %v", logs.All())
				}
			})
		})
	}
}

// A server that is away is tried for ever, ever more rarely, up to half a minute.
func TestHintsBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t, prefecttest.Socket())
		server.FaultAlways(prefecttest.Path("/events/out"), prefecttest.Status(http.StatusBadGateway))
		var tries []time.Time
		server.OnRequest(func(prefecttest.Request) { tries = append(tries, time.Now()) })
		to := &ear{}
		logs, stop := listen(t, server.Client(t), to)
		defer stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(tries) < 20 || len(tries) > 50 {
			t.Errorf("%d tries in 10 minutes", len(tries))
		}
		for i := 1; i < len(tries); i++ {
			if wait := tries[i].Sub(tries[i-1]); wait > 31*time.Second || i > 6 && wait < 15*time.Second {
				t.Errorf("%s between tries %d and %d", wait, i-1, i)
			}
		}
		if logs.Len() != 1 {
			t.Errorf("the log: %v", logs.All())
		}
		server.ClearFaults()
		time.Sleep(31 * time.Second)
		if said := to.said(); said != "up" {
			t.Errorf("back again, it went %q", said)
		}
	})
}

// Who is refused says so once, and comes back rarely; at once when the credentials change.
func TestHintsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		prepare func(*prefecttest.Server)
		options []prefecttest.Option
		says    string
		level   zapcore.Level
	}{
		{"by a server without events", nil, nil, "403 Forbidden", zap.InfoLevel},
		{"by a server whose events are off", func(s *prefecttest.Server) {
			s.FaultAlways(prefecttest.Path("/events/out"), prefecttest.Status(http.StatusInternalServerError))
		}, []prefecttest.Option{prefecttest.Version(prefecttest.V2_20)}, "500 Internal Server Error", zap.InfoLevel},
		{"by a proxy that knows no websockets", func(s *prefecttest.Server) {
			s.FaultAlways(prefecttest.Path("/events/out"), prefecttest.Answer(http.StatusUpgradeRequired, "text/plain", "no"))
		}, []prefecttest.Option{prefecttest.Socket()}, "426 Upgrade Required", zap.InfoLevel},
		{"by a proxy that lets it through as a page", func(s *prefecttest.Server) {
			s.FaultAlways(prefecttest.Path("/events/out"), prefecttest.LoginPage())
		}, []prefecttest.Option{prefecttest.Socket()}, "no websocket", zap.WarnLevel},
		{"by a wrong address", func(s *prefecttest.Server) {
			s.FaultAlways(prefecttest.Path("/events/out"), prefecttest.Status(http.StatusNotFound))
		}, []prefecttest.Option{prefecttest.Socket()}, "404 Not Found", zap.InfoLevel},
		{"for its credentials", nil, []prefecttest.Option{prefecttest.Socket(), prefecttest.BasicAuth("admin:pw")}, "Invalid token", zap.WarnLevel},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := prefecttest.New(t, test.options...)
				if test.prepare != nil {
					test.prepare(server)
				}
				to, client := &ear{}, server.Client(t)
				logs, stop := listen(t, client, to)
				defer stop()
				time.Sleep(time.Hour)
				if n := server.Count("/events/out"); n < 9 || n > 13 {
					t.Errorf("%d tries in an hour", n)
				}
				if logs.Len() != 1 || !strings.Contains(fmt.Sprint(logs.All()[0].ContextMap()), test.says) || logs.All()[0].Level != test.level {
					t.Errorf("the log: %v", logs.All())
				}
				before := server.Count("/events/out")
				if err := client.SetCredentials("", "admin:pw", nil); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				want := 1
				if _, wanted := server.Sockets(); wanted > 0 {
					want = 3 // they are taken
				}
				if n := server.Count("/events/out"); n != before+want {
					t.Errorf("%d tries at once with new credentials, want %d", n-before, want)
				}
			})
		})
	}
}

func TestHintsProveWhoAsks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		options []prefecttest.Option
		change  func(*prefect.Config)
	}{
		{"nobody asks", nil, func(*prefect.Config) {}},
		{"nobody asks, and somebody tells", nil, func(c *prefect.Config) { c.APIKey = "pnu_1" }},
		{"a key", []prefecttest.Option{prefecttest.BearerAuth("pnu_1")}, func(c *prefect.Config) { c.APIKey = "pnu_1" }},
		{"user and password", []prefecttest.Option{prefecttest.BasicAuth("admin:pässword")}, func(c *prefect.Config) { c.AuthString = "admin:pässword" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := prefecttest.New(t, append(test.options, prefecttest.Socket())...)
			cfg := server.Config()
			cfg.Headers = map[string]string{"X-Proxy-Token": "t0ken"}
			test.change(&cfg)
			client, err := prefect.NewClient(cfg, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if err := client.TryHints(t.Context()); err != nil {
				t.Error(err)
			}
			if got := server.Requests()[0].Header.Get("X-Proxy-Token"); got != "t0ken" {
				t.Errorf("the custom header is %q", got)
			}
		})
	}
}

// TryHints says in which way the websocket fails, without a secret.
func TestTryHintsFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		options []prefecttest.Option
		fault   prefecttest.Fault
		kind    error
		says    string
	}{
		{"no events", nil, nil, prefect.ErrRefused, "this server has none"},
		{"credentials", []prefecttest.Option{prefecttest.Socket(), prefecttest.BearerAuth("other")}, nil, prefect.ErrUnauthorized, "check PREFECT_API_AUTH_STRING"},
		{"reset", []prefecttest.Option{prefecttest.Socket()}, prefecttest.Reset(), prefect.ErrUnavailable, "/events/out"},
		{"busy", []prefecttest.Option{prefecttest.Socket()}, prefecttest.Status(503), prefect.ErrUnavailable, "503"},
		{"a page", []prefecttest.Option{prefecttest.Socket()}, prefecttest.LoginPage(), prefect.ErrNotPrefect, "no websocket"},
		{"a redirect", []prefecttest.Option{prefecttest.Socket()}, prefecttest.Redirect(302, "https://login.example/?next=x"), prefect.ErrNotPrefect, "https://login.example/"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := prefecttest.New(t, test.options...)
			if test.fault != nil {
				server.FaultAlways(prefecttest.Any(), test.fault)
			}
			client, err := prefect.NewClient(secretive(server.Config()), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			err = client.TryHints(t.Context())
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestTryHintsOfASilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t, prefecttest.Socket())
		server.FaultAlways(prefecttest.Any(), prefecttest.Hang())
		if err := server.Client(t).TryHints(t.Context()); !errors.Is(err, prefect.ErrTimeout) {
			t.Errorf("the error is %v", err)
		}
	})
}

// A prefix before /api is kept, and TLS settings hold for the websocket too.
func TestHintsOverTLSBelowAPrefix(t *testing.T) {
	t.Parallel()
	server := prefecttest.NewServer(prefecttest.Socket())
	address, caFile := secureServer(t, http.StripPrefix("/team/prefect", server))
	address = strings.TrimSuffix(address, "/api") + "/team/prefect/api"
	for _, test := range []struct {
		name string
		cfg  prefect.Config
		says string
	}{
		{"its authority", prefect.Config{URL: address, CAFile: caFile}, ""},
		{"no check", prefect.Config{URL: address, InsecureSkipVerify: true}, ""},
		{"the system's authorities", prefect.Config{URL: address}, "PREFECT_API_SSL_CERT_FILE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client, err := prefect.NewClient(test.cfg, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			err = client.TryHints(t.Context())
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// Proxies pass a websocket on through a tunnel, whatever its scheme.
func TestHintsThroughAProxy(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(prefecttest.NewServer(prefecttest.Socket()))
	t.Cleanup(plain.Close)
	secure, caFile := secureServer(t, prefecttest.NewServer(prefecttest.Socket()))
	for _, test := range []struct {
		name, address, user string
		says                string
	}{
		{"ws", plain.URL + "/api", "ann:s3cret", ""},
		{"wss", secure, "ann:s3cret", ""},
		{"refused", plain.URL + "/api", "bob:s3cret", "407 Proxy Authentication Required"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			proxy := newTunnelProxy(t)
			cfg := prefect.Config{URL: test.address, CAFile: caFile, Proxy: http.ProxyURL(proxy.url(t, test.user))}
			client, err := prefect.NewClient(cfg, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			err = client.TryHints(t.Context())
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) || strings.Contains(fmt.Sprint(err), "s3cret") {
				t.Errorf("the error is %v", err)
			}
			if proxy.asked.Load() != 1 {
				t.Errorf("the proxy was asked for %d tunnels", proxy.asked.Load())
			}
		})
	}
}

// The websocket's own proxy is for it alone.
func TestHintsThroughTheirOwnProxy(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(prefecttest.NewServer(prefecttest.Socket()))
	t.Cleanup(plain.Close)
	secure, caFile := secureServer(t, prefecttest.NewServer(prefecttest.Socket()))
	for scheme, address := range map[string]string{"ws": plain.URL + "/api", "wss": secure} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			proxy := newTunnelProxy(t)
			client, err := prefect.NewClient(prefect.Config{
				URL: address, CAFile: caFile, SocketProxy: http.ProxyURL(proxy.url(t, "ann:s3cret")),
			}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := client.Version(t.Context()); err != nil || proxy.asked.Load() != 0 {
				t.Errorf("the API answers %v, and the proxy was asked for %d tunnels", err, proxy.asked.Load())
			}
			if err := client.TryHints(t.Context()); err != nil || proxy.asked.Load() != 1 {
				t.Errorf("the websocket ends with %v, and the proxy was asked for %d tunnels", err, proxy.asked.Load())
			}
		})
	}
}

func annsAuthorization() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:s3cret"))
}
