package deliver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/transport"
)

// rig is a deliverer with fakes around it.
type rig struct {
	t         *testing.T
	outbox    *fakeOutbox
	sinks     map[string]*sink
	deliverer *deliver.Deliverer
	logs      *observer.ObservedLogs
	registry  *prometheus.Registry

	cancel context.CancelFunc
	ended  chan error
}

// newRig makes a deliverer for sinks, to be started in a synctest bubble. Jitter is always the longest.
func newRig(t *testing.T, sinks ...*sink) *rig { return newRigWith(t, 4, deliver.Options{}, sinks...) }

func newRigWith(t *testing.T, parallel int, options deliver.Options, sinks ...*sink) *rig {
	t.Helper()
	r := &rig{t: t, sinks: map[string]*sink{}, registry: prometheus.NewRegistry(), ended: make(chan error, 1)}
	var names []string
	for _, s := range sinks {
		names = append(names, s.name)
		r.sinks[s.name] = s
		options.Destinations = append(options.Destinations,
			transport.Destination{Name: s.name, Kind: "fake", Transport: s, Parallel: parallel})
	}
	r.outbox = newFakeOutbox(names...)
	for _, s := range sinks {
		s.outbox = r.outbox
	}
	core, logs := observer.New(zapcore.InfoLevel)
	r.logs = logs
	options.Outbox, options.Log, options.Registerer = r.outbox, zap.New(core), r.registry
	if options.Jitter == nil {
		options.Jitter = func() float64 { return 1 - 1e-12 }
	}
	d, err := deliver.New(options)
	if err != nil {
		t.Fatal(err)
	}
	r.deliverer = d
	return r
}

func (r *rig) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.ended <- r.deliverer.Run(ctx) }()
}

// stop ends the deliverer and checks that nothing was done against the rules.
func (r *rig) stop() {
	r.t.Helper()
	r.cancel()
	if err := <-r.ended; err != nil {
		r.t.Errorf("Run: %v", err)
	}
	r.check()
}

func (r *rig) check() {
	r.t.Helper()
	if broken := r.outbox.broken(); len(broken) > 0 {
		r.t.Errorf("%d violations, the first: %s", len(broken), broken[0])
	}
}

// wait lets time pass and all goroutines come to rest.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *rig) wantCounts(destination string, pending, delivered, dead int) {
	r.t.Helper()
	p, ok, d := r.outbox.counts(destination)
	if p != pending || ok != delivered || d != dead {
		r.t.Errorf("%s: %d pending, %d delivered, %d dead; want %d, %d, %d", destination, p, ok, d, pending, delivered, dead)
	}
}

func (r *rig) state(destination string) deliver.DestinationState {
	r.t.Helper()
	for _, s := range r.deliverer.Snapshot() {
		if s.Name == destination {
			return s
		}
	}
	r.t.Fatalf("no destination %s in the snapshot", destination)
	return deliver.DestinationState{}
}

// messages returns the log's lines.
func (r *rig) messages() []string {
	var lines []string
	for _, entry := range r.logs.All() {
		lines = append(lines, entry.Level.String()+" "+entry.Message)
	}
	return lines
}
