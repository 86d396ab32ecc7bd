package prefect_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// readHistory returns what a read gives, and the names of the runs in the order in which they came.
func (w *world) readHistory(t *testing.T, q prefect.HistoryQuery) (*sight, []string) {
	t.Helper()
	s := newSight()
	var names []string
	err := prefect.NewHistory(w.client, prefect.HistoryConfig{}).Read(t.Context(), q, func(_ context.Context, c prefect.Changes) error {
		s.take(c)
		for _, run := range c.FlowRuns {
			names = append(names, run.Name)
		}
		for _, run := range c.TaskRuns {
			names = append(names, run.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("reading history: %v", err)
	}
	for id, times := range s.times {
		if times > 1 {
			t.Errorf("%s was given %d times", id, times)
		}
	}
	return s, names
}

// past adds runs by when they start and end, in minutes after noon.
type past struct {
	*world
	ids map[string]uuid.UUID
}

const never = -1 << 30

func (p *past) times(start, end int) (state *prefect.State, startTime, endTime *time.Time) {
	state = &prefect.State{Type: prefect.Running, Name: "Running", Timestamp: noon}
	at := func(minutes int) *time.Time {
		if minutes == never {
			return nil
		}
		t := noon.Add(time.Duration(minutes) * time.Minute)
		return &t
	}
	if end != never {
		state = &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: *at(end)}
	}
	return state, at(start), at(end)
}

func (p *past) flowRun(name string, flow prefect.Flow, start, end int) {
	run := prefect.FlowRun{Name: name, FlowID: flow.ID, Created: noon.Add(-time.Hour)}
	run.State, run.StartTime, run.EndTime = p.times(start, end)
	p.ids[name] = p.AddFlowRun(run).ID
}

func (p *past) taskRun(name, of string, start, end int) {
	run := prefect.TaskRun{Name: name, Created: noon.Add(-time.Hour)}
	if of != "" {
		id := p.ids[of]
		run.FlowRunID = &id
	}
	run.State, run.StartTime, run.EndTime = p.times(start, end)
	p.ids[name] = p.AddTaskRun(run).ID
}

// newPast is a world in which something lies on every side of the stretch from 0 to 60 minutes after noon.
func newPast(t *testing.T, options ...prefecttest.Option) *past {
	t.Helper()
	p := &past{world: newWorld(t, options...), ids: make(map[string]uuid.UUID)}
	p.pass(2 * time.Hour)
	other := p.AddFlow("Other")

	p.flowRun("inside", p.flow, 10, 20)
	p.taskRun("inside.a", "inside", 11, 12)
	p.taskRun("inside.b", "inside", 12, 19)
	p.flowRun("first moment", p.flow, 0, 1)
	p.flowRun("last moment", other, 60, 70)
	p.flowRun("ends at first", p.flow, -30, 0)
	p.flowRun("ends at last", p.flow, -10, 60)
	p.flowRun("before", p.flow, -40, -1)
	p.flowRun("after", p.flow, 61, 65)
	p.flowRun("comes in", other, -20, 30)
	p.taskRun("comes in.early", "comes in", -19, -10)
	p.taskRun("comes in.across", "comes in", -9, 5)
	p.flowRun("goes out", p.flow, 50, 90)
	p.taskRun("goes out.across", "goes out", 55, 70)
	p.taskRun("goes out.late", "goes out", 75, 80)
	p.flowRun("open", p.flow, 40, never)
	p.taskRun("open.running", "open", 41, never)
	p.taskRun("open.later", "open", 100, never)
	p.flowRun("open before", p.flow, -50, never)
	p.taskRun("open before.in", "open before", 30, 31)
	p.taskRun("open before.across", "open before", -40, 2)
	p.taskRun("open before.out", "open before", -40, -30)
	p.flowRun("spans", other, -5, 100)
	p.taskRun("spans.in", "spans", 20, 25)
	p.taskRun("before.outlives", "before", -2, 15)
	p.flowRun("never ran", p.flow, never, 33)
	p.flowRun("waits", p.flow, never, never)
	p.flowRun("just now", p.flow, 120, never)
	p.taskRun("alone", "", 15, 16)
	p.taskRun("alone.across", "", -15, 3)
	p.taskRun("alone.never ran", "", never, 44)
	p.taskRun("alone.open", "", 59, never)
	p.taskRun("alone.before", "", -15, -3)
	return p
}

var all = []string{
	"inside", "inside.a", "inside.b", "first moment", "ends at first", "comes in", "comes in.across", "goes out",
	"goes out.across", "open", "open.running", "open before.in", "open before.across", "spans.in", "before.outlives",
	"never ran", "alone", "alone.across", "alone.never ran", "alone.open",
}

func TestHistoryGivesWhatStartedOrEnded(t *testing.T) {
	t.Parallel()
	hour := prefect.HistoryQuery{Since: noon, Until: noon.Add(time.Hour)}
	ofOther := hour
	ofOther.Flow = "Other"
	open := prefect.HistoryQuery{Since: noon.Add(58 * time.Minute)}
	nobody := hour
	nobody.Flow = "Nobody"
	for _, version := range versions {
		for name, test := range map[string]struct {
			query prefect.HistoryQuery
			want  []string
		}{
			"a stretch":        {hour, all},
			"a flow":           {ofOther, []string{"comes in", "comes in.across", "spans.in"}},
			"up to now":        {open, []string{"last moment", "ends at last", "after", "goes out", "goes out.across", "goes out.late", "open.later", "spans", "alone.open", "just now"}},
			"an unknown flow":  {nobody, nil},
			"an empty stretch": {prefect.HistoryQuery{Since: noon.Add(-10 * time.Hour), Until: noon.Add(-9 * time.Hour)}, nil},
		} {
			t.Run(version+", "+name, func(t *testing.T) {
				t.Parallel()
				p := newPast(t, prefecttest.Version(version))
				_, got := p.readHistory(t, test.query)
				if diff := cmp.Diff(sortedNames(test.want), sortedNames(got)); diff != "" {
					t.Errorf("runs (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func sortedNames(names []string) []string { return slices.Sorted(slices.Values(names)) }

func TestHistoryOrder(t *testing.T) {
	t.Parallel()
	want := []string{
		"ends at first", "comes in", "comes in.across", // under way when the stretch began
		"never ran",
		"first moment", "inside", "inside.a", "inside.b", "open", "open.running", "goes out", "goes out.across",
		"alone.across", "alone.never ran", "alone", "alone.open",
		"spans.in", "open before.across", "open before.in", "before.outlives",
	}
	hour := prefect.HistoryQuery{Since: noon, Until: noon.Add(time.Hour)}
	p := newPast(t)
	s, got := p.readHistory(t, hour)
	// Within a portion the flow runs stand before all task runs.
	if len(s.portions) != 1 {
		t.Fatalf("%d portions", len(s.portions))
	}
	flows := len(s.portions[0].FlowRuns)
	isFlow := func(name string) bool { return slices.Contains(got[:flows], name) }
	var wantFlows, wantTasks []string
	for _, name := range want {
		if isFlow(name) {
			wantFlows = append(wantFlows, name)
		} else {
			wantTasks = append(wantTasks, name)
		}
	}
	if diff := cmp.Diff(append(wantFlows, wantTasks...), got); diff != "" {
		// Task runs that come with no flow run of the stretch are ordered among their own kind only.
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for range 3 {
		if _, again := p.readHistory(t, hour); !slices.Equal(got, again) {
			t.Errorf("another read gave another order:\n%v\n%v", got, again)
		}
	}
}

func TestHistoryOfRuns(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	missing := prefecttest.ID("missing")
	ids := func(names ...string) []uuid.UUID {
		var found []uuid.UUID
		for _, name := range names {
			found = append(found, p.ids[name])
		}
		return found
	}
	hour := prefect.HistoryQuery{Since: noon, Until: noon.Add(time.Hour)}
	for name, test := range map[string]struct {
		query prefect.HistoryQuery
		want  []string
		gone  bool
	}{
		"with their task runs":             {prefect.HistoryQuery{Runs: ids("comes in", "open before")}, []string{"comes in", "comes in.across", "comes in.early", "open before", "open before.across", "open before.in", "open before.out"}, false},
		"a task run":                       {prefect.HistoryQuery{Runs: ids("alone")}, []string{"alone"}, false},
		"a task run and its flow run":      {prefect.HistoryQuery{Runs: ids("inside.a", "inside")}, []string{"inside", "inside.a", "inside.b"}, false},
		"a task run without its flow":      {prefect.HistoryQuery{Runs: ids("inside.a")}, []string{"inside.a"}, false},
		"one that is missing":              {prefect.HistoryQuery{Runs: append(ids("alone"), missing)}, []string{"alone"}, true},
		"in a stretch":                     {prefect.HistoryQuery{Since: hour.Since, Until: hour.Until, Runs: ids("comes in", "before", "alone.before")}, []string{"comes in", "comes in.across"}, false},
		"one that has neither time":        {prefect.HistoryQuery{Runs: ids("waits")}, []string{"waits"}, false},
		"one that has neither, in an hour": {prefect.HistoryQuery{Since: hour.Since, Runs: ids("waits")}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, got := p.readHistory(t, test.query)
			if diff := cmp.Diff(test.want, sortedNames(got)); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
			if s.gone[missing] != test.gone || len(s.gone) > 1 {
				t.Errorf("gone: %v", s.gone)
			}
		})
	}
}

func TestHistoryOfMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// More than are held at once to be put in order: where the time can be cut, and where it can't.
	runs := w.AddHistory(prefecttest.History{Flows: 5, FlowRuns: 1000, From: noon, Every: 3 * time.Second, Lasts: time.Minute})
	w.AddHistory(prefecttest.History{Flows: 1, FlowRuns: 700, From: noon.Add(5 * time.Hour), Every: 10 * time.Microsecond, Lasts: time.Second})
	w.pass(9 * time.Hour)
	var told []prefect.HistoryProgress
	h := prefect.NewHistory(w.client, prefect.HistoryConfig{Progress: func(so prefect.HistoryProgress) { told = append(told, so) }})
	var order []uuid.UUID
	err := h.Read(t.Context(), prefect.HistoryQuery{Since: noon}, func(_ context.Context, c prefect.Changes) error {
		for _, run := range c.FlowRuns {
			order = append(order, run.ID)
		}
		if n := len(c.FlowRuns); n > 5*prefect.MaxPage {
			t.Errorf("a portion of %d rows", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(order) != 1700 {
		t.Fatalf("%d flow runs came, want 1700", len(order))
	}
	if !slices.Equal(order[:1000], runs) {
		t.Error("flow runs came in another order than they started")
	}
	want := prefect.HistoryProgress{FlowRuns: 1700, UpTo: noon.Add(5*time.Hour + 699*10*time.Microsecond)}
	if last := told[len(told)-1]; last != want || len(told) < 3 {
		t.Errorf("progress was told %d times, at last as %+v, want %+v", len(told), last, want)
	}
}

// However many portions there are, each run comes once, and no task run before its flow run.
func TestHistoryGivesEachRunOnce(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, prefecttest.Version(version))
			runs := w.AddHistory(prefecttest.History{FlowRuns: 25, Tasks: 30, From: noon, Every: time.Minute, Lasts: time.Minute})
			w.pass(9 * time.Hour)
			stretch, _ := w.readHistory(t, prefect.HistoryQuery{Since: noon})
			seen := make(map[uuid.UUID]bool)
			var ids []uuid.UUID
			for _, portion := range stretch.portions {
				for _, run := range portion.FlowRuns {
					seen[run.ID] = true
				}
				for _, run := range portion.TaskRuns {
					if !seen[*run.FlowRunID] {
						t.Fatalf("%s came before its flow run", run.ID)
					}
					ids = append(ids, run.ID)
				}
			}
			named, _ := w.readHistory(t, prefect.HistoryQuery{Runs: append(ids, runs...)})
			if len(stretch.times) != 25*31 || len(named.times) != 25*31 {
				t.Errorf("%d runs came of the stretch, %d by name, want %d", len(stretch.times), len(named.times), 25*31)
			}
		})
	}
}

func TestHistoryErrors(t *testing.T) {
	t.Parallel()
	full := errors.New("the store is full")
	for stop := range 3 {
		t.Run(fmt.Sprint("the taker refuses portion ", stop), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.AddHistory(prefecttest.History{FlowRuns: 300, Tasks: 5, From: noon, Every: time.Second, Lasts: time.Second})
			w.pass(time.Hour)
			taken := 0
			err := prefect.NewHistory(w.client, prefect.HistoryConfig{}).Read(t.Context(), prefect.HistoryQuery{Since: noon}, func(context.Context, prefect.Changes) error {
				if taken == stop {
					return full
				}
				taken++
				return nil
			})
			if err != full { //nolint:errorlint // it must come back as it was
				t.Errorf("got %v", err)
			}
		})
	}
	for _, path := range []string{"/flow_runs", "/task_runs", "/admin"} {
		t.Run("no answer at "+path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPast(t)
				p.FaultAlways(prefecttest.Path(path), prefecttest.Status(http.StatusServiceUnavailable))
				for _, q := range []prefect.HistoryQuery{{Since: noon}, {Runs: []uuid.UUID{p.ids["alone"]}}} {
					s := newSight()
					err := prefect.NewHistory(p.client, prefect.HistoryConfig{}).Read(t.Context(), q, func(_ context.Context, c prefect.Changes) error {
						s.take(c)
						return nil
					})
					if !errors.Is(err, prefect.ErrUnavailable) || len(s.gone) > 0 {
						t.Errorf("got %v, and gone %v", err, s.gone)
					}
				}
			})
		})
	}
}

// A server that is too slow for wide queries is asked narrower ones, and nothing comes twice or is missing.
func TestHistoryNarrowsWhatIsTooWide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPast(t)
		p.FaultAlways(func(r prefecttest.Request) bool { return p.width(r) > 20*time.Minute }, prefecttest.Status(http.StatusInternalServerError))
		_, got := p.readHistory(t, prefect.HistoryQuery{Since: noon, Until: noon.Add(time.Hour)})
		if diff := cmp.Diff(sortedNames(all), sortedNames(got)); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
	})
}

func TestHistoryPassesBadRowsOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pass(time.Hour)
	run := w.flowRun(noon)
	w.AddRaw("flow_runs", `{"id":"0b0b0b0b-0000-4000-8000-000000000001","start_time":"2026-11-30T12:00:00Z","tags":7}`)
	w.AddRaw("task_runs", `{"id":"0b0b0b0b-0000-4000-8000-000000000002","flow_run_id":"`+run.String()+`","tags":7}`)
	s, _ := w.readHistory(t, prefect.HistoryQuery{Since: noon})
	if len(s.bad) != 2 || s.times[run] != 1 {
		t.Errorf("bad rows %v, and %d good ones", s.bad, len(s.times))
	}
}
