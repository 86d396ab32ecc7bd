package app_test

import (
	"bytes"
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a listener in this process, between a Prefect in memory and a scripted sink.
type rig struct {
	t       *testing.T
	prefect *prefecttest.Server
	sink    *transporttest.Sink
	options app.Options
	logs    *observer.ObservedLogs
	out     *bytes.Buffer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	r := &rig{t: t, prefect: prefecttest.NewTCP(t), sink: transporttest.NewSink(t), logs: logs, out: &bytes.Buffer{}}
	r.options = app.Options{
		Config: config.Config{
			Prefect:      config.Prefect{URL: r.prefect.URL, RequestTimeout: 10 * time.Second},
			OpenLineage:  config.OpenLineage{Transport: map[string]any{"type": "http", "url": r.sink.URL()}},
			StatePath:    filepath.Join(t.TempDir(), "listener.db"),
			PollInterval: 50 * time.Millisecond, Lookback: time.Hour, Grace: 10 * time.Minute, Retention: time.Hour,
			OutboxMaxBytes: 1 << 30, HTTP: config.HTTP{Addr: "127.0.0.1:0"},
		},
		Version: "1.2.3", Log: zap.New(core), Stdout: r.out,
	}
	return r
}

// history adds finished flow runs with two tasks each and returns how many events tell of them.
func (r *rig) history(flowRuns int) (events int) {
	r.prefect.AddHistory(prefecttest.History{
		Flows: 2, FlowRuns: flowRuns, Tasks: 2, Tables: true,
		From: time.Now().Add(-30 * time.Minute), Every: time.Second, Lasts: time.Second,
	})
	return flowRuns * 3 * 2
}

// start runs the daemon until the returned function is called, which gives its error.
func (r *rig) start() (stop func() error) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	var err error
	var running sync.WaitGroup
	running.Go(func() { err = app.Run(ctx, r.options) })
	stop = sync.OnceValue(func() error {
		cancel()
		running.Wait()
		return err
	})
	r.t.Cleanup(func() { _ = stop() })
	return stop
}

func (r *rig) logged(message string) int { return r.logs.FilterMessage(message).Len() }
