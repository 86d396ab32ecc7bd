package prefect

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"
)

// run is what flow runs and task runs have in common.
type run interface {
	id() uuid.UUID
	began() *time.Time
	// ended is when the run ended, nil for one that has not.
	ended() *time.Time
	// endTime is what servers filter and sort by.
	endTime() *time.Time
	state() *State
}

func (r FlowRun) id() uuid.UUID       { return r.ID }
func (r FlowRun) began() *time.Time   { return r.StartTime }
func (r FlowRun) ended() *time.Time   { return endOf(r.EndTime, r.State) }
func (r FlowRun) endTime() *time.Time { return r.EndTime }
func (r FlowRun) state() *State       { return r.State }

func (t TaskRun) id() uuid.UUID       { return t.ID }
func (t TaskRun) began() *time.Time   { return t.StartTime }
func (t TaskRun) ended() *time.Time   { return endOf(t.EndTime, t.State) }
func (t TaskRun) endTime() *time.Time { return t.EndTime }
func (t TaskRun) state() *State       { return t.State }

// endOf returns when a run ended. Older servers give no end time to a run that ended without having started, such as a
// flow run that was cancelled while scheduled, or before 3 a cached task run: its state says when.
func endOf(end *time.Time, state *State) *time.Time {
	if end != nil || state == nil || !state.Type.Terminal() {
		return end
	}
	return &state.Timestamp
}

// kind is one of the two lists of runs.
type kind[T run] struct {
	resource string
	list     func(context.Context, Filter) (Page[T], error)
	// filter narrows a filter to these runs.
	filter func(Filter, RunFilter) Filter
	// changes makes a portion of rows.
	changes func([]T) Changes
}

func flowRunKind(api RunLister) kind[FlowRun] {
	return kind[FlowRun]{
		resource: "flow_runs",
		list:     api.FlowRuns,
		filter:   func(f Filter, r RunFilter) Filter { f.FlowRuns = &r; return f },
		changes:  func(rows []FlowRun) Changes { return Changes{FlowRuns: rows} },
	}
}

func taskRunKind(api RunLister) kind[TaskRun] {
	return kind[TaskRun]{
		resource: "task_runs",
		list:     api.TaskRuns,
		filter:   func(f Filter, r RunFilter) Filter { f.TaskRuns = &r; return f },
		changes:  func(rows []TaskRun) Changes { return Changes{TaskRuns: rows} },
	}
}

// pages makes a reader of the kind's pages.
func (k kind[T]) pages(api RunLister) *pages[T] { return newPages(k.resource, k.list, api.PageLimit()) }

// Sort orders that both lists of runs know on every version.
const (
	sortID  = "ID_DESC"
	sortEnd = "END_TIME_DESC"
)

// order is a sort order of the server's, so that a reader can tell which row comes first.
type order[T any] struct {
	sort string
	id   func(T) uuid.UUID
	// compare is negative when a comes before b, and zero when they stand level.
	compare func(a, b T) int
}

// byID is the one order without ties, so that a shift between two pages always shows. Servers compare ids as bytes.
func byID[T any](id func(T) uuid.UUID) order[T] {
	return order[T]{sort: sortID, id: id, compare: func(a, b T) int {
		x, y := id(a), id(b)
		return bytes.Compare(y[:], x[:])
	}}
}

// byEnd has the newest end first. Runs without an end come before all others where a server lists them at all.
func byEnd[T run]() order[T] {
	return order[T]{sort: sortEnd, id: T.id, compare: func(a, b T) int {
		x, y := a.endTime(), b.endTime()
		switch {
		case x == nil && y == nil:
			return 0
		case x == nil:
			return -1
		case y == nil:
			return 1
		default:
			return y.Compare(*x)
		}
	}}
}

func inState(types ...StateType) *StateFilter {
	var f StateFilter
	f.Type.Any = types
	return &f
}

// span is a stretch of the server's time. A zero end is open.
type span struct{ from, to time.Time }

// window is the span as a filter, both ends included.
func (s span) window() *Window {
	var w Window
	if !s.from.IsZero() {
		w.After = utc(s.from)
	}
	if !s.to.IsZero() {
		w.Before = utc(s.to)
	}
	return &w
}

// holds says whether a time lies in the span, its end left out.
func (s span) holds(t *time.Time) bool {
	return t != nil && !t.Before(s.from) && (s.to.IsZero() || t.Before(s.to))
}

func utc(t time.Time) *time.Time { t = t.UTC(); return &t }
