package oracle_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/oracle/judge"
)

// history makes things happen in a Prefect and knows which events they stand for, by rules of its own.
type history struct {
	server *prefecttest.Server
	now    func() time.Time // the clock of the server and of the workers
	step   sync.Mutex       // held while rows are made, so that they follow one another

	mu     sync.Mutex
	events []judge.Event
	flows  int    // flow runs made so far
	prefix string // of the flows' names
	last   *flowRun
}

func newHistory(server *prefecttest.Server) *history { return &history{server: server, now: time.Now} }

// told are the events that must have been told so far.
func (h *history) told() []judge.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

func (h *history) note(events ...judge.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, events...)
}

// shape is what a flow run consists of.
type shape struct {
	tasks int
	// plain flow runs all complete, without tables, failures and subflows, and share one flow.
	plain bool
	// wide task runs write so many tables each that their events are big.
	wide bool
}

// flowRun is one flow run with its task runs.
type flowRun struct {
	id    uuid.UUID
	place int // among all flow runs
	shape shape
	self  judge.Run
	// above is the run that this one is a subflow of; nil: none.
	above       *flowRun
	placeholder uuid.UUID
	tasks       []taskRun
}

type taskRun struct {
	id   uuid.UUID
	self judge.Run
}

func (r *flowRun) root() *judge.Run {
	if r.above != nil {
		return r.above.root()
	}
	return &r.self
}

func (r *flowRun) parent() (parent, root *judge.Run) {
	if r.above == nil {
		return nil, nil
	}
	return &r.above.self, r.above.root()
}

// past adds flow runs that are over: they start one after the other and the last one ends a moment before until.
func (h *history) past(s shape, count int, every time.Duration, until time.Time) []*flowRun {
	h.step.Lock()
	defer h.step.Unlock()
	first := until.Add(-every * time.Duration(count))
	var runs []*flowRun
	for i := range count {
		from := first.Add(every * time.Duration(i))
		r := h.start(s, from, every/2)
		h.end(r, from.Add(every/2), every/2-time.Millisecond)
		runs = append(runs, r)
	}
	return runs
}

// begin adds flow runs that run now.
func (h *history) begin(s shape, count int) []*flowRun {
	h.step.Lock()
	defer h.step.Unlock()
	var runs []*flowRun
	for range count {
		runs = append(runs, h.start(s, h.now(), 0))
	}
	return runs
}

// finish ends flow runs that run, now.
func (h *history) finish(runs ...*flowRun) {
	h.step.Lock()
	defer h.step.Unlock()
	for _, r := range runs {
		h.end(r, h.now(), 0)
	}
}

// flowNames are the flows of a history, taken in turn. The second one's deployment has a namespace of its own.
var flowNames = []string{"Load customers", "Sum up, daily: 1/2", "Prüfung"}

const ownNamespace = "warehouse"

// start makes a flow run and its task runs RUNNING, spread over a stretch of time.
func (h *history) start(s shape, from time.Time, over time.Duration) *flowRun {
	r := &flowRun{id: prefecttest.ID(fmt.Sprintf("flow run %d of the history", h.flows)), place: h.flows, shape: s}
	h.flows++
	at := h.spread(from, over, s.tasks+1)
	namespace, row := h.place(r)
	row.ID, row.Created = r.id, at()
	h.server.AddFlowRun(row)
	r.self = judge.Run{ID: r.id.String(), Job: judge.Job{Namespace: namespace, Name: h.flowName(r)}}
	h.starts(r.id, r.self, row.Created, r.above)
	for i := range s.tasks {
		r.tasks = append(r.tasks, h.startTask(r, i, at()))
	}
	h.last = r
	return r
}

func (h *history) flowName(r *flowRun) string {
	if r.shape.plain {
		return h.prefix + flowNames[0]
	}
	return h.prefix + flowNames[r.place%len(flowNames)]
}

// place decides on a flow run's flow, deployment and parent, and makes the parent's placeholder for it.
func (h *history) place(r *flowRun) (namespace string, row prefect.FlowRun) {
	flow := h.server.AddFlow(h.flowName(r))
	row = prefect.FlowRun{FlowID: flow.ID, JobVariables: map[string]json.RawMessage{}, Tags: []string{"team:data"}}
	namespace = "default"
	if r.shape.plain {
		return namespace, row
	}
	if r.place%5 == 4 && h.last != nil && h.last.above == nil && !h.last.shape.plain {
		r.above = h.last
		r.placeholder = h.standIn(r)
		row.ParentTaskRunID = &r.placeholder
		namespace = r.above.self.Job.Namespace
	}
	if r.place%len(flowNames) == 1 {
		deployment := h.server.AddDeployment(prefect.Deployment{
			FlowID: flow.ID, Name: "nightly", JobVariables: map[string]json.RawMessage{
				"env": json.RawMessage(`{"OPENLINEAGE_NAMESPACE":"` + ownNamespace + `"}`),
			},
		})
		row.DeploymentID, namespace = &deployment.ID, ownNamespace
	}
	return namespace, row
}

