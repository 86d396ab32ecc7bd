package ingest

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// Reason says why a run is or is not told about.
type Reason struct {
	Run  uuid.UUID `json:"run"`
	Kind string    `json:"kind"` // flow-run or task-run
	Name string    `json:"name"` // the run's own
	// State is the type of Prefect's state; empty: it has none.
	State prefect.StateType `json:"state,omitempty"`
	Told  bool              `json:"told"`
	Why   string            `json:"why"`
	// By is what decided whether it is told about, as in the metrics; empty: it was not decided here.
	By string `json:"decided_by,omitempty"`
	// Namespace and Job name the job; empty: it was not named yet.
	Namespace string `json:"namespace,omitempty"`
	Job       string `json:"job,omitempty"`
	// Events are the types of the events, in order.
	Events []adapter.EventType `json:"events"`
}

// explain gives a reason for each row of the portion, once it is clear what is told.
func (p *portion) explain() {
	if p.mode.Explain == nil {
		return
	}
	said := map[uuid.UUID][]adapter.EventType{}
	for _, e := range p.events {
		said[e.Run] = append(said[e.Run], e.Type)
	}
	for _, row := range p.changes.FlowRuns {
		p.mode.Explain(p.reason("flow-run", row.ID, row.Name, row.State, row.RunCount, said[row.ID]))
	}
	for _, row := range p.changes.TaskRuns {
		r := p.reason("task-run", row.ID, row.Name, row.State, row.RunCount, said[row.ID])
		if child, ok := row.ChildFlowRun(); ok {
			r.Why = fmt.Sprintf("it stands in for the subflow run %s, which is looked at itself", child)
		}
		p.mode.Explain(r)
	}
}

func (p *portion) reason(kind string, id uuid.UUID, name string, s *prefect.State, runs int, said []adapter.EventType) Reason {
	told, decision := p.known[id], p.decided[id]
	if said == nil {
		said = []adapter.EventType{} // an empty list in JSON, not null
	}
	r := Reason{
		Run: id, Kind: kind, Name: name, Told: len(said) > 0, By: decision.By,
		Namespace: told.Run.Namespace, Job: told.Run.Name, Events: said,
	}
	if s != nil {
		r.State = s.Type
	}
	switch {
	case r.Told:
		r.Why = fmt.Sprintf("%s of job %s: its state is %s (%s)", join(said), told.Run.Name, s.Name, s.Type)
		if decision.By != "" && decision.By != adapter.DecidedByNothing {
			r.Why += ", and " + p.because(told, decision) + " lets it be told about"
		}
	case told.Ruling.Silent() && decision.Why != "":
		r.Why = p.because(told, decision) + " keeps it from being told about"
	case told.Ruling.Silent():
		r.Why = "when it was first seen it was kept from being told about"
	case s == nil:
		r.Why = "Prefect has no state for it"
	case told.Phase != adapter.Unsaid:
		r.Why = "all there is to say was said before"
	case runs == 0:
		r.Why = fmt.Sprintf("it has not started: its state is %s (%s)", s.Name, s.Type)
	default:
		r.Why = fmt.Sprintf("nothing is said of the state %s (%s)", s.Name, s.Type)
	}
	return r
}

// because says what a decision comes from. One that was taken over from the flow run names what decided there, as far as
// that was seen here.
func (p *portion) because(told adapter.Told, d adapter.Decision) string {
	above, ok := p.decided[told.FlowRunID]
	if d.By != adapter.DecidedByFlowRun || !ok {
		return d.Why
	}
	return fmt.Sprintf("%s (%s)", d.Why, p.because(p.known[told.FlowRunID], above))
}

func join(types []adapter.EventType) string {
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = string(t)
	}
	return strings.Join(words, " and ")
}
