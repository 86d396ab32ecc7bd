package ingest_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

func containsText(body []byte, text string) bool { return bytes.Contains(body, []byte(text)) }

const usual = 2 * time.Second

// soon is how long an event may take that is told of: it is gathered, read, and stored.
const soon = 1200 * time.Millisecond

func TestHintsTellAtOnceAndPollsSlowDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		polls := r.polls()
		for range 5 {
			began := time.Now()
			run := r.run()
			task := r.task(run, "load")
			time.Sleep(40 * time.Second)
			r.within(soon, run, adapter.Start, began)
			r.within(soon, task, adapter.Start, began)
			ended := time.Now()
			r.complete(task, run)
			time.Sleep(20 * time.Second)
			r.within(soon, run, adapter.Complete, ended)
			r.within(soon, task, adapter.Complete, ended)
		}
		if n := r.polls() - polls; n < 9 || n > 11 {
			t.Errorf("%d polls in 5 minutes", n)
		}
		if n := r.logs.FilterMessageSnippet("polling slows down").Len(); n != 1 {
			t.Errorf("it says %d times that polling slows down: %v", n, r.logs.All())
		}
	})
}

func TestHintsCostLittleWhenIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		before := r.prefect.Count("")
		time.Sleep(10 * time.Minute)
		if perSecond := float64(r.prefect.Count("")-before) / 600; perSecond > 0.3 {
			t.Errorf("%.2f requests/s while nothing happens", perSecond)
		}
	})
}

// A row shows later than its event, and under load much later.
func TestHintsAwaitLateRows(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 3 * time.Second, 25 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := startHints(t, usual)
				run := r.run()
				time.Sleep(5 * time.Second)
				task := prefect.TaskRun{ID: prefecttest.ID("late"), Name: "late-612", TaskKey: "late-0a1b2c3d", DynamicKey: "612x", FlowRunID: &run}
				began := time.Now()
				state := prefect.State{Type: prefect.Running, Name: "Running", Timestamp: began}
				r.prefect.Announce(task.ID, true, state)
				r.prefect.OnEvent(func(prefecttest.Event) []time.Duration { return nil })
				time.Sleep(late)
				task.State, task.StartTime, task.RunCount = &state, &began, 1
				r.prefect.AddTaskRun(task)
				shown := time.Now()
				time.Sleep(10 * time.Second)
				r.within(2100*time.Millisecond, task.ID, adapter.Start, shown)

				ended := time.Now()
				end := prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: ended}
				r.prefect.Announce(task.ID, true, end)
				r.prefect.OnEvent(nil)
				r.prefect.Announce(task.ID, true, end)
				r.prefect.OnEvent(func(prefecttest.Event) []time.Duration { return nil })
				time.Sleep(late)
				r.prefect.SetState(task.ID, end)
				shown = time.Now()
				time.Sleep(10 * time.Second)
				r.within(2100*time.Millisecond, task.ID, adapter.Complete, shown)
			})
		})
	}
}

// Whatever becomes of events, nothing is missed and nothing is told twice: only the time differs.
func TestHintsMayBeWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		spoil  func(*rand.Rand) func(prefecttest.Event) []time.Duration
		within time.Duration
	}{
		{"lost", func(*rand.Rand) func(prefecttest.Event) []time.Duration {
			return func(prefecttest.Event) []time.Duration { return nil }
		}, 33 * time.Second},
		{"some lost", func(r *rand.Rand) func(prefecttest.Event) []time.Duration {
			return func(prefecttest.Event) []time.Duration {
				if r.IntN(3) == 0 {
					return nil
				}
				return []time.Duration{0}
			}
		}, 33 * time.Second},
		{"late", func(*rand.Rand) func(prefecttest.Event) []time.Duration {
			return func(prefecttest.Event) []time.Duration { return []time.Duration{8 * time.Second} }
		}, 10 * time.Second},
		{"doubled", func(*rand.Rand) func(prefecttest.Event) []time.Duration {
			return func(prefecttest.Event) []time.Duration { return []time.Duration{0, 0, 3 * time.Second} }
		}, soon},
		{"out of order", func(r *rand.Rand) func(prefecttest.Event) []time.Duration {
			return func(prefecttest.Event) []time.Duration {
				return []time.Duration{time.Duration(r.Int64N(int64(6 * time.Second)))}
			}
		}, 8 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := startHints(t, usual)
				r.prefect.OnEvent(test.spoil(rand.New(rand.NewPCG(1, 2))))
				for i := range 5 {
					began := time.Now()
					run := r.run()
					tasks := []uuid.UUID{run}
					for j := range 5 {
						tasks = append(tasks, r.task(run, fmt.Sprint("load ", i, j)))
					}
					time.Sleep(35 * time.Second)
					ended := time.Now()
					r.complete(tasks...)
					time.Sleep(35 * time.Second)
					for _, id := range tasks {
						r.within(test.within, id, adapter.Start, began)
						r.within(test.within, id, adapter.Complete, ended)
					}
				}
				if n := len(r.store.events()); n != 60 {
					t.Errorf("%d events, not 60", n)
				}
			})
		})
	}
}