// standIn makes the task run that stands for a subflow in its parent. It is no job of its own.
func (h *history) standIn(r *flowRun) uuid.UUID {
	name := h.flowName(r)
	row := h.server.AddTaskRun(prefect.TaskRun{
		ID: prefecttest.ID("stand-in of " + r.id.String()), Name: name + "-0", TaskKey: name, DynamicKey: "0", FlowRunID: &r.above.id, RunCount: 1,
		State: &prefect.State{
			Type: prefect.Running, Name: "Running", Timestamp: micro(h.now()),
			Details: prefect.StateDetails{ChildFlowRunID: &r.id},
		},
	})
	return row.ID
}

func (h *history) startTask(r *flowRun, i int, at time.Time) taskRun {
	return h.addTask(r, fmt.Sprintf("step %c", 'a'+i), at)
}

func (h *history) addTask(r *flowRun, name string, at time.Time) taskRun {
	key := uuid.NewSHA1(r.id, []byte(name)).String()
	row := h.server.AddTaskRun(prefect.TaskRun{
		ID: prefecttest.ID("task run " + key), Name: name + "-" + key[:3], TaskKey: strings.ReplaceAll(name, " ", "_") + "-0a1b2c3d", DynamicKey: key,
		FlowRunID: &r.id, Created: at, TaskInputs: map[string][]prefect.TaskInput{},
	})
	t := taskRun{id: row.ID, self: judge.Run{
		ID: row.ID.String(), Job: judge.Job{Namespace: r.self.Job.Namespace, Name: r.self.Job.Name + "." + name},
	}}
	h.starts(t.id, t.self, at, r)
	return t
}

// starts sets a run RUNNING and notes its START.
func (h *history) starts(id uuid.UUID, self judge.Run, at time.Time, above *flowRun) {
	h.server.SetState(id, prefect.State{Type: prefect.Running, Timestamp: at})
	e := judge.Event{Run: self, Type: "START", Time: at}
	if above != nil {
		e.Parent, e.Root = &above.self, above.root()
	}
	h.note(e)
}

// pauseAfterTasks ends a flow run's task runs and then pauses the flow run: no list that is read names it any more.
func (h *history) pauseAfterTasks(r *flowRun) {
	h.step.Lock()
	defer h.step.Unlock()
	at := h.spread(time.Time{}, 0, 0)
	for i, t := range r.tasks {
		h.endTask(r, i, t, at())
	}
	h.server.SetState(r.id, prefect.State{Type: prefect.Paused, Timestamp: at()})
}

// end ends a flow run's task runs and then itself, spread over a stretch of time.
func (h *history) end(r *flowRun, from time.Time, over time.Duration) {
	at := h.spread(from, over, len(r.tasks)+1)
	for i, t := range r.tasks {
		h.endTask(r, i, t, at())
	}
	state, what := flowEnd(r)
	state.Timestamp = at()
	h.server.SetState(r.id, state)
	what.Run, what.Time = r.self, state.Timestamp
	what.Parent, what.Root = r.parent()
	h.note(what)
	if r.above != nil {
		h.server.SetState(r.placeholder, prefect.State{Type: state.Type, Timestamp: state.Timestamp})
	}
}

func (h *history) endTask(r *flowRun, i int, t taskRun, at time.Time) {
	state, what := taskEnd(r, i)
	state.Timestamp = at
	if writesTable(r, i) {
		what.Inputs, what.Outputs = h.table(r, t, at)
	}
	h.server.SetState(t.id, state)
	what.Run, what.Time, what.Parent, what.Root = t.self, at, &r.self, r.root()
	h.note(what)
}

