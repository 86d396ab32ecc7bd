package prefecttest

import (
	"slices"

	"github.com/google/uuid"
)

// search returns the rows of a page.
func (s *Server) search(kind string, q query) ([]*row, error) {
	if err := s.joins(kind, q); err != nil {
		return nil, err
	}
	_, orders := s.orders(kind)
	by := orders[q.sort]
	candidates, narrowed := s.candidates(kind, q)
	if narrowed {
		slices.SortStableFunc(candidates, by)
	} else {
		candidates = s.tables[kind].inOrder(q.sort, by)
	}
	var page []*row
	skip := q.offset
	for _, r := range candidates {
		if len(page) >= q.limit {
			break
		}
		if !s.matches(kind, r, q) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		page = append(page, r)
	}
	return page, nil
}

// candidates are the rows that an index finds, in the order in which they were added.
func (s *Server) candidates(kind string, q query) (rows []*row, narrowed bool) {
	t, own := s.tables[kind], q.filters[kind]
	collect := func(ids []uuid.UUID, index map[uuid.UUID][]*row) {
		seen := make(map[uuid.UUID]bool, len(ids))
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				rows = append(rows, index[id]...)
			}
		}
	}
	runs := q.filters[flowRuns]
	switch {
	case own != nil && own.byID:
		seen := make(map[uuid.UUID]bool, len(own.ids))
		for _, id := range own.ids {
			if r := t.byID[id]; r != nil && !seen[id] {
				seen[id] = true
				rows = append(rows, r)
			}
		}
	case own != nil && own.byRun:
		collect(own.parents, t.byFlowRun)
	case kind != flowRuns && runs != nil && runs.byID && (kind == taskRuns || kind == artifacts):
		collect(runs.ids, t.byFlowRun)
	default:
		return nil, false
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return a.number - b.number })
	return rows, true
}

// joins refuses the combinations of kinds that this server doesn't know.
func (s *Server) joins(kind string, q query) error {
	known := map[string][]string{
		flowRuns:    {flowRuns, flows, deployments, taskRuns},
		taskRuns:    {taskRuns, flowRuns, flows, deployments},
		artifacts:   {artifacts, flowRuns, taskRuns, flows, deployments},
		flows:       {flows, flowRuns},
		deployments: {deployments, flows},
	}[kind]
	for of := range q.filters {
		if !slices.Contains(known, of) {
			return errNotHere{kind + " by " + of}
		}
	}
	return nil
}

// matches says whether a row passes every filter: its own, and those on the rows that belong to it.
func (s *Server) matches(kind string, r *row, q query) bool {
	for of, f := range q.filters {
		if !s.passes(kind, r, of, f) {
			return false
		}
	}
	return true
}

func (s *Server) passes(kind string, r *row, of string, f *filter) bool {
	run := r // the flow run that a row belongs to
	if kind == taskRuns || kind == artifacts {
		run = s.tables[flowRuns].byID[r.flowRun]
	}
	one := func(kind string, id uuid.UUID) bool {
		other := s.tables[kind].byID[id]
		return other != nil && f.match(other)
	}
	switch {
	case of == kind:
		return f.match(r)
	case of == flowRuns && kind == flows:
		return slices.ContainsFunc(s.tables[flowRuns].byFlow[r.id], f.match)
	case of == flowRuns:
		return run != nil && f.match(run)
	case of == taskRuns && kind == flowRuns:
		return slices.ContainsFunc(s.tables[taskRuns].byFlowRun[r.id], f.match)
	case of == taskRuns:
		return one(taskRuns, r.taskRun)
	case of == flows:
		return run != nil && one(flows, run.flow)
	default:
		return run != nil && one(deployments, run.deployment)
	}
}
