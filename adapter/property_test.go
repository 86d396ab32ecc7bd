package adapter_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// life draws a life of a run: its row after each change of state, with the times and counts that Prefect's server sets.
func life(t *rapid.T) []prefect.FlowRun {
	row := flowRow()
	row.State, row.StartTime, row.EndTime, row.RunCount = nil, nil, nil, 0
	rows := []prefect.FlowRun{row}
	clock := 0.0
	for range rapid.IntRange(1, 8).Draw(t, "changes") {
		clock += float64(rapid.IntRange(1, 100).Draw(t, "pause")) / 10
		state := rapid.SampledFrom([]prefect.StateType{
			prefect.Scheduled, prefect.Pending, prefect.Running, prefect.Running, prefect.Running, prefect.Paused,
			prefect.Cancelling, prefect.Completed, prefect.Completed, prefect.Failed, prefect.Crashed, prefect.Cancelled,
		}).Draw(t, "state")
		rows = append(rows, moved(rows[len(rows)-1], state, clock))
	}
	return rows
}

// moved returns the row after a change of state, as the server's own rules make it.
func moved(row prefect.FlowRun, state prefect.StateType, clock float64) prefect.FlowRun {
	was := row.State
	row.State = &prefect.State{Type: state, Name: string(state), Timestamp: at(clock)}
	if state == prefect.Running {
		row.RunCount++
		if row.StartTime == nil {
			row.StartTime = new(at(clock))
		}
	}
	switch {
	case !state.Terminal():
		row.EndTime = nil
	case was == nil || !was.Type.Terminal():
		row.EndTime = new(at(clock))
		if row.StartTime == nil {
			row.StartTime = new(at(clock))
		}
	}
	return row
}

// asTask is a task run with the life of a flow run.
func asTask(run prefect.FlowRun) prefect.TaskRun {
	row := taskRow()
	row.State, row.RunCount, row.StartTime, row.EndTime = run.State, run.RunCount, run.StartTime, run.EndTime
	return row
}

// TestAnyLife checks what holds for any life of a flow run or a task run, seen at any of its rows, any number of times.
func TestAnyLife(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		a := newAdapter(t)
		rows := life(r)
		show := flowSnapshot
		if rapid.Bool().Draw(r, "task run") {
			show = func(run prefect.FlowRun) prefect.Snapshot { return taskSnapshot(asTask(run)) }
		}
		l := newListener(t, a)
		var seen []prefect.FlowRun
		for _, row := range rows {
			for range rapid.IntRange(0, 2).Draw(r, "looks") {
				l.see(show(row))
				seen = append(seen, row)
			}
		}
		final := rows[len(rows)-1]
		l.see(show(final))
		seen = append(seen, final)
		checkStory(r, l.events, seen)

		// One look at the final row tells the same truth as all the looks before it.
		once := newListener(t, a)
		once.see(show(final))
		checkSame(r, l.events, once.events)

		// Every look again, from a new ledger: the same events, byte for byte.
		again := newListener(t, a)
		for _, row := range seen {
			again.see(show(row))
		}
		if diff := cmp.Diff(l.events, again.events); diff != "" {
			r.Fatalf("told again (-first +second):\n%s", diff)
		}
	})
}

// checkStory checks that the events of one run make a story that every consumer understands.
func checkStory(r *rapid.T, events []adapter.Event, seen []prefect.FlowRun) {
	starts, ended := 0, false
	for i, e := range events {
		if e.First != (i == 0) {
			r.Fatalf("event %d of %v: First = %t", i, short(events), e.First)
		}
		switch e.Type {
		case adapter.Start:
			starts++
			ended = false
		case adapter.Running:
			if starts == 0 || !ended {
				r.Fatalf("RUNNING without a START or an end before it: %v", short(events))
			}
			ended = false
		default:
			ended = true
		}
		if i > 0 && e.Key() == events[i-1].Key() {
			r.Fatalf("the same event twice in a row: %v", short(events))
		}
	}
	if starts > 1 {
		r.Fatalf("%d STARTs: %v", starts, short(events))
	}
	if starts == 1 && events[0].Type != adapter.Start && seen[0].RunCount > 0 {
		r.Fatalf("START is not the first event of a run that ran: %v", short(events))
	}
	last := seen[len(seen)-1]
	if last.State != nil && last.State.Type.Terminal() {
		checkEnd(r, events, ended, last)
	}
	if last.State != nil && last.State.Type == prefect.Running && (ended || starts == 0) {
		r.Fatalf("the run runs and the story does not: %v", short(events))
	}
}

// checkEnd checks that the story of a run that is over ends as the run does, and when it does.
func checkEnd(r *rapid.T, events []adapter.Event, ended bool, last prefect.FlowRun) {
	if !ended {
		r.Fatalf("the run is over and the story is not: %v", short(events))
	}
	want := map[prefect.StateType]adapter.EventType{
		prefect.Completed: adapter.Complete, prefect.Failed: adapter.Fail, prefect.Crashed: adapter.Fail, prefect.Cancelled: adapter.Abort,
	}[last.State.Type]
	end := events[len(events)-1]
	if end.Type != want || !end.Time.Equal(last.State.Timestamp) {
		r.Fatalf("the run is %s since %v and its story ends with %s at %v: %v",
			last.State.Type, last.State.Timestamp, end.Type, end.Time, short(events))
	}
}

// checkSame checks that of events told live, and those told of the final row alone, the same event has the same bytes,
// and that the last end is the same.
func checkSame(r *rapid.T, live, once []adapter.Event) {
	bodies := make(map[adapter.Key]string)
	for _, e := range live {
		bodies[e.Key()] = string(e.Body)
	}
	for _, e := range once {
		if body, ok := bodies[e.Key()]; ok && body != string(e.Body) {
			r.Fatalf("%s differs (-live +once):\n%s", e.Type, cmp.Diff(body, string(e.Body)))
		}
	}
	ends := func(events []adapter.Event) []adapter.Event {
		return slices.DeleteFunc(slices.Clone(events), func(e adapter.Event) bool {
			return e.Type == adapter.Start || e.Type == adapter.Running
		})
	}
	if ends := ends(once); len(ends) == 1 {
		if _, ok := bodies[ends[0].Key()]; !ok {
			r.Fatalf("the end %v was not told live: %v", short(ends), short(live))
		}
	}
}
