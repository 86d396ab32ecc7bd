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
	ShowEvents     Show = iota // one a line, on standard output
	ShowWhy                    // them, and in the log of each run why it is or is not told about
	ShowWhyJSON                // of each run, one a line, why it is or is not told about, as JSON on standard output; no events
	ShowReviewJSON             // of each event, one a line, what the request's destination would make of it, as JSON on standard output
)

// Preview shows what a backfill would tell, and stores and sends nothing. Only Prefect is asked. With a destination in the
// request it shows the copies that this one would get, and says in the log what its consumer would make of them.
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
	tell, end, err := newTeller(o, request, out, show, &done)
	if err != nil {
		return BackfillResult{}, err
	}
	ledger := &ingest.MemoryLedger{Emit: func(events []adapter.Event) error {
		for _, e := range events {
			tell(e)
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
	end()
	return tallied(tally), o.named(err)
}

// newTeller returns what shows an event on out, which keeps its first error for Flush, and what is to be called at the end.
func newTeller(o Options, request BackfillRequest, out *bufio.Writer, show Show, done *cleanup) (tell func(adapter.Event), end func(), err error) {
	nothing := func() {}
	if show == ShowWhyJSON {
		return func(adapter.Event) {}, nothing, nil
	}
	if len(request.Destinations) > 0 {
		r, err := newReviewing(o, request.Destinations[0], out, show, done)
		if err != nil {
			return nil, nil, err
		}
		return r.tell, r.end, nil
	}
	return func(e adapter.Event) { writeLine(out, e.Body) }, nothing, nil
}

func writeLine(out *bufio.Writer, line []byte) {
	_, _ = out.Write(line)
	_ = out.WriteByte('\n')
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
