package ingest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/state"
)

// assetRig is a rig whose server's clock is turned by hand, since events can be read some time after they occurred.
type assetRig struct {
	*rig
	now time.Time
}

func newAssetRig(t *testing.T, options ...prefecttest.Option) *assetRig {
	t.Helper()
	r := &assetRig{now: noon}
	options = append(options, prefecttest.Clock(func() time.Time { return r.now }))
	r.rig = &rig{t: t, prefect: prefecttest.New(t, options...), ledger: newLedger()}
	r.reader = prefect.NewReader(r.prefect.Client(t), prefect.ReaderConfig{})
	r.with(func(*adapter.Settings) {})
	return r
}

// end records at a moment a task run that ended a second ago.
func (r *assetRig) end(flow prefect.FlowRun, name string, second int) prefect.TaskRun {
	r.t.Helper()
	task := r.taskRun(&flow.ID, name, second-2, second-1)
	r.see(second, tasks(task))
	return task
}

// see records rows at a moment of the server's.
func (r *assetRig) see(second int, c prefect.Changes) {
	r.t.Helper()
	r.now = *at(second)
	c.Now = r.now
	r.record(c, live)
}

// wait records every few seconds, from one moment until before another, that nothing changed.
func (r *assetRig) wait(from, until, every int) {
	r.t.Helper()
	for second := from; second < until; second += every {
		r.see(second, tasks())
	}
}

// made adds the event of an asset that a task run made, readable so many seconds after its end.
func (r *assetRig) made(task prefect.TaskRun, key string, lag int, upstream ...string) {
	r.now = *task.EndTime
	r.prefect.AddAssetEvent(prefect.AssetEvent{
		Name: "prefect.asset.materialization.succeeded", Occurred: task.EndTime.Add(time.Millisecond),
		Asset: prefect.Asset{Key: key}, Upstream: upstream, TaskRunID: task.ID, FlowRunID: *task.FlowRunID,
	}, time.Duration(lag)*time.Second)
}

// all are the events that were stored, in their order.
func (l *ledger) all() []adapter.Event {
	var events []adapter.Event
	for _, b := range l.batches {
		events = append(events, b.Events...)
	}
	return events
}

// mentions says whether a run's events were stored with a text.
func (l *ledger) mentions(run uuid.UUID, text string) bool {
	return slices.ContainsFunc(l.all(), func(e adapter.Event) bool { return e.Run == run && containsText(e.Body, text) })
}

func tasks(rows ...prefect.TaskRun) prefect.Changes { return prefect.Changes{TaskRuns: rows} }

// TestAssetsNobodyExpected tells the end of a job's first run at once, and once more when its assets can be read. From
// then on the job's ends wait for them, over a restart too.
func TestAssetsNobodyExpected(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	flow := r.flowRun("Flow", 0, 0)
	first := r.taskRun(&flow.ID, "make", 1, 2)
	r.made(first, "s3://lake/clean", 5, "s3://lake/raw")
	r.see(3, tasks(first))
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make")
	r.see(8, tasks(first))
	wantEnds(t, r.ledger.last())
	r.see(40, tasks(first))
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make <raw >clean")
	if again := r.ledger.last().Events[0]; !again.Time.Equal(at(2).Add(time.Microsecond)) || again.First {
		t.Errorf("the end that was told again: %+v", again.Key())
	}
	r.see(100, tasks(first))
	wantEnds(t, r.ledger.last())

	for i, restart := range []bool{false, true} {
		if restart {
			r.with(func(*adapter.Settings) {})
		}
		from := 200 + 100*i
		next := r.taskRun(&flow.ID, "make", from, from+1)
		r.made(next, "s3://lake/clean", 5, "s3://lake/raw")
		r.see(from+2, tasks(next))
		wantEnds(t, r.ledger.last())
		r.prefect.ForgetRequests()
		r.see(from+4, tasks(next))
		if n := r.prefect.Count(""); n > 0 {
			t.Errorf("%d requests for a run that waits", n)
		}
		r.see(from+8, tasks(next))
		wantEnds(t, r.ledger.last(), "COMPLETE Flow.make <raw >clean")
		r.see(from+90, tasks(next))
		wantEnds(t, r.ledger.last())
	}
}

