package adapter

import (
	"time"

	"github.com/prefect-openlineage/listener/prefect"
)

// InferDue says whether the end of an open task run is due to be inferred: its flow ended at least the grace ago and
// the task came to no end since. Now is the server's time.
func (a *Adapter) InferDue(task, flow Told, now time.Time) bool {
	return inferable(task, flow) && now.Sub(flow.End) >= a.settings.Grace
}

// inferable says whether a flow's end ends the task as well. A task that started, or came alive again, after its flow
// had ended runs on its own: a background task does.
func inferable(task, flow Told) bool {
	return task.Phase == Open && task.Kind == TaskRun && flow.Phase == Ended && !flow.End.IsZero() &&
		!flow.End.Before(task.Start) && (task.End.IsZero() || flow.End.After(task.End))
}

// InferEnd makes the end of a task run that was left RUNNING when its flow ended: of the flow's type, at the flow's end.
// A real end that comes later is told after it. InferEndSeen says more where the task's row is at hand.
func (a *Adapter) InferEnd(told, flow Told) Telling {
	return a.InferEndSeen(prefect.Snapshot{}, told, flow, nil)
}

// InferEndSeen is InferEnd with the task's last snapshot: the end then carries all that is known, its datasets included.
// A task that finished while Prefect kept it RUNNING has made its artifacts, and an end without them would take the
// job's datasets from the consumers' graphs. Last are the datasets of the job's last good run, where the adapter
// Repeats.
func (a *Adapter) InferEndSeen(s prefect.Snapshot, told, flow Told, last []Edge) Telling {
	if !inferable(told, flow) {
		return Telling{Told: told}
	}
	message := "the flow run ended while Prefect kept this task run as running"
	return a.infer(s, told, step{flow.EndType, flow.End}, message, last)
}

// InferGone is told that an open run was asked for and is not there, at the given server time, while other runs are. The
// first time is noted in the entry; a second one, the grace or more later, ends the run with an ABORT at that time. Last
// are the datasets of the job's last good run, where the adapter Repeats.
func (a *Adapter) InferGone(told Told, at time.Time, last []Edge) Telling {
	switch {
	case told.Phase != Open:
		return Telling{Told: told}
	case told.Missed.IsZero():
		told.Missed = at.UTC()
		return Telling{Told: told}
	case at.Sub(told.Missed) < a.settings.Grace || !at.After(told.Missed):
		return Telling{Told: told}
	}
	return a.infer(prefect.Snapshot{}, told, step{Abort, at}, "", last)
}

// infer makes an end that Prefect never told. The error message goes with a FAIL only.
func (a *Adapter) infer(s prefect.Snapshot, told Told, end step, message string, last []Edge) Telling {
	if told.Ruling.Silent() {
		telling := Telling{Told: told.after([]step{end})}
		telling.Told.Inferred = true
		return telling
	}
	n := a.narrate(told)
	r, _ := rowOf(s)
	facets := a.startFacets(s, r, told, nil)
	datasets, repeated := a.all(s, told, end.kind, Beside{Last: last})
	facet := a.prefectEnd(s, r, told, true)
	facet.DatasetsRepeated = repeated
	facets.Add(facet)
	if end.kind == Fail {
		facets.Add(errorFacet(message))
	}
	n.warnings = append(n.warnings, datasets.warnings...)
	n.say(end, facets, datasets.inputs, datasets.outputs)
	telling := n.telling([]step{end})
	telling.Told.Inferred = true
	return telling
}
