package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// BackfillRequest says what a backfill is to tell. It is stored as JSON when the daemon does it.
type BackfillRequest struct {
	Since        time.Time   `json:"since"`
	Until        time.Time   `json:"until,omitzero"` // zero: now
	Flow         string      `json:"flow,omitempty"`
	Runs         []uuid.UUID `json:"runs,omitempty"`
	Destinations []string    `json:"destinations,omitempty"` // empty: all
	Resend       bool        `json:"resend,omitempty"`
}

func (r BackfillRequest) query() prefect.HistoryQuery {
	return prefect.HistoryQuery{Since: r.Since, Until: r.Until, Flow: r.Flow, Runs: r.Runs}
}

func (r BackfillRequest) mode() ingest.Mode {
	return ingest.Mode{Destinations: r.Destinations, Resend: r.Resend}
}

// BackfillResult counts what a backfill did.
type BackfillResult struct {
	Runs     int64 `json:"runs"`     // looked at
	Events   int64 `json:"events"`   // put into the outbox
	Repeated int64 `json:"repeated"` // told before and left out
	// Missing are runs that were asked for by id and that Prefect doesn't have.
	Missing []uuid.UUID `json:"missing,omitempty"`
	// ByDaemon: the running daemon did it.
	ByDaemon bool `json:"by_daemon"`
}

// Backfill tells history and returns when it is delivered. Beside a running daemon it hands the job over and follows it.
func Backfill(ctx context.Context, o Options, request BackfillRequest) (BackfillResult, error) {
	if o.Config.OpenLineage.Disabled { // told to nobody, history would count as told
		o.Log.Warn("nothing is sent: OPENLINEAGE_DISABLED is true")
		return BackfillResult{}, nil
	}
	result, err := alone(ctx, o, request)
	if errors.Is(err, state.ErrLocked) {
		return handOver(ctx, o, request)
	}
	return result, err
}

// alone does the backfill in this process, which is the store's daemon meanwhile.
func alone(ctx context.Context, o Options, request BackfillRequest) (result BackfillResult, err error) {
	var done cleanup
	defer func() { err = errors.Join(err, done.run()) }()
	store, err := openStore(ctx, o, &done)
	if err != nil {
		return BackfillResult{}, err
	}
	registry := prometheus.NewRegistry()
	mapper, err := newAdapter(o)
	if err != nil {
		return BackfillResult{}, err
	}
	o.reductions = newReductions(registry, o.Log.Named("deliver"))
	destinations, err := newDestinations(o, o.Config.OpenLineage)
	if err != nil {
		return BackfillResult{}, err
	}
	done.push("closing the transports", closeDestinations(destinations))
	src, err := newSource(o, registry, &done)
	if err != nil {
		return BackfillResult{}, err
	}
	if err := register(ctx, store, destinations); err != nil {
		return BackfillResult{}, err
	}
	if err := knownDestinations(ctx, store, request.Destinations); err != nil {
		return BackfillResult{}, err
	}
	sending, err := deliver.New(deliver.Options{
		Outbox: store, Destinations: destinations, Log: o.Log.Named("deliver"), Registerer: registry,
	})
	if err != nil {
		return BackfillResult{}, err
	}
	recorder := ingest.NewRecorder(mapper, src.reader, ingest.Scrubbed{Ledger: store, Secrets: o.known().All}, o.Log.Named("ingest"), ingest.NewMetrics(registry), sending.Wake)
	screen := newScreen(o.Progress)
	defer screen.clear()

	group, ctx := errgroup.WithContext(ctx)
	sendCtx, stopSending := context.WithCancel(ctx)
	defer stopSending()
	group.Go(func() error { return sending.Run(sendCtx) })
	group.Go(func() error {
		defer stopSending()
		job := ingest.Backfill{
			History:  prefect.NewHistory(src.client, prefect.HistoryConfig{}),
			Recorder: recorder,
			Progress: func(t ingest.Tally) { screen.read(tallied(t)) },
		}
		tally, err := job.Run(ctx, request.query(), request.mode())
		result = tallied(tally)
		if err != nil {
			return o.named(err)
		}
		return drained(ctx, store, tally.LastSeq, request.Destinations, screen)
	})
	return result, group.Wait()
}

func tallied(t ingest.Tally) BackfillResult {
	return BackfillResult{Runs: int64(t.FlowRuns + t.TaskRuns), Events: int64(t.Events), Repeated: int64(t.Repeated), Missing: t.Missing}
}

const followEvery = 250 * time.Millisecond

// drained waits until everything up to a place in the outbox is settled at the destinations.
func drained(ctx context.Context, store *sqlite.Store, last int64, only []string, screen *screen) error {
	for {
		all, err := store.Status(ctx)
		if err != nil {
			return err
		}
		waiting := false
		for _, d := range all {
			if !d.Parked && chosen(only, d.Name) && d.OldestSeq > 0 && d.OldestSeq <= last {
				waiting = true
				screen.delivering(d.Name, d.Pending)
			}
		}
		if !waiting {
			return nil
		}
		if err := wait(ctx, followEvery); err != nil {
			return fmt.Errorf("stopped while events were waiting in the outbox; a listener delivers them when it runs: %w", err)
		}
	}
}

// chosen says whether a destination is among the named ones; no names mean all.
func chosen(only []string, name string) bool { return len(only) == 0 || slices.Contains(only, name) }

// knownDestinations refuses names that no destination has.
func knownDestinations(ctx context.Context, store *sqlite.Store, names []string) error {
	all, err := store.Status(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, d := range all {
		known = append(known, d.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return &SettingsError{fmt.Errorf("--destination %s: there is no such destination; there are %q", name, known)}
		}
	}
	return nil
}

// handOver gives the job to the running daemon and follows it.
func handOver(ctx context.Context, o Options, request BackfillRequest) (result BackfillResult, err error) {
	store, err := sqlite.Open(ctx, o.Config.StatePath, sqlite.Options{})
	if err != nil {
		return BackfillResult{}, storeError(o, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := knownDestinations(ctx, store, request.Destinations); err != nil {
		return BackfillResult{}, err
	}
	text, err := json.Marshal(request)
	if err != nil {
		return BackfillResult{}, fmt.Errorf("encoding the request: %w", err)
	}
	id, err := store.RequestBackfill(ctx, text)
	if err != nil {
		return BackfillResult{}, err
	}
	o.Log.Info("the running listener does the backfill", zap.Int64("backfill", id))
	screen := newScreen(o.Progress)
	defer screen.clear()
	for {
		job, err := store.Backfill(ctx, id)
		if err != nil {
			return BackfillResult{}, err
		}
		result = BackfillResult{
			Runs: job.Progress.Runs, Events: job.Progress.Enqueued, Repeated: job.Progress.Repeated,
			Missing: job.Progress.Missing, ByDaemon: true,
		}
		screen.read(result)
		switch job.Stage {
		case state.Failed:
			return result, fmt.Errorf("the running listener could not do the backfill: %s", job.Err)
		case state.Done:
			return result, drained(ctx, store, job.Progress.LastSeq, request.Destinations, screen)
		case state.Waiting, state.Working:
		}
		if err := wait(ctx, followEvery); err != nil {
			return result, fmt.Errorf("no longer followed; the running listener goes on with backfill %d: %w", id, err)
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// named puts the address before an error of Prefect's, which speaks of paths alone.
func (o Options) named(err error) error {
	if _, ok := errors.AsType[*prefect.Error](err); ok {
		return fmt.Errorf("PREFECT_API_URL=%s: %w", o.Config.Prefect.URL, err)
	}
	return err
}
