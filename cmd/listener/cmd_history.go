package main

import (
	"context"
	"fmt"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
)

// backfillCmd sends history.
type backfillCmd struct {
	window
	Destination []string `sep:"none" placeholder:"NAME" help:"To this destination only. May be given more than once."`
	Resend      bool     `help:"Send again what was sent before."`
	output
}

// Run sends what the flags name, and returns once it is delivered.
func (c *backfillCmd) Run(ctx context.Context, p *process) error {
	outliveReaders()
	request, err := c.request(p.now())
	if err != nil {
		return err
	}
	request.Destinations, request.Resend = c.Destination, c.Resend
	options, err := p.options(ctx, true)
	if err != nil {
		return err
	}
	if p.terminal {
		options.Progress = p.stderr
	}
	result, err := p.do.backfill(ctx, options, request)
	if err != nil {
		return err
	}
	if c.json() {
		return printJSON(p.stdout, result)
	}
	// Standard output belongs to the console transport's events.
	_, err = fmt.Fprintf(p.stderr, "%s read, %s sent%s\n", count(result.Runs, "run", "runs"), count(result.Events, "event", "events"), told(result))
	return err
}

func told(r app.BackfillResult) string {
	var text string
	if r.Repeated > 0 {
		text = fmt.Sprintf("; %s sent before (--resend sends them again)", count(r.Repeated, "event was", "events were"))
	}
	if r.ByDaemon {
		text += "; the running listener did it"
	}
	return text
}

// previewCmd shows what history would be sent.
type previewCmd struct {
	window
	Explain bool `help:"With the reasons, in the log."`
}

// Run prints what the flags name.
func (c *previewCmd) Run(ctx context.Context, p *process) error {
	request, err := c.request(p.now())
	if err != nil {
		return err
	}
	options, err := p.options(ctx, false)
	if err != nil {
		return err
	}
	return p.do.preview(ctx, options, request, c.Explain)
}
