package prefect

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func stateAt(second int, of StateType) *State {
	return &State{Type: of, Timestamp: longAgo.Add(time.Duration(second) * time.Second)}
}

func TestPortionHoldsARunOnceAsItWasSeenLast(t *testing.T) {
	t.Parallel()
	a, b := uuid.New(), uuid.New()
	var got []Changes
	p := newPortion(longAgo, func(_ context.Context, c Changes) error { got = append(got, c); return nil })
	cur := Cursor{Ended: longAgo}
	for _, c := range []Changes{
		{FlowRuns: []FlowRun{{ID: a, State: stateAt(3, Running)}}, TaskRuns: []TaskRun{{ID: b, State: stateAt(4, Completed)}}},
		{FlowRuns: []FlowRun{{ID: a, State: stateAt(5, Completed)}}, TaskRuns: []TaskRun{{ID: b, State: stateAt(2, Running)}}},
		{Bad: []BadRow{{Resource: "flow_runs", ID: "x"}, {Resource: "task_runs", ID: "x"}}},
		{Bad: []BadRow{{Resource: "flow_runs", ID: "x"}}, Gone: []uuid.UUID{b}},
	} {
		if err := p.add(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) > 0 {
		t.Fatalf("%d portions of a few rows", len(got))
	}
	for range 2 { // the second hands over nothing
		if err := p.flush(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.flush(t.Context(), &cur); err != nil {
		t.Fatal(err)
	}
	want := []Changes{
		{
			FlowRuns: []FlowRun{{ID: a, State: stateAt(5, Completed)}}, TaskRuns: []TaskRun{{ID: b, State: stateAt(4, Completed)}},
			Bad:  []BadRow{{Resource: "flow_runs", ID: "x"}, {Resource: "task_runs", ID: "x"}},
			Gone: []uuid.UUID{b}, Now: longAgo,
		},
		{Now: longAgo, Cursor: &cur},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("portions (-want +got):\n%s", diff)
	}
}

func TestPortionIsHandedOverWhenFull(t *testing.T) {
	t.Parallel()
	sizes := []int{}
	p := newPortion(longAgo, func(_ context.Context, c Changes) error { sizes = append(sizes, len(c.TaskRuns)); return nil })
	for range 7 {
		rows := make([]TaskRun, MaxPage)
		for i := range rows {
			rows[i].ID = uuid.New()
		}
		if err := p.add(t.Context(), Changes{TaskRuns: rows}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]int{3 * MaxPage, 3 * MaxPage}, sizes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

func TestPortionMarksTheTakersError(t *testing.T) {
	t.Parallel()
	theirs := &Error{Kind: ErrTimeout, Status: 503}
	p := newPortion(longAgo, func(context.Context, Changes) error { return theirs })
	err := fmt.Errorf("reading: %w", p.flush(t.Context(), &Cursor{}))
	if tooWide(err) {
		t.Error("the taker's error passes for the server's")
	}
	if got := unwrapYield(err); got != error(theirs) { //nolint:errorlint // it must come back as it was
		t.Errorf("got %v", got)
	}
	ours := errors.New("ours")
	if got := unwrapYield(ours); got != ours { //nolint:errorlint // likewise
		t.Errorf("got %v", got)
	}
}

func TestFeedsRunOnePageAheadAndAreWaitedFor(t *testing.T) {
	t.Parallel()
	ahead, reading := newFeeds(t.Context())
	begun := make(chan int, 10)
	ended := false
	one := ahead.start(reading, func(_ context.Context, emit func(Changes) error) error {
		defer func() { ended = true }() // read after stop, which waits
		for i := range 10 {
			begun <- i
			if err := emit(Changes{}); err != nil {
				return err
			}
		}
		return nil
	})
	<-one.out
	if first, second := <-begun, <-begun; first != 0 || second != 1 {
		t.Errorf("got %d, %d", first, second)
	}
	ahead.stop()
	if !ended {
		t.Error("the read goes on after stop")
	}
	if !errors.Is(one.err, context.Canceled) {
		t.Errorf("the read ended with %v", one.err)
	}
}
