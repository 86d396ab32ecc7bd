package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

var today = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// rig runs command lines in this process, with what they call replaced.
type rig struct {
	process        process
	stdout, stderr strings.Builder
	store          *fakeStore
	api            *fakeAPI
	input          config.Input

	options app.Options         // that an action got
	request app.BackfillRequest // likewise
	show    app.Show            // likewise
	result  app.BackfillResult
	report  app.StatusReport

	adoption app.Adoption
	err      error // that an action returns
}

func newRig() *rig {
	r := &rig{store: &fakeStore{size: state.Size{DiskFree: 5 << 30}}, api: &fakeAPI{version: "3.9.1", served: today}}
	r.input = config.Input{
		Dir: "/srv", Home: "/home/ann", Files: fstest.MapFS{}, Version: "1.2.3",
		Profile: func(string, string) (map[string]string, error) { return nil, nil },
	}
	r.input.Variables.OpenLineageURL = "http://marquez:5000"
	r.process = process{
		stdout: &r.stdout, stderr: &r.stderr, built: build{Version: "1.2.3", Commit: "c0ffee", Date: "2026-11-30T10:00:00Z"},
		input:  func() (config.Input, error) { return r.input, nil },
		getenv: func(string) string { return "" },
		now:    func() time.Time { return today },
		do: actions{
			run: func(_ context.Context, o app.Options) error { r.options = o; return r.err },
			backfill: func(_ context.Context, o app.Options, q app.BackfillRequest) (app.BackfillResult, error) {
				r.options, r.request = o, q
				return r.result, r.err
			},
			preview: func(_ context.Context, o app.Options, q app.BackfillRequest, show app.Show) (app.BackfillResult, error) {
				r.options, r.request, r.show = o, q, show
				return r.result, r.err
			},
			status: func(_ context.Context, o app.Options) (app.StatusReport, error) {
				r.options = o
				return r.report, r.err
			},
			adopt: func(_ context.Context, o app.Options) (app.Adoption, error) {
				r.options = o
				return r.adoption, r.err
			},
			store: func(_ context.Context, path string) (store, error) {
				r.store.path = path
				if r.store.missing != nil {
					return nil, r.store.missing
				}
				r.store.opened++
				return r.store, nil
			},
			prefect: func(config.Prefect, build, *zap.Logger) (prefectAPI, error) { return r.api, nil },
		},
	}
	return r
}

// do carries out a command line and returns the exit code.
func (r *rig) do(args ...string) int { return r.doIn(context.Background(), args...) }

func (r *rig) doIn(ctx context.Context, args ...string) int {
	r.stdout.Reset()
	r.stderr.Reset()
	r.process.args = args
	return execute(ctx, &r.process)
}

// want carries out a command line that has to end with a code, and shows what it said where it does not.
func (r *rig) want(t *testing.T, code int, args ...string) {
	t.Helper()
	if got := r.do(args...); got != code {
		t.Fatalf("listener %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, r.stdout.String(), r.stderr.String())
	}
}

// fakeAPI answers as a Prefect would.
type fakeAPI struct {
	version    string
	err        error
	served     time.Time
	flows      int // running
	tasks      int
	recent     int  // flow runs started lately
	taskless   bool // and no task runs did
	askedSince time.Time
	closed     bool
	hints      error // why events can't be heard
}

func (f *fakeAPI) TryHints(context.Context) error { return f.hints }

func (f *fakeAPI) Version(context.Context) (string, error) { return f.version, f.err }

func (f *fakeAPI) FlowRuns(_ context.Context, q prefect.Filter) (prefect.Page[prefect.FlowRun], error) {
	n := f.flows
	if q.FlowRuns.StartTime != nil {
		n, f.askedSince = f.recent, *q.FlowRuns.StartTime.After
	}
	return prefect.Page[prefect.FlowRun]{Rows: make([]prefect.FlowRun, min(n, q.Limit)), Served: f.served}, nil
}

func (f *fakeAPI) TaskRuns(_ context.Context, q prefect.Filter) (prefect.Page[prefect.TaskRun], error) {
	n := f.tasks
	if q.TaskRuns.StartTime != nil {
		n = 1
		if f.taskless {
			n = 0
		}
	}
	return prefect.Page[prefect.TaskRun]{Rows: make([]prefect.TaskRun, min(n, q.Limit)), Served: f.served}, nil
}

func (f *fakeAPI) Close() { f.closed = true }

// fakeStore is a store in memory.
type fakeStore struct {
	path         string
	missing      error // that opening returns
	opened       int
	closed       int
	destinations []state.DestinationStatus
	size         state.Size
	letters      []state.DeadLetter
	filters      []state.DeadFilter
	replayed     []int64
	dropped      []int64
}

var errUnknown = fmt.Errorf("of that name: %w", state.ErrUnknown)

func (f *fakeStore) Status(context.Context) ([]state.DestinationStatus, error) {
	return f.destinations, nil
}

func (f *fakeStore) Size(context.Context) (state.Size, error) { return f.size, nil }

func (f *fakeStore) Park(_ context.Context, name string) error {
	_, err := f.find(name)
	return err
}

func (f *fakeStore) Resume(_ context.Context, name string) (time.Time, error) {
	d, err := f.find(name)
	return d.ParkedSince, err
}

func (f *fakeStore) find(name string) (state.DestinationStatus, error) {
	for _, d := range f.destinations {
		if d.Name == name {
			return d, nil
		}
	}
	return state.DestinationStatus{}, errUnknown
}

// DeadLetters gives pages of two, whatever is asked for, as the next page must be asked for in any case.
func (f *fakeStore) DeadLetters(_ context.Context, filter state.DeadFilter) ([]state.DeadLetter, error) {
	f.filters = append(f.filters, filter)
	var page []state.DeadLetter
	for _, l := range f.letters {
		chosen := len(filter.IDs) == 0 || slices.Contains(filter.IDs, l.ID)
		if chosen && l.ID > filter.After && (filter.Destination == "" || filter.Destination == l.Destination) && len(page) < 2 {
			page = append(page, l)
		}
	}
	return page, nil
}

func (f *fakeStore) DeadLetter(_ context.Context, id int64) (state.DeadLetter, error) {
	for _, l := range f.letters {
		if l.ID == id {
			return l, nil
		}
	}
	return state.DeadLetter{}, errUnknown
}

func (f *fakeStore) Replay(_ context.Context, ids []int64) (int, error) {
	f.replayed = ids
	return 2 * len(ids), nil
}

func (f *fakeStore) Drop(_ context.Context, ids []int64) (int, error) {
	f.dropped = ids
	return len(ids), nil
}

func (f *fakeStore) Close() error { f.closed++; return nil }

var errNoStore = fmt.Errorf("%w at listener.db", state.ErrNone)
