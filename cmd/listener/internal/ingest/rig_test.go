package ingest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const grace = 10 * time.Minute

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ledger is a store in memory that keeps every batch. It can be told to fail.
type ledger struct {
	mu      sync.Mutex
	told    map[uuid.UUID]adapter.Told
	batches []state.Batch
	fail    error
}

func newLedger() *ledger { return &ledger{told: map[uuid.UUID]adapter.Told{}} }

func (l *ledger) Told(_ context.Context, ids []uuid.UUID) (map[uuid.UUID]adapter.Told, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[uuid.UUID]adapter.Told{}
	for _, id := range ids {
		if told, ok := l.told[id]; ok {
			found[id] = told
		}
	}
	return found, nil
}

func (l *ledger) Commit(_ context.Context, batch state.Batch) (state.Committed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return state.Committed{}, l.fail
	}
	for _, told := range batch.Told {
		l.told[told.ID] = told
	}
	l.batches = append(l.batches, batch)
	return state.Committed{Enqueued: len(batch.Events)}, nil
}

// LastGoodEdges is of the last batch that completed a run of the job: these tests tell runs in their order.
func (l *ledger) LastGoodEdges(_ context.Context, job adapter.RunRef) ([]adapter.Edge, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range slices.Backward(l.batches) {
		for _, told := range b.Told {
			if told.Run.Namespace == job.Namespace && told.Run.Name == job.Name && told.EndType == adapter.Complete && len(b.Edges[told.ID]) > 0 {
				return b.Edges[told.ID], nil
			}
		}
	}
	return nil, nil
}

// events are all that were stored, as "TYPE job", in their order.
func (l *ledger) events() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, b := range l.batches {
		lines = append(lines, names(b.Events)...)
	}
	return lines
}

func (l *ledger) last() state.Batch { return l.batches[len(l.batches)-1] }

func names(events []adapter.Event) []string {
	var lines []string
	for _, e := range events {
		lines = append(lines, fmt.Sprintf("%s %s", e.Type, e.Job.Name))
	}
	return lines
}

// rig is a recorder over a Prefect in memory.
type rig struct {
	t        *testing.T
	prefect  *prefecttest.Server
	reader   *prefect.Reader
	ledger   *ledger
	recorder *ingest.Recorder
	registry *prometheus.Registry
	stored   int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, prefect: prefecttest.New(t), ledger: newLedger()}
	r.reader = prefect.NewReader(r.prefect.Client(t), prefect.ReaderConfig{Keep: time.Nanosecond})
	r.restart()
	return r
}

// restart makes the recorder anew over the same ledger, as a new process with these rules does.
func (r *rig) restart(rules ...adapter.Rule) {
	r.t.Helper()
	policy, err := adapter.NewPolicy(rules)
	if err != nil {
		r.t.Fatal(err)
	}
	a, err := adapter.New(adapter.Settings{Producer: "https://example.com/producer", Version: "1", Grace: grace, Policy: policy})
	if err != nil {
		r.t.Fatal(err)
	}
	r.registry = prometheus.NewRegistry()
	r.recorder = ingest.NewRecorder(a, r.reader, r.ledger, zap.NewNop(), ingest.NewMetrics(r.registry), func() { r.stored++ })
}

func (r *rig) record(c prefect.Changes, mode ingest.Mode) {
	r.t.Helper()
	if c.Now.IsZero() {
		c.Now = noon.Add(time.Hour)
	}
	if _, err := r.recorder.Record(r.t.Context(), c, mode); err != nil {
		r.t.Fatal(err)
	}
}

var live = ingest.Mode{Live: true}

func at(seconds int) *time.Time {
	t := noon.Add(time.Duration(seconds) * time.Second)
	return &t
}

func running(start int) *prefect.State {
	return &prefect.State{Type: prefect.Running, Name: "Running", Timestamp: *at(start)}
}

func completed(end int) *prefect.State {
	return &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: *at(end)}
}

// flowRun adds a flow run that runs since a second, or ended at another.
func (r *rig) flowRun(flow string, start, end int) prefect.FlowRun {
	run := prefect.FlowRun{FlowID: r.prefect.AddFlow(flow).ID, RunCount: 1, StartTime: at(start), State: running(start)}
	if end > 0 {
		run.EndTime, run.State = at(end), completed(end)
	}
	return r.prefect.AddFlowRun(run)
}

func (r *rig) subflowRun(parent prefect.FlowRun, flow string, start, end int) prefect.FlowRun {
	child := prefecttest.ID(flow + " run")
	placeholder := r.prefect.AddTaskRun(prefect.TaskRun{
		Name: flow + "-0", DynamicKey: "0", FlowRunID: &parent.ID, RunCount: 1, StartTime: at(start),
		State: &prefect.State{Type: prefect.Running, Name: "Running", Timestamp: *at(start),
			Details: prefect.StateDetails{ChildFlowRunID: &child}},
	})
	run := prefect.FlowRun{
		ID: child, FlowID: r.prefect.AddFlow(flow).ID, ParentTaskRunID: &placeholder.ID, RunCount: 1,
		StartTime: at(start), State: running(start),
	}
	if end > 0 {
		run.EndTime, run.State = at(end), completed(end)
	}
	return r.prefect.AddFlowRun(run)
}

func (r *rig) taskRun(flowRun *uuid.UUID, name string, start, end int, upstream ...uuid.UUID) prefect.TaskRun {
	key := prefecttest.ID(name + fmt.Sprint(start)).String()
	run := prefect.TaskRun{
		Name: name + "-" + key[:3], TaskKey: name + "-0a1b2c3d", DynamicKey: key, FlowRunID: flowRun,
		RunCount: 1, StartTime: at(start), State: running(start), TaskInputs: map[string][]prefect.TaskInput{},
	}
	for _, id := range upstream {
		run.TaskInputs["x"] = append(run.TaskInputs["x"], prefect.TaskInput{Type: "task_run", ID: &id})
	}
	if end > 0 {
		run.EndTime, run.State = at(end), completed(end)
	}
	return r.prefect.AddTaskRun(run)
}

func toldIDs(b state.Batch) []uuid.UUID {
	ids := map[uuid.UUID]bool{}
	for _, told := range b.Told {
		ids[told.ID] = true
	}
	return slices.Collect(maps.Keys(ids))
}
