package ingest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/state"
)

// hintRig is all of the reading side over a Prefect in memory: the websocket, the follower and the loop.
type hintRig struct {
	t        *testing.T
	prefect  *prefecttest.Server
	store    *timedLedger
	log      *zap.Logger
	logs     *observer.ObservedLogs
	registry *prometheus.Registry
	hints    *ingest.Hints
	flow     prefect.Flow
	stop     func() // and wait until all has ended
}

// timedLedger notes when each event was stored, and the cursor.
type timedLedger struct {
	positions
	at map[string]time.Time // by run and type
}

func (l *timedLedger) Commit(ctx context.Context, batch state.Batch) (state.Committed, error) {
	committed, err := l.ledger.Commit(ctx, batch)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range batch.Events {
		key := fmt.Sprint(e.Run, e.Type)
		if _, again := l.at[key]; !again && err == nil {
			l.at[key] = time.Now()
		}
	}
	if cursor := batch.Cursors[ingest.CursorName]; cursor != nil && err == nil {
		l.cursor = cursor
	}
	return committed, err
}

// startHints runs the reading side until the test ends, and returns once events are relied on.
func startHints(t *testing.T, interval time.Duration) *hintRig {
	t.Helper()
	return startReading(t, interval, true)
}

// startReading runs the reading side, with or without the websocket.
func startReading(t *testing.T, interval time.Duration, socket bool) *hintRig {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	r := &hintRig{
		t: t, prefect: prefecttest.New(t, prefecttest.Socket()), log: zap.New(core), logs: logs,
		store: &timedLedger{positions: positions{ledger: newLedger()}, at: map[string]time.Time{}},
	}
	r.flow = r.prefect.AddFlow("Load")
	r.start(interval, socket)
	t.Cleanup(func() { r.stop() })
	return r
}

// start runs the reading side as a process of its own would, on what is stored.
func (r *hintRig) start(interval time.Duration, socket bool) {
	r.t.Helper()
	a, err := adapter.New(adapter.Settings{Producer: "https://example.com/producer", Version: "1", Grace: grace})
	if err != nil {
		r.t.Fatal(err)
	}
	client := r.prefect.Client(r.t)
	r.registry = prometheus.NewRegistry()
	metrics, log := ingest.NewMetrics(r.registry), r.log
	recorder := ingest.NewRecorder(a, prefect.NewReader(client, prefect.ReaderConfig{}), r.store, log, metrics, nil)
	poller := prefect.NewPoller(client, prefect.PollerConfig{})
	hints := ingest.NewHints(ingest.LookEvery, log, ingest.NewHintMetrics(r.registry))
	r.hints = hints
	loop := &ingest.Loop{
		Poller: poller, Recorder: recorder, Store: r.store, Space: &room{}, Report: &report{}, Metrics: metrics, Log: log,
		Hints: hints, Interval: interval, Grace: grace,
	}
	if !socket {
		loop.Hints = nil
	}
	follower := ingest.NewFollower(hints, poller, recorder, log)
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	if socket {
		running.Go(func() { client.Hints(hints, log).Run(ctx) })
		running.Go(func() { _ = follower.Run(ctx) })
	}
	running.Go(func() { _ = loop.Run(ctx) })
	r.stop = func() {
		cancel()
		running.Wait()
	}
	time.Sleep(interval + 2*time.Second)
	synctest.Wait()
}

// run adds a flow run that begins to run now.
func (r *hintRig) run() uuid.UUID {
	run := r.prefect.AddFlowRun(prefect.FlowRun{FlowID: r.flow.ID})
	r.prefect.SetState(run.ID, prefect.State{Type: prefect.Running})
	return run.ID
}

// task adds a task run that begins to run now.
func (r *hintRig) task(flowRun uuid.UUID, name string) uuid.UUID {
	key := prefecttest.ID(name).String()
	task := r.prefect.AddTaskRun(prefect.TaskRun{
		Name: name + "-" + key[:3], TaskKey: name + "-0a1b2c3d", DynamicKey: key, FlowRunID: &flowRun,
	})
	r.prefect.SetState(task.ID, prefect.State{Type: prefect.Running})
	return task.ID
}

func (r *hintRig) complete(ids ...uuid.UUID) {
	for _, id := range ids {
		r.prefect.SetState(id, prefect.State{Type: prefect.Completed})
	}
}

// delay is how long after a moment an event of a run was stored; an hour: not yet.
func (r *hintRig) delay(id uuid.UUID, what adapter.EventType, since time.Time) time.Duration {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	at, ok := r.store.at[fmt.Sprint(id, what)]
	if !ok {
		return time.Hour
	}
	return at.Sub(since)
}

// announce has an event tell of a task that starts, of which the server shows no row yet.
func (r *hintRig) announce(run uuid.UUID, i int) prefect.TaskRun {
	at := time.Now()
	task := prefect.TaskRun{
		ID: prefecttest.ID(fmt.Sprint("late ", i)), Name: "late-612", TaskKey: "late-0a1b2c3d", DynamicKey: fmt.Sprint("612-", i), FlowRunID: &run,
		State: &prefect.State{Type: prefect.Running, Name: "Running", Timestamp: at}, StartTime: &at, RunCount: 1,
	}
	r.prefect.Announce(task.ID, true, *task.State)
	return task
}

// within fails unless an event was stored so soon after a moment.
func (r *hintRig) within(limit time.Duration, id uuid.UUID, what adapter.EventType, since time.Time) {
	r.t.Helper()
	if d := r.delay(id, what, since); d > limit {
		r.t.Errorf("%s after %s, more than %s", what, d, limit)
	}
}

// polls counts the polls so far.
func (r *hintRig) polls() int {
	n := 0
	for _, request := range r.prefect.Requests() {
		if request.Path == "/flow_runs/filter" && containsText(request.Body, `"RUNNING"`) {
			n++
		}
	}
	return n
}
