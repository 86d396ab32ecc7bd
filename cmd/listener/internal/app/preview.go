package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
)

// Show says what a preview shows.
type Show uint8

// What a preview may show.
const (
	ShowEvents  Show = iota // one a line, on standard output
	ShowWhy                 // them, and in the log of each run why it is or is not told about
	ShowWhyJSON             // of each run, one a line, why it is or is not told about, as JSON on standard output; no events
)

// Preview shows what a backfill would tell, and stores and sends nothing. Only Prefect is asked.
func Preview(ctx context.Context, o Options, request BackfillRequest, show Show) (result BackfillResult, err error) {
	var done cleanup
	defer func() { err = errors.Join(err, done.run()) }()
	registry := prometheus.NewRegistry()
	mapper, err := newAdapter(o)
	if err != nil {
		return BackfillResult{}, err
	}
	src, err := newSource(o, registry, &done)
	if err != nil {
		return BackfillResult{}, err
	}
	out := bufio.NewWriter(o.Stdout)
	ledger := &ingest.MemoryLedger{Emit: func(events []adapter.Event) error {
		for _, e := range events {
			if show == ShowWhyJSON {
				break
			}
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
	tally, err := job.Run(ctx, request.query(), ingest.Mode{Explain: explainer(o.Log, out, show)})
	return tallied(tally), o.named(err)
}

// explainer shows the reason for each run.
func explainer(log *zap.Logger, out io.Writer, show Show) func(ingest.Reason) {
	switch show {
	case ShowWhy:
		return func(r ingest.Reason) {
			log.Info(r.Why, zap.Stringer("run", r.Run), zap.String("name", r.Name), zap.Bool("told", r.Told))
		}
	case ShowWhyJSON:
		lines := json.NewEncoder(out)
		lines.SetEscapeHTML(false)
		return func(r ingest.Reason) { _ = lines.Encode(r) } // the writer keeps its first error for Flush
	default:
		return nil
	}
}
