package prefecttest

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

// SetState puts a flow run or a task run into a state with the effects that a real server gives it: the first RUNNING
// sets the start time, each one counts; an end sets the end time, and the start time of a run that never ran; leaving
// an end takes the end time away. An empty name and timestamp are made up: the type's, and the server's clock.
func (s *Server) SetState(id uuid.UUID, state prefect.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.date(&state.Timestamp)
	if state.Name == "" {
		state.Name = strings.ToUpper(string(state.Type[:1])) + strings.ToLower(string(state.Type[1:]))
	}
	if s.tables[flowRuns].byID[id] != nil {
		r := s.find(flowRuns, id)
		run := r.record.(*prefect.FlowRun)
		before := run.State
		step(state, &run.State, &run.StartTime, &run.EndTime, &run.RunCount, s.version != V3_9)
		r.look()
		s.tables[flowRuns].changed()
		s.announceNew(r, before)
		return
	}
	r := s.find(taskRuns, id)
	run := r.record.(*prefect.TaskRun)
	if run.State != nil && state.Details.ChildFlowRunID == nil {
		state.Details.ChildFlowRunID = run.State.Details.ChildFlowRunID
	}
	before := run.State
	step(state, &run.State, &run.StartTime, &run.EndTime, &run.RunCount, s.version == V2_20)
	r.look()
	s.tables[taskRuns].changed()
	s.announceNew(r, before)
}

// step is the part of Prefect's orchestration that a row shows. A run that ends without having started may be left
// without either time, as older servers do.
func step(next prefect.State, state **prefect.State, start, end **time.Time, count *int, untimed bool) {
	at := next.Timestamp
	if next.Type == prefect.Running {
		*count++
		if *start == nil {
			*start = &at
		}
	}
	if !next.Type.Terminal() {
		*end = nil
	} else if *end == nil && (*start != nil || !untimed) {
		*end = &at
		if *start == nil {
			*start = &at
		}
	}
	*state = &next
}

// History is a stretch of ordinary work: flow runs one after the other, each with task runs that write a table.
type History struct {
	Flows    int           // different flows, taken in turn; at least 1
	FlowRuns int           // all in all
	Tasks    int           // task runs in each flow run, of as many different tasks
	Tables   bool          // each task run makes a table artifact that names its output
	From     time.Time     // when the first flow run starts
	Every    time.Duration // between the starts of two flow runs
	Lasts    time.Duration // how long a flow run lasts; its tasks follow one another in that time
}

// AddHistory adds finished work and returns the flow runs' ids, oldest first.
func (s *Server) AddHistory(h History) []uuid.UUID {
	var ids []uuid.UUID
	for i := range h.FlowRuns {
		flow := s.AddFlow("Flow " + letters(i%max(h.Flows, 1)))
		from := h.From.Add(time.Duration(i) * h.Every)
		until := from.Add(h.Lasts)
		run := s.AddFlowRun(prefect.FlowRun{
			FlowID: flow.ID, State: ended(until), RunCount: 1, Created: from, StartTime: &from, EndTime: &until,
			Parameters: map[string]jsonRaw{}, JobVariables: map[string]jsonRaw{}, Tags: []string{},
		})
		ids = append(ids, run.ID)
		for j := range h.Tasks {
			s.addWork(h, run, from, j)
		}
	}
	return ids
}

func (s *Server) addWork(h History, run prefect.FlowRun, from time.Time, j int) {
	part := h.Lasts / time.Duration(h.Tasks+1)
	start, end := from.Add(part*time.Duration(j)), from.Add(part*time.Duration(j+1))
	name := "task " + letters(j)
	key := ID(run.ID.String() + name).String()
	task := s.AddTaskRun(prefect.TaskRun{
		Name: name + "-" + key[:3], TaskKey: strings.ReplaceAll(name, " ", "_") + "-0a1b2c3d", DynamicKey: key,
		FlowRunID: &run.ID, State: ended(end), RunCount: 1, Created: start, StartTime: &start, EndTime: &end, Tags: []string{},
		TaskInputs: map[string][]prefect.TaskInput{},
	})
	if h.Tables {
		description := "ol-dataset_output"
		s.AddArtifact(prefect.Artifact{
			Description: &description, FlowRunID: &run.ID, TaskRunID: &task.ID, Created: end,
			Data: jsonRaw(`"[{\"database_uri\": \"duckdb:///warehouse\", \"table\": \"` + strings.ReplaceAll(name, " ", "_") + `\"}]"`),
		})
	}
}

func ended(at time.Time) *prefect.State {
	return &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: at.UTC().Truncate(time.Microsecond)}
}

// letters names the n-th thing of a kind: A to Z, then AA and so on.
func letters(n int) string {
	name := string(rune('A' + n%26))
	if n >= 26 {
		return letters(n/26-1) + name
	}
	return name
}