// TestAssetsLaterThanTheyAreWaitedFor tells an end again whose assets came in two batches.
func TestAssetsLaterThanTheyAreWaitedFor(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	flow := r.flowRun("Flow", 0, 0)
	first := r.taskRun(&flow.ID, "make", 1, 2)
	r.made(first, "s3://lake/a", 0)
	r.see(60, tasks(first))
	second := r.taskRun(&flow.ID, "make", 61, 62)
	r.made(second, "s3://lake/a", 5)
	r.made(second, "s3://lake/b", 20)
	r.see(70, tasks(second))
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make >a")
	other := r.taskRun(&flow.ID, "other", 110, 111)
	r.see(112, tasks(other))
	r.see(130, tasks())
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make >a >b")
	r.see(200, tasks(other))
	wantEnds(t, r.ledger.last())
}

// TestAssetsOfABusyServer finds events that are written down long after the first look for them.
func TestAssetsOfABusyServer(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	flow := r.flowRun("Flow", 0, 0)
	task := r.taskRun(&flow.ID, "make", 1, 2)
	r.made(task, "s3://lake/clean", 70)
	for second := 3; second < 140; second += 5 {
		r.see(second, tasks(task))
	}
	if got := ends(t, state.Batch{Events: r.ledger.all()}); !slices.Equal(got, []string{"COMPLETE Flow.make", "COMPLETE Flow.make >clean"}) {
		t.Errorf("ends: %v", got)
	}
}

// TestAssetsInHistory reads them with the runs, and the end is told once.
func TestAssetsInHistory(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	flow := r.flowRun("Flow", 0, 10)
	task := r.taskRun(&flow.ID, "make", 1, 2)
	r.made(task, "s3://lake/clean", 5, "s3://lake/raw")
	r.now = *at(3600)
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, TaskRuns: []prefect.TaskRun{task}, Now: r.now}, ingest.Mode{})
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make <raw >clean", "COMPLETE Flow")
}

// TestAssetsInRollup has a flow's end carry the assets of its tasks.
func TestAssetsInRollup(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	r.with(rollup)
	flow := r.flowRun("Flow", 0, 10)
	task := r.taskRun(&flow.ID, "make", 1, 2)
	r.made(task, "s3://lake/clean", 5, "s3://lake/raw")
	r.see(11, prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, TaskRuns: []prefect.TaskRun{task}})
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make")
	r.see(60, prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, TaskRuns: []prefect.TaskRun{task}})
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make <raw >clean", "COMPLETE Flow <raw >clean")
}

// TestNobodyUsesAssets costs next to nothing: a question now and then, while runs end.
func TestNobodyUsesAssets(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	flow := r.flowRun("Flow", 0, 0)
	for i := range 100 {
		task := r.taskRun(&flow.ID, "work", 2*i, 2*i+1)
		r.see(2*i+1, tasks(task))
	}
	if n := r.prefect.Count("/events/filter"); n > 8 {
		t.Errorf("%d questions about assets in 200 s", n)
	}
}

// TestServerWithoutEvents tells everything, asks seldom and never fails.
func TestServerWithoutEvents(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*assetRig){
		"none": func(*assetRig) {},
		"in trouble": func(r *assetRig) {
			r.prefect.FaultAlways(prefecttest.Path("/events"), prefecttest.Status(http.StatusNotImplemented))
		},
		"login page": func(r *assetRig) { r.prefect.FaultAlways(prefecttest.Path("/events"), prefecttest.LoginPage()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var options []prefecttest.Option
			if name == "none" {
				options = append(options, prefecttest.NoEvents())
			}
			r := newAssetRig(t, options...)
			spoil(r)
			flow := r.flowRun("Flow", 0, 0)
			for i := range 20 {
				task := r.taskRun(&flow.ID, "work", 2*i, 2*i+1)
				r.see(2*i+1, tasks(task))
			}
			if got := strings.Count(strings.Join(r.ledger.events(), "\n"), "COMPLETE"); got != 20 {
				t.Errorf("%d ends of 20", got)
			}
		})
	}
}
