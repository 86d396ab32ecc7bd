package statetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var restTests = map[string]func(t *testing.T, rig Rig){
	"quarantine":               testQuarantine,
	"owner":                    testOwner,
	"a backfill's life":        testBackfill,
	"backfills in turn":        testBackfillTurns,
	"a backfill over restarts": testBackfillRestart,
	"a backfill that fails":    testBackfillFails,
	"all at once":              testConcurrency,
}

func testQuarantine(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	at := w.clock.Now()
	first := state.BadRow{Resource: "artifacts", ID: "1", Reason: "no table", Raw: []byte(`{"a"`), Seen: at}
	second := state.BadRow{Resource: "flow_runs", ID: "1", Reason: "no state", Raw: []byte(`{}`), Seen: at}
	nameless := state.BadRow{Resource: "flow_runs", Reason: "not an object", Raw: []byte(`7`), Seen: at}
	w.commit(state.Batch{Quarantine: []state.BadRow{first, second, nameless}})
	second.Reason, second.Seen = "still no state", at.Add(time.Minute)
	w.commit(state.Batch{Quarantine: []state.BadRow{second, nameless}})
	w.crash()
	got, err := w.store.Quarantined(w.ctx(), 10)
	w.must(err)
	if len(got) != 3 || got[0].ID == "" {
		t.Fatalf("quarantine holds %+v", got)
	}
	nameless.ID = got[0].ID
	if diff := cmp.Diff([]state.BadRow{nameless, second, first}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.must(w.store.Release(w.ctx(), "flow_runs", "1"))
	if got, err = w.store.Quarantined(w.ctx(), 1); err != nil || len(got) != 1 {
		t.Errorf("a page of one: %+v, %v", got, err)
	}
	if got, err = w.store.Quarantined(w.ctx(), 10); err != nil || len(got) != 2 {
		t.Errorf("after a release: %+v, %v", got, err)
	}
}

func testOwner(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	for _, want := range []state.Owner{
		{},
		{API: "http://prefect:4200/api", Since: w.clock.Now()},
		{API: "http://other:4200/api", Since: w.clock.Now().Add(time.Hour)},
	} {
		if want.API != "" {
			w.must(w.store.SetOwner(w.ctx(), want))
		}
		w.restart()
		got, err := w.store.Owner(w.ctx())
		w.must(err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("owner (-want +got):\n%s", diff)
		}
	}
}

// backfill checks how a backfill stands.
func (w *world) backfill(want state.Backfill) {
	w.Helper()
	got, err := w.store.Backfill(w.ctx(), want.ID)
	w.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("backfill (-want +got):\n%s", diff)
	}
}

func (w *world) request(text string) int64 {
	w.Helper()
	id, err := w.store.RequestBackfill(w.ctx(), []byte(text))
	w.must(err)
	return id
}

// next checks which backfill the daemon is to work on; 0: none.
func (w *world) next(want int64) {
	w.Helper()
	got, found, err := w.store.NextBackfill(w.ctx())
	w.must(err)
	if found != (want != 0) || got.ID != want {
		w.Errorf("next backfill is %d, %v, want %d", got.ID, found, want)
	}
}

func testBackfill(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	w.next(0)
	b := state.Backfill{ID: w.request(`{"since":"yesterday"}`), Request: []byte(`{"since":"yesterday"}`), Created: w.clock.Now()}
	w.backfill(b)
	w.clock.Move(time.Second)
	w.next(b.ID)
	b.Stage, b.Started = state.Working, w.clock.Now()
	w.backfill(b)
	b.Progress = state.Progress{Runs: 3, Enqueued: 2, Repeated: 1, LastSeq: 9}
	w.must(w.store.ProgressBackfill(w.ctx(), b.ID, b.Progress))
	w.backfill(b)
	w.clock.Move(time.Second)
	w.must(w.store.FinishBackfill(w.ctx(), b.ID, ""))
	b.Stage, b.Finished = state.Done, w.clock.Now()
	w.backfill(b)
	w.must(w.store.FinishBackfill(w.ctx(), b.ID, "too late"))
	w.must(w.store.ProgressBackfill(w.ctx(), b.ID, state.Progress{}))
	w.backfill(b)
	w.next(0)
	for name, err := range map[string]error{
		"progress": w.store.ProgressBackfill(w.ctx(), 99, state.Progress{}),
		"finish":   w.store.FinishBackfill(w.ctx(), 99, ""),
	} {
		if !errors.Is(err, state.ErrUnknown) {
			t.Errorf("%s of a stranger: %v", name, err)
		}
	}
	if _, err := w.store.Backfill(w.ctx(), 99); !errors.Is(err, state.ErrUnknown) {
		t.Errorf("a stranger: %v", err)
	}
}

func testBackfillTurns(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	first, second := w.request(`1`), w.request(`2`)
	w.next(first)
	w.next(first) // one at a time
	w.must(w.store.FinishBackfill(w.ctx(), first, ""))
	w.next(second)
	all, err := w.store.Backfills(w.ctx(), 10)
	w.must(err)
	if len(all) != 2 || all[0].ID != second || all[1].Stage != state.Done {
		t.Errorf("backfills: %+v", all)
	}
}

func testBackfillRestart(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	id := w.request(`{}`)
	w.next(id)
	w.must(w.store.ProgressBackfill(w.ctx(), id, state.Progress{Runs: 5}))
	w.crash()
	w.clock.Move(time.Hour)
	w.next(id)
	b, err := w.store.Backfill(w.ctx(), id)
	w.must(err)
	if b.Progress.Runs != 5 || !b.Started.Equal(NewClock().Now()) {
		t.Errorf("resumed: %+v", b)
	}
}

func testBackfillFails(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	id := w.request(`{}`)
	w.must(w.store.FinishBackfill(w.ctx(), id, "no such flow"))
	at := w.clock.Now()
	w.backfill(state.Backfill{ID: id, Request: []byte(`{}`), Stage: state.Failed, Created: at, Started: at, Finished: at, Err: "no such flow"})
	if got := state.Failed.String(); got != "failed" {
		t.Errorf("the stage is called %q", got)
	}
	w.next(0)
}

// testConcurrency commits, delivers and reads from many goroutines: nothing is lost or given twice.
func testConcurrency(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	const writers, each = 4, 25
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			for n := range each {
				run := fmt.Sprintf("run%d-%d", i, n)
				if _, err := w.store.Commit(w.ctx(), state.Batch{
					Told: []adapter.Told{entry(run, adapter.Ended)}, Events: story(run, ""),
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, name := range []string{"one", "two"} {
		group.Go(func() {
			seen := map[string]bool{}
			for len(seen) < 2*writers*each && !t.Failed() {
				due, err := w.store.Claim(w.ctx(), name, w.clock.Now(), 10, nil)
				if err != nil {
					t.Error(err)
				}
				var settlements []state.Settlement
				for _, d := range due {
					if event := nameOf(d.Event); seen[event] {
						t.Errorf("%s was given twice", event)
					}
					seen[nameOf(d.Event)] = true
					settlements = append(settlements, state.Settlement{Seq: d.Seq})
				}
				if err := w.store.Settle(w.ctx(), name, settlements); err != nil {
					t.Error(err)
				}
				if _, err := w.store.Status(w.ctx()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	w.stored(0)
}
