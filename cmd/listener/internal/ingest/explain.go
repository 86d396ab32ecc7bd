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
	Run  uuid.UUID
	Name string // the run's own
	Told bool
	Why  string
}

// explain gives a reason for each row of the portion, once it is clear what is told.
func (p *portion) explain() {
	if p.mode.Explain == nil {
		return
	}
	said := map[uuid.UUID][]string{}
	for _, e := range p.events {
		said[e.Run] = append(said[e.Run], string(e.Type))
	}
	for _, row := range p.changes.FlowRuns {
		p.mode.Explain(reason(row.ID, row.Name, row.State, row.RunCount, said[row.ID], p.known[row.ID]))
	}
	for _, row := range p.changes.TaskRuns {
		r := reason(row.ID, row.Name, row.State, row.RunCount, said[row.ID], p.known[row.ID])
		if child, ok := row.ChildFlowRun(); ok {
			r.Why = fmt.Sprintf("it stands in for the subflow run %s, which is told about itself", child)
		}
		p.mode.Explain(r)
	}
}

func reason(id uuid.UUID, name string, s *prefect.State, runs int, said []string, told adapter.Told) Reason {
	r := Reason{Run: id, Name: name, Told: len(said) > 0}
	switch {
	case r.Told:
		r.Why = fmt.Sprintf("%s of job %s: its state is %s (%s)", strings.Join(said, " and "), told.Run.Name, s.Name, s.Type)
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