// A websocket that stays silent though runs change is not relied on: after the first such run polls are the usual ones.
func TestHintsThatAreSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		r.prefect.OnEvent(func(prefecttest.Event) []time.Duration { return nil })
		r.run()
		time.Sleep(70 * time.Second)
		for range 5 {
			began := time.Now()
			run := r.run()
			time.Sleep(time.Minute)
			r.within(usual, run, adapter.Start, began)
		}
		r.prefect.OnEvent(nil)
		began := time.Now()
		run := r.run()
		time.Sleep(90 * time.Second)
		r.within(soon, run, adapter.Start, began)
		polls := r.polls()
		time.Sleep(5 * time.Minute)
		if n := r.polls() - polls; n > 11 {
			t.Errorf("%d polls in 5 minutes though events come again", n)
		}
		for _, says := range []string{"no event names", "polling slows down"} {
			if r.logs.FilterMessageSnippet(says).Len() == 0 {
				t.Errorf("nothing says %q: %v", says, r.logs.All())
			}
		}
	})
}

// That holds where the clock of what runs is an hour ahead, too.
func TestHintsThatAreSilentOfAFastClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		r.prefect.OnEvent(func(prefecttest.Event) []time.Duration { return nil })
		run := r.prefect.AddFlowRun(prefect.FlowRun{FlowID: r.flow.ID})
		r.prefect.SetState(run.ID, prefect.State{Type: prefect.Running, Timestamp: time.Now().Add(time.Hour)})
		time.Sleep(70 * time.Second)
		polls := r.polls()
		time.Sleep(time.Minute)
		if n := r.polls() - polls; n < 25 {
			t.Errorf("%d polls in a minute", n)
		}
	})
}

// What events told and was read is counted by polls, not read again.
func TestPollsPassOverWhatEventsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		run := r.run()
		time.Sleep(time.Minute)
		for i := range 60 {
			r.complete(r.task(run, fmt.Sprint("part ", i)))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		r.prefect.ForgetRequests()
		time.Sleep(14 * time.Second) // a poll
		if n := r.prefect.Count("/task_runs/count"); n == 0 {
			t.Error("all was read once more")
		}
	})
}

// When the websocket is away polls are the usual ones at once, and slow down again once it is back.
func TestHintsThatAreAway(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		trouble func(*prefecttest.Server)
		within  time.Duration
	}{
		{"cut", (*prefecttest.Server).CutSockets, usual + time.Second},
		{"dead without a word", func(s *prefecttest.Server) { s.FreezeSockets(true) }, 26 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := startHints(t, usual)
				time.Sleep(10 * time.Second)
				r.prefect.FaultAlways(prefecttest.Path("/events/out"), prefecttest.Status(503))
				test.trouble(r.prefect)
				time.Sleep(test.within)
				quiet := r.polls()
				time.Sleep(20 * time.Second)
				if n := r.polls() - quiet; n < 9 {
					t.Errorf("%d polls in 20 s without events", n)
				}
				for range 4 {
					began := time.Now()
					run := r.run()
					time.Sleep(40 * time.Second)
					r.within(usual, run, adapter.Start, began)
				}
				r.prefect.ClearFaults()
				r.prefect.FreezeSockets(false)
				time.Sleep(time.Minute)
				polls := r.polls()
				began := time.Now()
				run := r.run()
				time.Sleep(5 * time.Minute)
				r.within(soon, run, adapter.Start, began)
				if n := r.polls() - polls; n > 11 {
					t.Errorf("%d polls in 5 minutes though events come again", n)
				}
			})
		})
	}
}

