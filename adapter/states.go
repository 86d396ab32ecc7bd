package adapter

import (
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

// row is what flow runs and task runs have in common.
type row struct {
	id       uuid.UUID
	kind     Kind
	name     string
	state    *prefect.State
	runCount int
	expected *time.Time
	start    *time.Time
	end      *time.Time
	tags     []string
	// standIn marks the placeholder of a subflow: no run of its own, since the subflow's run says it all.
	standIn bool
}

// rowOf returns the snapshot's row, false if it has none.
func rowOf(s prefect.Snapshot) (row, bool) {
	switch {
	case s.FlowRun != nil:
		r := s.FlowRun
		return row{
			id: r.ID, kind: FlowRun, name: r.Name, state: r.State, runCount: r.RunCount,
			expected: r.ExpectedStartTime, start: r.StartTime, end: r.EndTime, tags: r.Tags,
		}, true
	case s.TaskRun != nil:
		r := s.TaskRun
		_, standIn := r.ChildFlowRun()
		return row{
			id: r.ID, kind: TaskRun, name: r.Name, state: r.State, runCount: r.RunCount,
			expected: r.ExpectedStartTime, start: r.StartTime, end: r.EndTime, tags: r.Tags, standIn: standIn,
		}, true
	default:
		return row{}, false
	}
}

// neverRan says whether a run ended without having run. Prefect then gives it the end's time as its start. The count
// alone does not decide, since some 3.x releases leave it at 0 for runs that ran.
func (r row) neverRan() bool {
	return r.runCount == 0 && (r.start == nil || r.end == nil || !r.start.Before(*r.end))
}

// ending returns the type and time of a terminal row's end. A state that was set after the run had ended leaves the end
// time where it was, so the state's own time counts when it is later: otherwise two ends that say different things would
// be one event.
func (r row) ending() (EventType, time.Time) {
	at := r.state.Timestamp
	if !r.neverRan() && r.end != nil && r.end.After(at) {
		at = *r.end
	}
	return endType(r.state.Type), at
}

func endType(t prefect.StateType) EventType {
	switch t {
	case prefect.Completed:
		return Complete
	case prefect.Cancelled:
		return Abort
	default: // FAILED and CRASHED
		return Fail
	}
}

// step is one event that is due.
type step struct {
	kind EventType
	at   time.Time
}

func (s step) ends() bool { return s.kind == Complete || s.kind == Fail || s.kind == Abort }

// steps returns the events that the row makes due, given what was told of the run, in order.
func (r row) steps(t Told) []step {
	switch {
	case r.standIn || r.state == nil:
		return nil
	case r.state.Type.Terminal():
		return r.endSteps(t)
	case r.state.Type == prefect.Running:
		return r.runningSteps(t)
	default:
		return r.waitingSteps(t)
	}
}

func (r row) endSteps(t Told) []step {
	kind, at := r.ending()
	if !newEnd(t, kind, at) {
		return nil
	}
	end := step{kind, at}
	if t.Start.IsZero() && r.start != nil && !r.neverRan() {
		return []step{{Start, *r.start}, end}
	}
	return []step{end}
}

// newEnd says whether an end differs from the last one told. An earlier one is an old row that a replica served late,
// unless the told one was only inferred: a real end always follows that.
func newEnd(t Told, kind EventType, at time.Time) bool {
	switch {
	case t.End.IsZero():
		return true
	case kind == t.EndType && at.Equal(t.End):
		return false
	default:
		return t.Inferred || !at.Before(t.End)
	}
}

func (r row) runningSteps(t Told) []step {
	now := r.state.Timestamp
	switch {
	case t.Start.IsZero() && t.Phase == Ended:
		// It ended before it ever ran, and that end's time stands as its start.
		return []step{{Start, now}}
	case t.Start.IsZero() && r.start != nil:
		return []step{{Start, *r.start}}
	case t.Start.IsZero():
		return []step{{Start, now}}
	case t.Phase == Ended && (now.After(t.End) || wasGone(t)):
		return []step{{Running, now}}
	default:
		return nil
	}
}

// wasGone says whether the last end was inferred because the run could not be read any more.
func wasGone(t Told) bool { return t.Inferred && !t.Missed.IsZero() }

// waitingSteps is for a run that neither runs nor has ended: a START is due if it ran before, such as one that was
// paused or awaits its next attempt when it is first seen.
func (r row) waitingSteps(t Told) []step {
	if t.Start.IsZero() && r.start != nil && r.runCount > 0 {
		return []step{{Start, *r.start}}
	}
	return nil
}

// after returns the ledger entry once the steps are told.
func (t Told) after(steps []step) Told {
	for _, s := range steps {
		if s.ends() {
			t.Phase, t.EndType, t.End, t.Inferred = Ended, s.kind, s.at.UTC(), false
			continue
		}
		t.Phase = Open
		if s.kind == Start {
			t.Start = s.at.UTC()
		}
	}
	return t
}
