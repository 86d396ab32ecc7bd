package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/state"
)

// destinationsCmd looks after the destinations in the store.
type destinationsCmd struct {
	List   destinationsListCmd   `cmd:"" default:"withargs" help:"List the destinations and what waits for each. What destinations alone does."`
	Park   destinationsParkCmd   `cmd:"" help:"Take a destination out: its events wait, and it gets no new ones."`
	Resume destinationsResumeCmd `cmd:"" help:"Let a parked destination go on."`
}

type destinationsListCmd struct {
	output
}

// destinationRow is a destination in JSON.
type destinationRow struct {
	app.DestinationReport
	ParkedSince time.Time `json:"parked_since,omitzero"`
}

// Run lists them.
func (c *destinationsListCmd) Run(ctx context.Context, p *process) error {
	return p.withStore(ctx, func(s store) error {
		all, err := s.Status(ctx)
		if err != nil {
			return fmt.Errorf("reading the destinations: %w", err)
		}
		rows := make([]destinationRow, len(all))
		for i, d := range all {
			rows[i] = destinationRow{app.NewDestinationReport(d), d.ParkedSince}
		}
		if c.json() {
			return printJSON(p.stdout, rows)
		}
		return destinationTable(p, rows)
	})
}

// standing is whether a destination gets events. One that left the settings is gone, parked or not.
func (d destinationRow) standing(now time.Time) string {
	switch {
	case d.Gone:
		return "gone"
	case d.Parked:
		return "parked"
	case d.Trouble != "":
		return fmt.Sprintf("%s for %s (%s)", d.Trouble, age(d.TroubleSince, now), d.TroubleReason)
	default:
		return "active"
	}
}

// column is one that only some tables of destinations have.
type column struct {
	head string
	cell func(destinationRow) string
}

func destinationTable(p *process, all []destinationRow, more ...column) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(p.stdout, "no destinations yet: the listener notes them when it starts")
		return err
	}
	now := p.now()
	head := []string{"NAME", "KIND", "STATE", "WAITING", "OLDEST", "DEAD", "LAST DELIVERED"}
	for _, c := range more {
		head = append(head, c.head)
	}
	rows := make([][]string, len(all))
	for i, d := range all {
		rows[i] = []string{
			d.Name, d.Kind, d.standing(now), strconv.FormatInt(d.Pending, 10), age(d.OldestPending, now),
			strconv.FormatInt(d.Dead, 10), moment(d.LastDelivered, "never"),
		}
		for _, c := range more {
			rows[i] = append(rows[i], c.cell(d))
		}
	}
	return table(p.stdout, head, rows)
}

type destinationsParkCmd struct {
	Name string `arg:"" help:"The destination's name, as destinations list shows it."`
}

// Run parks it.
func (c *destinationsParkCmd) Run(ctx context.Context, p *process) error {
	return p.withStore(ctx, func(s store) error {
		if err := s.Park(ctx, c.Name); err != nil {
			return whichOnes(err)
		}
		_, err := fmt.Fprintf(p.stdout, "parked %s: its events wait until listener destinations resume %s\n", c.Name, c.Name)
		return err
	})
}

type destinationsResumeCmd struct {
	Name string `arg:"" help:"The destination's name, as destinations list shows it."`
}

// Run resumes it, and says how to get what was said meanwhile.
func (c *destinationsResumeCmd) Run(ctx context.Context, p *process) error {
	return p.withStore(ctx, func(s store) error {
		since, err := s.Resume(ctx, c.Name)
		if err != nil {
			return whichOnes(err)
		}
		if since.IsZero() {
			_, err = fmt.Fprintf(p.stdout, "%s was not parked\n", c.Name)
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "resumed %s; events since it was parked are not in its outbox, this brings them:\n"+
			"listener backfill --since %s --destination %s\n", c.Name, moment(since, ""), c.Name)
		return err
	})
}

// whichOnes says where the names stand that a destination may have.
func whichOnes(err error) error {
	if errors.Is(err, state.ErrUnknown) {
		return fmt.Errorf("%w: listener destinations shows the names", err)
	}
	return err
}
