package main

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// statusCmd shows how far everything is, from the store.
type statusCmd struct {
	output
}

// Run shows it.
func (c *statusCmd) Run(ctx context.Context, p *process) error {
	cfg, err := p.config()
	if err != nil {
		return err
	}
	report, err := p.do.status(ctx, app.Options{Config: cfg, Log: zap.NewNop()})
	if err != nil {
		return err
	}
	if c.json() {
		return printJSON(p.stdout, report)
	}
	return statusText(p, report, cfg.OutboxMaxBytes)
}

func statusText(p *process, r app.StatusReport, maxOutbox int64) error {
	daemon, api, position := "no listener runs on it", "nothing was read yet", "-"
	if r.Daemon {
		daemon = "a listener runs on it"
	}
	if r.Prefect != "" {
		api = r.Prefect
	}
	if !r.ReadUpTo.IsZero() {
		position = fmt.Sprintf("%s, %s ago", moment(r.ReadUpTo, ""), age(r.ReadUpTo, p.now()))
	}
	out := &printer{to: p.stdout}
	out.printf("store       %s, %s; %s\n", r.Store, rounded(r.StoreBytes), daemon)
	out.printf("disk        %s left\n", rounded(r.DiskFree))
	out.printf("Prefect     %s\n", api)
	out.printf("read up to  %s\n", position)
	out.printf("runs        %s and %s open, %d remembered%s\n", count(r.OpenFlowRuns, "flow run", "flow runs"),
		count(r.OpenTaskRuns, "task run", "task runs"), r.KnownRuns, unreadable(r.Unreadable))
	out.printf("outbox      %s, %s of %s\n\n", count(r.OutboxEvents, "event", "events"), rounded(r.OutboxBytes), config.Size(maxOutbox))
	if err := out.done(); err != nil {
		return err
	}
	rows := make([]destinationRow, len(r.Destinations))
	for i, d := range r.Destinations {
		rows[i] = destinationRow{DestinationReport: d}
	}
	return destinationTable(p, rows, column{"LAST ERROR", func(d destinationRow) string { return lastError(d, p.now()) }})
}

func unreadable(rows int64) string {
	if rows == 0 {
		return ""
	}
	return "; " + count(rows, "row", "rows") + " of Prefect can't be read and are kept"
}

// lastError is what last went wrong, and when.
func lastError(d destinationRow, now time.Time) string {
	if d.LastError == "" {
		return "-"
	}
	return fmt.Sprintf("%s, %s ago", d.LastError, age(d.LastErrorAt, now))
}

// rounded is a number of bytes for people.
func rounded(bytes int64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value /= 1024; value < 1024 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}
