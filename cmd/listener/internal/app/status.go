package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// StatusReport is how the listener stands, from its store. Its JSON form is a contract: fields may be added.
type StatusReport struct {
	Store string `json:"store"`
	// Daemon: a daemon runs on the store.
	Daemon  bool   `json:"daemon"`
	Prefect string `json:"prefect,omitempty"`
	// ReadUpTo is the end time, by Prefect's clock, up to which runs have been read; zero: nothing was read yet.
	ReadUpTo time.Time `json:"read_up_to,omitzero"`
	// OpenFlowRuns and OpenTaskRuns are runs whose end is awaited, KnownRuns all that are remembered.
	OpenFlowRuns int64 `json:"open_flow_runs"`
	OpenTaskRuns int64 `json:"open_task_runs"`
	KnownRuns    int64 `json:"known_runs"`
	// Unreadable are rows of Prefect that this version can't read and that are kept.
	Unreadable   int64               `json:"unreadable_rows"`
	OutboxEvents int64               `json:"outbox_events"`
	OutboxBytes  int64               `json:"outbox_bytes"`
	StoreBytes   int64               `json:"store_bytes"`
	DiskFree     int64               `json:"disk_free_bytes"`
	Destinations []DestinationReport `json:"destinations"`
}

// DestinationReport is how one consumer stands.
type DestinationReport struct {
	Name          string    `json:"name"`
	Kind          string    `json:"kind"`
	Pending       int64     `json:"pending"`
	Dead          int64     `json:"dead"`
	Parked        bool      `json:"parked"`
	Gone          bool      `json:"gone"` // no longer in the settings
	OldestPending time.Time `json:"oldest_pending,omitzero"`
	LastDelivered time.Time `json:"last_delivered,omitzero"`
	// Trouble is down or held while nothing passes, as a daemon last said, with the reason and its beginning.
	Trouble       string    `json:"trouble,omitempty"`
	TroubleReason string    `json:"trouble_reason,omitempty"`
	TroubleSince  time.Time `json:"trouble_since,omitzero"`
	// LastError is the last failure of the event that waits longest, or the last dead letter, whichever is younger. Only
	// Status has it.
	LastError       string    `json:"last_error,omitempty"`
	LastErrorStatus int       `json:"last_error_status,omitempty"` // of HTTP
	LastErrorAt     time.Time `json:"last_error_at,omitzero"`
}

// Status reads the store beside a daemon that may be running on it.
func Status(ctx context.Context, o Options) (report StatusReport, err error) {
	store, err := sqlite.Open(ctx, o.Config.StatePath, sqlite.Options{})
	if err != nil {
		return StatusReport{}, storeError(o, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	report = StatusReport{Store: o.Config.StatePath, Destinations: []DestinationReport{}}
	if report.Daemon, err = sqlite.Locked(o.Config.StatePath); err != nil {
		return report, err
	}
	owner, err := store.Owner(ctx)
	if err != nil {
		return report, err
	}
	report.Prefect = owner.API
	if report.ReadUpTo, err = readUpTo(ctx, store); err != nil {
		return report, err
	}
	size, err := store.Size(ctx)
	if err != nil {
		return report, err
	}
	report.OutboxEvents, report.OutboxBytes = size.Events, size.OutboxBytes
	report.StoreBytes, report.DiskFree = size.Database, size.DiskFree
	all, err := store.Status(ctx)
	if err != nil {
		return report, err
	}
	overview, err := store.Overview(ctx)
	if err != nil {
		return report, err
	}
	report.OpenFlowRuns, report.OpenTaskRuns, report.KnownRuns = overview.OpenFlowRuns, overview.OpenTaskRuns, overview.KnownRuns
	report.Unreadable = overview.Quarantined
	for _, d := range all {
		row := NewDestinationReport(d)
		last := overview.LastFailures[d.Name]
		row.LastError, row.LastErrorStatus, row.LastErrorAt = last.Reason, last.Status, last.At
		report.Destinations = append(report.Destinations, row)
	}
	return report, nil
}

// NewDestinationReport is the report of a destination as the store knows it.
func NewDestinationReport(d state.DestinationStatus) DestinationReport {
	return DestinationReport{
		Name: d.Name, Kind: d.Kind, Pending: d.Pending, Dead: d.Dead, Parked: d.Parked, Gone: d.Gone,
		OldestPending: d.OldestPending, LastDelivered: d.LastDelivered,
		Trouble: d.Trouble.State, TroubleReason: d.Trouble.Reason, TroubleSince: d.Trouble.Since,
	}
}

func readUpTo(ctx context.Context, store *sqlite.Store) (time.Time, error) {
	text, err := store.Cursor(ctx, ingest.CursorName)
	if err != nil || len(text) == 0 {
		return time.Time{}, err
	}
	var cursor prefect.Cursor
	if err := json.Unmarshal(text, &cursor); err != nil {
		return time.Time{}, fmt.Errorf("reading the stored cursor: %w", err)
	}
	return cursor.Ended, nil
}