// Events about runs that are not there cost a few requests, and then no more.
func TestHintsOfNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		run := r.run()
		time.Sleep(5 * time.Second)
		r.complete(run)
		r.prefect.Delete(run)
		before := r.prefect.Count("/task_runs") + r.prefect.Count("/flow_runs")
		for i := range 50 {
			r.prefect.Announce(prefecttest.ID(fmt.Sprint("nobody", i)), i%2 == 0, prefect.State{Type: prefect.Running, Name: "Running"})
		}
		time.Sleep(2 * time.Minute)
		if n := r.prefect.Count("/task_runs") + r.prefect.Count("/flow_runs") - before; n > 90 {
			t.Errorf("%d requests for runs that are not there", n)
		}
		quiet := r.prefect.Count("")
		time.Sleep(10 * time.Minute)
		if n := r.prefect.Count("") - quiet; n > 180 {
			t.Errorf("%d requests in 10 minutes after that", n)
		}
		if events := strings.Join(r.store.events(), ","); events != "START Load" {
			t.Errorf("told: %s", events)
		}
	})
}

// A flow of a thousand tasks is read in batches.
func TestHintsOfAThousandTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		run := r.run()
		before, began := r.prefect.Count(""), time.Now()
		var running []uuid.UUID
		for i := range 1000 {
			running = append(running, r.task(run, fmt.Sprint("part ", i)))
			time.Sleep(20 * time.Millisecond)
			if len(running) > 20 {
				r.complete(running[0])
				running = running[1:]
			}
		}
		r.complete(running...)
		r.complete(run)
		time.Sleep(2 * time.Second)
		if n := len(r.store.events()); n != 2002 {
			t.Errorf("%d events, not 2002", n)
		}
		if perEvent := float64(r.prefect.Count("")-before) / 2002; perEvent > 0.1 {
			t.Errorf("%.3f requests for each event in %s", perEvent, time.Since(began))
		}
	})
}

// A server that throws all events away from the middle of a burst on, as Prefect does while it is busy, costs no more than
// five times the time between two usual polls.
func TestHintsThatStopInABurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		run := r.run()
		time.Sleep(10 * time.Second)
		heard := 0
		r.prefect.OnEvent(func(prefecttest.Event) []time.Duration {
			if heard++; heard > 130 {
				return nil
			}
			return []time.Duration{0}
		})
		var tasks []uuid.UUID
		began := map[uuid.UUID]time.Time{}
		for i := range 300 {
			task := r.task(run, fmt.Sprint("part ", i))
			tasks, began[task] = append(tasks, task), time.Now()
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(15 * time.Second)
		for _, task := range tasks {
			r.within(5*usual+soon, task, adapter.Start, began[task])
		}
	})
}

// While Prefect writes rows down long after their events, asking for them again and again would only burden it more.
func TestHintsWhileRowsLag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		run := r.run()
		time.Sleep(5 * time.Second)
		before, began := r.prefect.Count(""), time.Now()
		var tasks []prefect.TaskRun
		for i := range 200 {
			tasks = append(tasks, r.announce(run, i))
			time.Sleep(100 * time.Millisecond)
		}
		if n := r.prefect.Count("") - before; n > 20 {
			t.Errorf("%d requests in %s in which no row came", n, time.Since(began))
		}
		for _, task := range tasks {
			r.prefect.AddTaskRun(task)
		}
		shown := time.Now()
		time.Sleep(5 * time.Second)
		for _, task := range tasks {
			r.within(2500*time.Millisecond, task.ID, adapter.Start, shown)
		}
	})
}

// A flood of events is left to the polls, which read many runs in few requests.
func TestHintsOverrun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		polls := r.polls()
		for i := range 6000 {
			r.prefect.Announce(prefecttest.ID(fmt.Sprint("flood", i)), true, prefect.State{Type: prefect.Completed, Name: "Completed"})
			if i%100 == 99 {
				synctest.Wait() // or the server would throw them away
			}
		}
		time.Sleep(3 * time.Second)
		if n := r.polls() - polls; n < 1 {
			t.Errorf("%d polls after a flood", n)
		}
		const dropped = "# HELP prefect_openlineage_hints_dropped_total Runs that events named and that are left to the polls: too many at once, or not there in time.\n" +
			"# TYPE prefect_openlineage_hints_dropped_total counter\nprefect_openlineage_hints_dropped_total 5000\n"
		if err := testutil.GatherAndCompare(r.registry, strings.NewReader(dropped), "prefect_openlineage_hints_dropped_total"); err != nil {
			t.Error(err)
		}
	})
}

