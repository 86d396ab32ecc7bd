package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
)

// Preview writes what a backfill would tell as one event a line, and stores and sends nothing. Only Prefect is asked.
// The reasons for what is told and what is not go to the log, when they are asked for.
func Preview(ctx context.Context, o Options, request BackfillRequest, explain bool) (err error) {
	var done cleanup
	defer func() { err = errors.Join(err, done.run()) }()
	registry := prometheus.NewRegistry()
	mapper, err := newAdapter(o)
	if err != nil {
		return err
	}
	src, err := newSource(o, registry, &done)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(o.Stdout)
	ledger := &ingest.MemoryLedger{Emit: func(events []adapter.Event) error {
		for _, e := range events {
			_, _ = out.Write(e.Body) // the writer keeps its first error for Flush
			_ = out.WriteByte('\n')
		}
		if err := out.Flush(); err != nil {
			return fmt.Errorf("writing events: %w", err)
		}
		return nil
	}}
	job := ingest.Backfill{
		History:  prefect.NewHistory(src.client, prefect.HistoryConfig{}),
		Recorder: ingest.NewRecorder(mapper, src.reader, ingest.Scrubbed{Ledger: ledger, Secrets: o.known().All}, o.Log.Named("preview"), ingest.NewMetrics(registry), nil),
	}
	_, err = job.Run(ctx, request.query(), ingest.Mode{Explain: explainer(o.Log, explain)})
	return err
}

// explainer logs the reason for each run.
func explainer(log *zap.Logger, wanted bool) func(ingest.Reason) {
	if !wanted {
		return nil
	}
	return func(r ingest.Reason) {
		log.Info(r.Why, zap.Stringer("run", r.Run), zap.String("name", r.Name), zap.Bool("told", r.Told))
	}
}
