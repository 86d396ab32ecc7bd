package prefect_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// busy adds so many task runs that ended one after the other until now, and polls until all are stored.
func (w *world) busy(t *testing.T, tasks int, every time.Duration) []uuid.UUID {
	t.Helper()
	w.settle(t)
	ids := make([]uuid.UUID, tasks)
	for i := range ids {
		w.pass(every)
		ids[i] = w.endedTaskRun(w.now())
		if i%20 == 19 {
			w.poll(t)
		}
	}
	w.poll(t)
	return ids
}

// rowsOf counts the task runs that a poll brought.
func rowsOf(s *sight) int {
	n := 0
	for _, portion := range s.portions {
		n += len(portion.TaskRuns)
	}
	return n
}

// What is stored is not read again at each poll, and what a poll does is as much with many runs as with some.
func TestPollReadsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	for _, tasks := range []int{100, 1000} {
		t.Run(fmt.Sprint(tasks), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.busy(t, tasks, 25*time.Second/time.Duration(tasks))
			w.ForgetRequests()
			w.pass(2 * time.Second)
			fresh := []uuid.UUID{w.endedTaskRun(w.now().Add(-time.Second)), w.endedTaskRun(w.now())}
			s := w.poll(t)
			s.want(t, prefect.Completed, fresh...)
			if n := rowsOf(s); n > 25 {
				t.Errorf("%d task runs were read for 2 new ones", n)
			}
			if n := w.Count(""); n > 10 {
				t.Errorf("it took %d requests", n)
			}
		})
	}
}

// A run that shows among known ones is found, whatever else came or went there.
func TestPollFindsWhatShowsAmongKnownRuns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		late int
		gone []int // the known runs that are deleted at the same time
	}{
		{"one", 1, nil},
		{"one in the place of another", 1, []int{120}},
		{"several", 5, nil},
		{"several in the place of others", 3, []int{3, 120, 130}},
		{"more than there were", 900, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			known := w.busy(t, 200, 100*time.Millisecond)
			for _, i := range test.gone {
				w.Delete(known[i])
			}
			var late []uuid.UUID
			for i := range test.late {
				late = append(late, w.endedTaskRun(w.now().Add(-7*time.Second-time.Duration(i)*time.Millisecond)))
			}
			w.pass(2 * time.Second)
			s := w.poll(t)
			s.want(t, prefect.Completed, late...)
			if n := rowsOf(s); test.late < 10 && n > 140 {
				t.Errorf("%d task runs were read for %d", n, test.late)
			}
		})
	}
}

// Runs that were left for later come again at each poll, until they are stored.
func TestPollGivesAgainWhatWasLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known := w.busy(t, 200, 100*time.Millisecond)
	left := known[50]
	w.poller.Stored(prefect.Changes{Now: w.now()}, []uuid.UUID{left})
	for range 3 {
		w.pass(2 * time.Second)
		s := newSight()
		err := w.poller.Poll(t.Context(), w.cur, prefect.OpenRuns{}, func(_ context.Context, c prefect.Changes) error {
			s.take(c)
			w.poller.Stored(c, []uuid.UUID{left})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s.want(t, prefect.Completed, left)
	}
}

// An end can become another one and keep its time, as a run's that was taken for crashed and then completed. The look
// back over ten minutes finds it.
func TestPollFindsAnEndThatChanged(t *testing.T) {
	t.Parallel()
	for _, from := range []prefect.StateType{prefect.Crashed, prefect.Completed} {
		to := prefect.Completed
		if from == to {
			to = prefect.Failed
		}
		t.Run(string(from)+" to "+string(to), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			known := w.busy(t, 200, 100*time.Millisecond)
			odd := known[70]
			w.SetState(odd, prefect.State{Type: from, Timestamp: w.now()})
			w.poller.Stored(prefect.Changes{Now: w.now(), TaskRuns: []prefect.TaskRun{w.TaskRun(odd)}}, nil)
			w.SetState(odd, prefect.State{Type: to, Timestamp: w.now()})
			seen := newSight()
			for range 35 {
				w.pass(2 * time.Second)
				for _, portion := range w.poll(t).portions {
					seen.take(portion)
				}
			}
			seen.want(t, to, odd)
		})
	}
}

// A server that can't count is read as it always was.
func TestPollReadsWhereNothingIsCounted(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusInternalServerError} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			known := w.busy(t, 200, 100*time.Millisecond)
			w.FaultAlways(func(r prefecttest.Request) bool { return strings.HasSuffix(r.Path, "/count") }, prefecttest.Status(status))
			late := w.endedTaskRun(w.now().Add(-10 * time.Second))
			w.pass(2 * time.Second)
			w.poll(t).want(t, prefect.Completed, slices.Concat(known, []uuid.UUID{late})...)
		})
	}
}

// What events told since the last poll and was read by id is not read again, and what no event told is found among it.
func TestPollPassesOverWhatWasHeard(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		unheard    bool
		most, rows int // requests, rows
	}{
		{"everything", false, 8, 60},
		{"all but one", true, 16, 130},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.poller.RelyOn(func(now time.Time) time.Time { return now.Add(-5 * time.Second) })
			w.busy(t, 40, 100*time.Millisecond)
			var late uuid.UUID
			for i := range 300 {
				w.pass(50 * time.Millisecond)
				id := w.endedTaskRun(w.now())
				if test.unheard && i == 100 {
					late = id
					continue
				}
				w.poller.Stored(prefect.Changes{Now: w.now(), TaskRuns: []prefect.TaskRun{w.TaskRun(id)}}, nil)
			}
			w.pass(5 * time.Second)
			w.ForgetRequests()
			s := w.poll(t)
			if test.unheard {
				s.want(t, prefect.Completed, late)
			}
			if n := rowsOf(s); n > test.rows {
				t.Errorf("%d task runs were read", n)
			}
			if n := w.Count(""); n > test.most {
				t.Errorf("it took %d requests", n)
			}
		})
	}
}

// That a failed run, heard of and stored, is seen again by the look over ten minutes is no sign of rows that show late: it
// costs no more than one that completed.
func TestWhatWasHeardIsNotLate(t *testing.T) {
	t.Parallel()
	requests := func(failing int) int {
		w := newWorld(t)
		w.poller.RelyOn(func(now time.Time) time.Time { return now.Add(-5 * time.Second) })
		w.busy(t, 40, 100*time.Millisecond)
		w.ForgetRequests()
		for poll := range 12 {
			for i := range 120 {
				w.pass(250 * time.Millisecond)
				id := w.endedTaskRun(w.now())
				if poll == failing && i == 60 {
					w.SetState(id, prefect.State{Type: prefect.Failed, Timestamp: w.now()})
				}
				w.poller.Stored(prefect.Changes{Now: w.now(), TaskRuns: []prefect.TaskRun{w.TaskRun(id)}}, nil)
			}
			w.poll(t)
		}
		return w.Count("")
	}
	if one, none := requests(2), requests(-1); one > none+3 {
		t.Errorf("%d requests with one failed run, %d without", one, none)
	}
}