// While Prefect can't be read, events wait; the polls find out what is wrong, and nothing is missed.
func TestHintsDuringAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		time.Sleep(10 * time.Second)
		r.prefect.FaultAlways(prefecttest.Path("/flow_runs"), prefecttest.Status(503))
		run := r.run()
		time.Sleep(45 * time.Second)
		r.prefect.ClearFaults()
		back := time.Now()
		time.Sleep(time.Minute)
		r.within(33*time.Second, run, adapter.Start, back)
		for _, says := range []string{"Prefect cannot be read", "Prefect can be read again"} {
			if n := r.logs.FilterMessageSnippet(says).Len(); n != 1 {
				t.Errorf("%q is said %d times: %v", says, n, r.logs.All())
			}
		}
	})
}

func TestHintMetrics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		r.run()
		time.Sleep(2 * time.Second)
		families, err := r.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				got[strings.TrimPrefix(f.GetName(), "prefect_openlineage_")] =
					m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		for name, want := range map[string]float64{"hints_received_total": 1, "hints_connects_total": 1, "hints_connected": 1, "hint_to_stored_seconds": 1} {
			if got[name] != want {
				t.Errorf("%s is %v, not %v", name, got[name], want)
			}
		}
		if problems, err := testutil.GatherAndLint(r.registry); err != nil || len(problems) > 0 {
			t.Error(problems, err)
		}
	})
}

// A server that is busy for long is not kept busy by being watched; after a rest it is watched as closely as before.
func TestHintsWatchABusyServerWithPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		flow := r.run()
		looks := func(d time.Duration) int {
			before := r.prefect.Count("/task_runs/filter")
			for i := range int(d / (100 * time.Millisecond)) {
				r.complete(r.task(flow, fmt.Sprint("busy", before, i)))
				time.Sleep(100 * time.Millisecond)
			}
			return r.prefect.Count("/task_runs/filter") - before
		}
		first := looks(20 * time.Second)
		looks(40 * time.Second)
		later := looks(20 * time.Second)
		time.Sleep(3 * time.Minute)
		again := looks(20 * time.Second)
		if first < 15 || later > first*2/3 || again < 15 {
			t.Errorf("%d lists of task runs in the first 20 s, %d after a minute, %d after a rest", first, later, again)
		}
	})
}

// Where more is named than one look reads, polls help though it is no burst.
func TestHintsOfMoreThanALookReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		run := r.run()
		time.Sleep(time.Minute)
		polls := r.polls()
		var tasks []uuid.UUID
		for i := range 2000 {
			tasks = append(tasks, r.task(run, fmt.Sprint("part ", i)))
			if before := i - 400; before >= 0 {
				r.complete(tasks[before])
			}
			time.Sleep(25 * time.Millisecond)
		}
		if n := r.polls() - polls; n < 4 {
			t.Errorf("%d polls in 50 s", n)
		}
	})
}

// What starts all at once is watched closely until the server has written it down, which it does one after the other.
func TestHintsWatchABurstClosely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		run := r.run()
		time.Sleep(10 * time.Second)
		var tasks []prefect.TaskRun
		for i := range 300 {
			tasks = append(tasks, r.announce(run, i))
			if i%100 == 99 {
				synctest.Wait() // or the server would throw them away
			}
		}
		shown := map[uuid.UUID]time.Time{}
		for _, task := range tasks {
			time.Sleep(100 * time.Millisecond)
			shown[task.ID] = time.Now()
			r.prefect.AddTaskRun(task)
		}
		time.Sleep(3 * time.Second)
		for id, since := range shown {
			r.within(2*time.Second, id, adapter.Start, since)
		}
	})
}

// However rare polls are by themselves, they are no rarer while much goes on than when nothing does.
func TestHintsPollABusyServerNoLessThanAQuietOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, 20*time.Second)
		flow, polls := r.run(), r.polls()
		for i := range 7000 {
			r.complete(r.task(flow, fmt.Sprint("much ", i)))
			time.Sleep(15 * time.Millisecond)
		}
		if n := r.polls() - polls; n < 3 {
			t.Errorf("%d polls in 105 s", n)
		}
	})
}

// Of small flows that run one after the other no event gets lost, so that polls stay slow.
func TestHintsPollAServerOfSmallFlowsAsSlowlyAsAQuietOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		time.Sleep(time.Minute)
		polls := r.polls()
		for flow := range 120 {
			run := r.run()
			for i := range 25 {
				r.complete(r.task(run, fmt.Sprint("small ", flow, i)))
			}
			synctest.Wait() // or the server would throw them away
			time.Sleep(1500 * time.Millisecond)
		}
		if n := r.polls() - polls; n > 7 {
			t.Errorf("%d polls in 3 minutes", n)
		}
	})
}

