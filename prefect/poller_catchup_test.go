package prefect_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// away stops polling for a while, in which work goes on.
func (w *world) away(d time.Duration, flowRuns, tasks int) []uuid.UUID {
	from := w.now()
	ids := w.AddHistory(prefecttest.History{
		Flows: 3, FlowRuns: flowRuns, Tasks: tasks, From: from, Every: d / time.Duration(flowRuns+1), Lasts: time.Minute,
	})
	w.pass(d)
	return ids
}

func TestPollCatchesUpInSlices(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		for _, database := range []string{"SQLite", "PostgreSQL"} {
			t.Run(version+" on "+database, func(t *testing.T) {
				t.Parallel()
				options := []prefecttest.Option{prefecttest.Version(version)}
				if database == "PostgreSQL" {
					options = append(options, prefecttest.PostgreSQL())
				}
				testPollCatchesUpInSlices(t, newWorld(t, options...))
			})
		}
	}
}

func testPollCatchesUpInSlices(t *testing.T, w *world) {
	w.poll(t)
	runs := w.away(50*time.Hour, 220, 1)
	s := w.poll(t)
	s.want(t, prefect.Completed, runs...)
	if len(s.states) != 220*2 {
		t.Errorf("%d runs were seen, want %d", len(s.states), 220*2)
	}
	var at time.Time
	cursors, stored := 0, newSight()
	for _, portion := range s.portions {
		stored.take(portion)
		if n := len(portion.FlowRuns) + len(portion.TaskRuns); n > 5*prefect.MaxPage {
			t.Errorf("a portion of %d rows", n)
		}
		if portion.Cursor == nil {
			continue
		}
		cursors++
		if portion.Cursor.Ended.Before(at) || portion.Cursor.Ended.After(w.now()) {
			t.Errorf("the position went from %v to %v at %v", at, portion.Cursor.Ended, w.now())
		}
		at = portion.Cursor.Ended
		for _, id := range runs {
			if stored.times[id] == 0 && w.FlowRun(id).EndTime.Before(at) {
				t.Fatalf("the position went to %v before a run that ended at %v was given", at, w.FlowRun(id).EndTime)
			}
		}
	}
	if cursors < 5 {
		t.Errorf("the position moved %d times in 50 hours", cursors)
	}
}

// Whatever portion was the last that was stored, the next start goes on from there and nothing is missing.
func TestPollGoesOnAfterEachPortion(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			testPollGoesOnAfterEachPortion(t, version)
		})
	}
}

func testPollGoesOnAfterEachPortion(t *testing.T, version string) {
	for stop := range 12 {
		w := newWorld(t, prefecttest.Version(version))
		w.poll(t)
		runs := w.away(20*time.Hour, 40, 1)
		seen := newSight()
		first, err := w.failPoll(t, errorAfter(stop))
		for _, portion := range first.portions {
			seen.take(portion)
		}
		if err == nil {
			if stop == 0 {
				t.Fatal("the poll didn't fail")
			}
			break
		}
		w.poller = prefect.NewPoller(w.client, prefect.PollerConfig{})
		for _, portion := range w.poll(t).portions {
			seen.take(portion)
		}
		seen.want(t, prefect.Completed, runs...)
		if len(seen.states) != 40*2 {
			t.Errorf("stopped after %d portions, %d runs were seen in all, want %d", stop, len(seen.states), 40*2)
		}
	}
}

// A server that can't answer wide queries is asked narrower ones.
func TestPollNarrowsWhatIsTooWide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testPollNarrowsWhatIsTooWide)
}

func testPollNarrowsWhatIsTooWide(t *testing.T) {
	w := newWorld(t)
	w.poll(t)
	runs := w.away(30*time.Hour, 60, 1)
	w.FaultAlways(func(r prefecttest.Request) bool { return w.width(r) > 7*time.Minute }, prefecttest.Status(http.StatusInternalServerError))
	seen := newSight()
	for range 4 { // each poll gets as far as it can
		s, err := w.tryPoll(t.Context())
		for _, portion := range s.portions {
			seen.take(portion)
		}
		if err == nil {
			break
		}
	}
	seen.want(t, prefect.Completed, runs...)
	w.ClearFaults()

	// And where nothing narrower helps, the error stands and the position stays.
	w.pass(time.Minute)
	w.FaultAlways(func(r prefecttest.Request) bool { return w.width(r) > 0 }, prefecttest.Status(http.StatusServiceUnavailable))
	before := w.cur
	if _, err := w.tryPoll(t.Context()); err == nil || w.cur != before {
		t.Errorf("got %v, and the position went from %v to %v", err, before, w.cur)
	}
}

// width is how long a stretch a query by end time is about, 0 for other queries.
func (w *world) width(r prefecttest.Request) time.Duration {
	var f prefect.Filter
	if json.Unmarshal(r.Body, &f) != nil {
		return 0
	}
	run := f.TaskRuns
	if r.Path == "/flow_runs/filter" {
		run = f.FlowRuns
	}
	if run == nil || run.EndTime == nil || run.EndTime.After == nil {
		return 0
	}
	until := w.now()
	if run.EndTime.Before != nil {
		until = *run.EndTime.Before
	}
	return until.Sub(*run.EndTime.After)
}
