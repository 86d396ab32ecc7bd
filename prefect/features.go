package prefect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// RunLister lists runs; *Client is one.
type RunLister interface {
	FlowRuns(ctx context.Context, f Filter) (Page[FlowRun], error)
	TaskRuns(ctx context.Context, f Filter) (Page[TaskRun], error)
	CountTaskRuns(ctx context.Context, f RunFilter) (int, error)
	// Version is the server's version, empty where it has none.
	Version(ctx context.Context) (string, error)
	// PageLimit is the most rows that the server gives in one page.
	PageLimit() int
}

var _ RunLister = (*Client)(nil)

// versionKept is how long the server's version is taken for granted: an upgraded server is noticed within it.
const versionKept = 5 * time.Minute

// longAgo lies before any run: a query for what ended then is answered with nothing by a server that understands it.
var longAgo = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// features are the filters that a server knows. They came one by one: 2.x filters no run by its end time, 3.x flow
// runs, and only its newest versions task runs.
type features struct {
	flowEnd, taskEnd bool
}

// unstartedEnd says whether a flow run that ended without having started has an end time. Older servers give it none,
// and they are the ones that don't filter task runs by end time.
func (f features) unstartedEnd() bool { return f.taskEnd }

// namesMove says whether a run's name can still change after it shows as running. Servers before 3 write a templated
// name a moment after the state, and they are the ones that don't filter flow runs by end time.
func (f features) namesMove() bool { return !f.flowEnd }

// version keeps the server's version for a while.
type version struct {
	ask func(context.Context) (string, error)

	mu    sync.Mutex
	value string
	asked time.Time // zero: never answered
}

// get returns the version. Where it can't be asked again, the last answer stands; the error is of a server that never
// answered.
func (v *version) get(ctx context.Context) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.asked.IsZero() && time.Since(v.asked) < versionKept {
		return v.value, nil
	}
	value, err := v.ask(ctx)
	switch {
	case err == nil:
		v.value, v.asked = value, time.Now()
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrUnauthorized), errors.Is(err, ErrRefused), errors.Is(err, ErrNotPrefect):
		// A proxy in front of the server may keep its admin pages shut while the lists are open: such a server just has
		// no version that we may know. Where more is wrong, the lists say so.
		v.asked = time.Now()
	case v.asked.IsZero() || ctx.Err() != nil:
		return "", fmt.Errorf("asking for the version: %w", err)
	}
	return v.value, nil
}

// prober finds a server's features by asking for them, and asks anew when its version has changed.
type prober struct {
	api     RunLister
	version version

	mu    sync.Mutex
	known *features
	of    string // the version that known belongs to
}

func newProber(api RunLister) *prober {
	return &prober{api: api, version: version{ask: api.Version}}
}

func (p *prober) get(ctx context.Context) (features, error) {
	of, err := p.version.get(ctx)
	if err != nil {
		return features{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil && p.of == of {
		return *p.known, nil
	}
	flowEnd, err := probe(ctx, flowRunKind(p.api))
	if err != nil {
		return features{}, err
	}
	taskEnd, err := probe(ctx, taskRunKind(p.api))
	if err != nil {
		return features{}, err
	}
	p.known, p.of = &features{flowEnd: flowEnd, taskEnd: taskEnd}, of
	return *p.known, nil
}

// forget makes the next get ask the server again: it refused what it was thought to know.
func (p *prober) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = nil
}

// probe asks whether the server filters these runs by end time. A server that overlooks the filter, instead of
// refusing it, gives itself away by a row. It asks for a whole page, so that a server whose pages are smaller says so
// before anything is read in pages.
func probe[T run](ctx context.Context, of kind[T]) (bool, error) {
	page, err := of.list(ctx, of.filter(Filter{Limit: MaxPage, Sort: sortEnd}, RunFilter{EndTime: &Window{Before: &longAgo}}))
	switch {
	case errors.Is(err, ErrUnknownField):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("asking for the filters of %s: %w", of.resource, err)
	}
	return len(page.Rows)+len(page.Bad) == 0, nil
}

// serverClock asks for the server's time with a query that finds nothing.
func serverClock(ctx context.Context, api RunLister) (time.Time, error) {
	page, err := api.FlowRuns(ctx, Filter{Limit: 1, FlowRuns: &RunFilter{ID: &AnyID{Any: []uuid.UUID{uuid.Nil}}}})
	if err != nil {
		return time.Time{}, fmt.Errorf("asking for the server's time: %w", err)
	}
	return page.Served, checkClock(page.Served)
}

// errNoClock: reading goes by the server's time alone, and this answer doesn't tell it.
var errNoClock = errors.New("the answer has no Date header, so the server's time is unknown: does a proxy remove it?")

func checkClock(now time.Time) error {
	if now.IsZero() {
		return errNoClock
	}
	return nil
}
