package prefecttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// query is the body of a list call, understood.
type query struct {
	limit, offset int
	sort          string
	filters       map[string]*filter // by kind
}

// filter is the part of a query about one kind of rows.
type filter struct {
	ids     []uuid.UUID // with byID: only these
	byID    bool
	parents []uuid.UUID // with byRun: only rows of these flow runs
	byRun   bool
	tests   []func(*row) bool
}

func (f *filter) match(r *row) bool {
	if f.byID && !slices.Contains(f.ids, r.id) {
		return false
	}
	if f.byRun && !slices.Contains(f.parents, r.flowRun) {
		return false
	}
	for _, test := range f.tests {
		if !test(r) {
			return false
		}
	}
	return true
}

// problem is one complaint of a 422.
type problem struct {
	loc  []any
	kind string // pydantic 2's type
	old  string // pydantic 1's type
	msg  string
}

// errNotHere is for what real servers know and this one doesn't.
type errNotHere struct{ what string }

func (e errNotHere) Error() string { return "prefecttest does not know " + e.what }

// realFields are the filter fields that the servers know, by kind, with the first version that does.
func realFields(kind, version string) map[string]bool {
	fields := map[string][]string{
		flows:       {"operator", "id", "name", "tags", "deployment"},
		deployments: {"operator", "id", "name", "paused", "tags", "work_queue_name", "concurrency_limit"},
		artifacts:   {"operator", "id", "key", "flow_run_id", "task_run_id", "type"},
		flowRuns: {"operator", "id", "name", "tags", "deployment_id", "work_queue_name", "state", "flow_version",
			"start_time", "expected_start_time", "next_scheduled_start_time", "parent_flow_run_id", "parent_task_run_id",
			"idempotency_key"},
		taskRuns: {"operator", "id", "name", "tags", "state", "start_time", "subflow_runs", "flow_run_id"},
	}[kind]
	known := make(map[string]bool, len(fields)+2)
	for _, field := range fields {
		known[field] = true
	}
	known["end_time"] = kind == flowRuns && version != V2_20 || kind == taskRuns && version == V3_9
	known["expected_start_time"] = kind == flowRuns || kind == taskRuns && version != V2_20
	return known
}

// parse reads a list call's body.
func (s *Server) parse(kind string, body []byte) (query, []problem, error) {
	q := query{limit: s.pageLimit, filters: make(map[string]*filter)}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return q, []problem{{loc: []any{"body", 0}, kind: "json_invalid", old: "value_error.jsondecode", msg: "JSON decode error"}}, nil
	}
	sorts, _ := s.orders(kind)
	q.sort = sorts[0]
	var problems []problem
	for name, target := range map[string]any{"limit": &q.limit, "offset": &q.offset, "sort": &q.sort} {
		if raw, ok := fields[name]; ok && string(raw) != "null" && json.Unmarshal(raw, target) != nil {
			problems = append(problems, problem{loc: []any{"body", name}, kind: "int_parsing", old: "type_error.integer", msg: "Input should be a valid integer"})
		}
	}
	if !slices.Contains(sorts, q.sort) {
		problems = append(problems, problem{
			loc: []any{"body", "sort"}, kind: "enum", old: "type_error.enum", msg: fmt.Sprintf("Input should be one of %q", sorts),
		})
	}
	for _, of := range kinds {
		raw, ok := fields[of]
		if !ok || string(raw) == "null" {
			continue
		}
		f, found, err := s.parseFilter(of, raw)
		if err != nil {
			return q, nil, err
		}
		q.filters[of], problems = f, append(problems, found...)
	}
	return q, problems, nil
}

func (s *Server) parseFilter(kind string, raw json.RawMessage) (*filter, []problem, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil, []problem{{loc: []any{"body", kind}, kind: "model_attributes_type", old: "type_error.dict", msg: "Input should be a valid dictionary"}}, nil
	}
	f, known := &filter{}, realFields(kind, s.version)
	var problems []problem
	for name, part := range fields {
		if !known[name] {
			problems = append(problems, problem{
				loc: []any{"body", kind, name}, kind: "extra_forbidden", old: "value_error.extra", msg: "Extra inputs are not permitted",
			})
			continue
		}
		if string(part) == "null" {
			continue
		}
		bad, err := s.parseField(f, kind, name, part)
		if err != nil {
			return nil, nil, err
		}
		if bad != nil {
			bad.loc = append([]any{"body", kind, name}, bad.loc...)
			problems = append(problems, *bad)
		}
	}
	return f, problems, nil
}

// parseField adds one field's condition to a filter.
func (s *Server) parseField(f *filter, kind, name string, raw json.RawMessage) (*problem, error) {
	switch name {
	case "id":
		return ids(raw, func(any []uuid.UUID, _ *bool) { f.ids, f.byID = any, any != nil })
	case "flow_run_id":
		return ids(raw, func(any []uuid.UUID, null *bool) {
			switch {
			case null != nil && *null:
				f.tests = append(f.tests, func(r *row) bool { return r.flowRun == uuid.Nil })
			case any != nil:
				f.parents, f.byRun = any, true
			case kind == taskRuns && s.version != V2_20:
				f.tests = append(f.tests, func(r *row) bool { return r.flowRun != uuid.Nil })
			}
		})
	case "task_run_id":
		return ids(raw, func(any []uuid.UUID, _ *bool) {
			if any != nil {
				f.tests = append(f.tests, func(r *row) bool { return slices.Contains(any, r.taskRun) })
			}
		})
	case "name":
		return texts(f, raw, func(r *row) string { return r.name })
	case "type":
		return texts(f, raw, func(r *row) string { return r.kindOfArtifact })
	case "state":
		return states(f, raw)
	case "start_time":
		by := func(r *row) time.Time { return r.start }
		if kind == flowRuns && s.version != V2_20 {
			by = (*row).startOrExpected
		}
		return window(f, raw, by, func(r *row) bool { return r.start.IsZero() })
	case "end_time":
		return window(f, raw, func(r *row) time.Time { return r.end }, func(r *row) bool { return r.end.IsZero() })
	case "expected_start_time":
		return window(f, raw, func(r *row) time.Time { return r.expected }, func(*row) bool { return false })
	default:
		return nil, errNotHere{"the filter " + kind + "." + name}
	}
}