// table makes the artifacts by which a task says what it read and wrote.
func (h *history) table(r *flowRun, t taskRun, at time.Time) (inputs, outputs []judge.Dataset) {
	const uri = "duckdb:///shop"
	rows := func(tables ...string) (text string, datasets []judge.Dataset) {
		var list []map[string]any
		for _, name := range tables {
			list = append(list, map[string]any{"database_uri": uri, "table": name, "rows": nil})
			datasets = append(datasets, judge.Dataset{Namespace: uri, Name: name})
		}
		inner, _ := json.Marshal(list) // of texts alone
		outer, _ := json.Marshal(string(inner))
		return string(outer), datasets
	}
	add := func(description, data string) {
		h.server.AddArtifact(prefect.Artifact{
			Description: &description, FlowRunID: &r.id, TaskRunID: &t.id, Created: at, Data: json.RawMessage(data),
		})
	}
	text, inputs := rows("orders")
	add("what it read: ol-dataset_input", text)
	written := []string{"customers", fmt.Sprintf("day_%d", r.place)}
	if r.shape.wide {
		written = append(written, wideTables()...)
	}
	text, outputs = rows(written...)
	add("OL-DATASET_OUTPUT of the day", text)
	return inputs, outputs
}

// wideTables are the names of tables that make an event of some 20 kB, most of which can't be packed.
var wideTables = sync.OnceValue(func() []string {
	random := rand.NewChaCha8([32]byte{})
	var names []string
	for range 30 {
		name := make([]byte, 400)
		_, _ = random.Read(name) // it never fails
		names = append(names, base64.RawURLEncoding.EncodeToString(name))
	}
	return names
})

// writesTable says which task runs make tables: one in each fourth flow run.
func writesTable(r *flowRun, task int) bool {
	return !r.shape.plain && (r.shape.wide || r.place%4 == 0 && task == 3)
}

// flowEnd says how a flow run ends.
func flowEnd(r *flowRun) (prefect.State, judge.Event) {
	boom := "Flow run encountered an exception: boom"
	switch {
	case r.shape.plain:
	case r.place%20 == 7:
		return prefect.State{Type: prefect.Failed, Message: &boom}, judge.Event{Type: "FAIL", Error: boom}
	case r.place%20 == 13:
		return prefect.State{Type: prefect.Cancelled}, judge.Event{Type: "ABORT"}
	case r.place%20 == 17:
		return prefect.State{Type: prefect.Crashed, Name: "Crashed"}, judge.Event{Type: "FAIL", Error: "Crashed"}
	}
	return prefect.State{Type: prefect.Completed}, judge.Event{Type: "COMPLETE"}
}

// taskEnd says how a task run ends.
func taskEnd(r *flowRun, task int) (prefect.State, judge.Event) {
	last := task == len(r.tasks)-1
	late := "timed out"
	switch {
	case r.shape.plain:
	case r.place%20 == 7 && last:
		return prefect.State{Type: prefect.Failed, Name: "TimedOut", Message: &late}, judge.Event{Type: "FAIL", Error: late}
	case r.place%20 == 17 && last:
		return prefect.State{Type: prefect.Crashed}, judge.Event{Type: "FAIL", Error: "Crashed"}
	case r.place%10 == 3 && task == 2:
		return prefect.State{Type: prefect.Completed, Name: "Cached"}, judge.Event{Type: "COMPLETE"}
	}
	return prefect.State{Type: prefect.Completed}, judge.Event{Type: "COMPLETE"}
}

// spread returns the moments of so many things within a stretch of time, in the precision that servers keep. Over no
// time at all they are as they come.
func (h *history) spread(from time.Time, over time.Duration, count int) func() time.Time {
	i := -1
	return func() time.Time {
		i++
		if over == 0 {
			return micro(h.now())
		}
		return micro(from.Add(over * time.Duration(i) / time.Duration(count)))
	}
}

func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// The history must be what it is taken for: 200 flow runs of 10 tasks are 4,400 events.
func TestHistory(t *testing.T) {
	t.Parallel()
	h := newHistory(prefecttest.NewServer())
	h.past(shape{tasks: 10}, 200, 10*time.Second, time.Now())
	kinds, tables, children := map[string]int{}, 0, 0
	for _, e := range h.told() {
		kinds[e.Type]++
		if len(e.Outputs) > 0 {
			tables++
		}
		if e.Parent != nil && e.Root != nil && *e.Parent != *e.Root {
			children++
		}
	}
	want := map[string]int{"START": 2200, "COMPLETE": 2150, "FAIL": 40, "ABORT": 10}
	if fmt.Sprint(kinds) != fmt.Sprint(want) || tables != 50 || children == 0 {
		t.Errorf("%v, not %v; %d tables, %d events of tasks in subflows", kinds, want, tables, children)
	}
}