// Events tell of assets before these can be read. Only then are they looked for.
func TestAnAssetThatIsHeardOfIsLookedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		flow := r.run()
		work := func() uuid.UUID {
			task := r.task(flow, "work")
			time.Sleep(5 * time.Second)
			r.complete(task)
			time.Sleep(15 * time.Second)
			return task
		}
		for range 15 {
			work()
		}
		r.prefect.ForgetRequests()
		for range 9 {
			work()
		}
		if n := r.prefect.Count("/events/filter"); n != 0 {
			t.Errorf("%d looks for assets though none was heard of", n)
		}
		task := work()
		r.prefect.AddAssetEvent(prefect.AssetEvent{
			Name: "prefect.asset.materialization.succeeded", Asset: prefect.Asset{Key: "s3://lake/clean"}, TaskRunID: task, FlowRunID: flow,
		}, 2*time.Minute)
		for range 10 {
			work()
		}
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		if !r.store.mentions(task, "lake") {
			t.Error("the asset is missing")
		}
	})
}

// TestAnAssetThatWasWrittenWhileNobodyRead finds what became known while the listener was stopped for an hour.
func TestAnAssetThatWasWrittenWhileNobodyRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		flow := r.run()
		task := r.task(flow, "work")
		time.Sleep(5 * time.Second)
		r.complete(task)
		time.Sleep(5 * time.Second)
		r.stop()
		r.prefect.AddAssetEvent(prefect.AssetEvent{
			Name: "prefect.asset.materialization.succeeded", Asset: prefect.Asset{Key: "s3://lake/clean"}, TaskRunID: task, FlowRunID: flow,
		}, 0)
		time.Sleep(time.Hour)
		r.start(usual, true)
		r.complete(r.task(flow, "other"))
		time.Sleep(2 * time.Minute)
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		if !r.store.mentions(task, "lake") {
			t.Error("the asset is missing")
		}
	})
}

// The ends that events told are read up to the oldest that is still awaited, and to no time at all once events may be
// missing.
func TestHintsKnowUpToWhenEndsWereRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		run := r.run()
		r.complete(r.task(run, "load"))
		time.Sleep(20 * time.Second)
		ago := func() time.Duration { return time.Since(r.hints.ReadUpTo(time.Now())) }
		if got := ago(); got <= 0 || got > 10*time.Second {
			t.Errorf("all was read up to %s ago", got)
		}
		r.prefect.Announce(prefecttest.ID("not there yet"), true, prefect.State{Type: prefect.Completed, Name: "Completed"})
		time.Sleep(30 * time.Second)
		if got := ago(); got != 30*time.Second {
			t.Errorf("all was read up to %s ago, though an end of 30 s ago is awaited", got)
		}
		r.prefect.CutSockets()
		synctest.Wait()
		if got := r.hints.ReadUpTo(time.Now()); !got.IsZero() {
			t.Errorf("all was read up to %s, though events may be missing", got)
		}
	})
}

// Whether anything happened to an asset is certain only from where on everything would have been heard.
func TestHintsKnowForHowLongNothingHappenedToAnAsset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startHints(t, usual)
		between := func(when string, least, most time.Duration) {
			t.Helper()
			if got := r.hints.AssetsQuiet(); got < least || got > most {
				t.Errorf("%s: quiet for %s, want %s to %s", when, got, least, most)
			}
		}
		between("at the start", 0, 4*time.Second)
		time.Sleep(5 * time.Minute)
		between("later", 5*time.Minute, 6*time.Minute)
		r.prefect.AddAssetEvent(prefect.AssetEvent{Name: "prefect.asset.referenced", Asset: prefect.Asset{Key: "s3://lake/raw"}}, 0)
		synctest.Wait()
		between("as something happens", 0, 0)
		time.Sleep(4 * time.Minute)
		between("after it", 4*time.Minute, 4*time.Minute)

		r.prefect.CutSockets()
		synctest.Wait()
		between("while the websocket is away", 0, 0)
		time.Sleep(20 * time.Second)
		between("when it is back", 0, 20*time.Second)

		time.Sleep(5 * time.Minute)
		r.prefect.OnEvent(func(prefecttest.Event) []time.Duration { return nil })
		r.run()
		time.Sleep(70 * time.Second)
		between("while events get lost", 0, 0)
		r.prefect.OnEvent(nil)
		r.run()
		time.Sleep(2 * time.Minute)
		between("when they come again", 70*time.Second, 3*time.Minute)
	})
}
