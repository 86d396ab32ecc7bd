package main

import (
	"context"
	"errors"
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
		err = printJSON(p.stdout, result)
	} else {
		// Standard output belongs to the console transport's events.
		_, err = fmt.Fprintf(p.stderr, "%s read, %s sent%s\n", count(result.Runs, "run", "runs"), count(result.Events, "event", "events"), c.told(result))
	}
	return errors.Join(err, c.notFound(p, result))
}

// notFound says what was asked for and is not there. A run that was named and doesn't exist is an error, since the caller
// counts on it; a stretch in which nothing ran may be as it should be, and is worth a word.
func (w window) notFound(p *process, result app.BackfillResult) error {
	var missing []error
	for _, id := range result.Missing {
		missing = append(missing, fmt.Errorf("--run %s: Prefect has no such run", id))
	}
	switch {
	case len(missing) > 0 || result.Runs > 0:
	case len(w.Run) > 0:
		_, _ = fmt.Fprintln(p.stderr, "listener: nothing was read: the runs that --run names neither started nor ended between --since and --until")
	case w.Flow != "":
		_, _ = fmt.Fprintf(p.stderr, "listener: nothing was read: Prefect shows no run of a flow named %q that started or ended in that stretch (case counts)\n", w.Flow)
	default:
		_, _ = fmt.Fprintln(p.stderr, "listener: nothing was read: Prefect shows no run that started or ended in that stretch")
	}
	return errors.Join(missing...)
}

func (c *backfillCmd) told(r app.BackfillResult) string {
	var text string
	switch {
	case r.Repeated > 0:
		text = fmt.Sprintf("; %s sent before (--resend sends them again)", count(r.Repeated, "event was", "events were"))
	case r.Runs > 0 && r.Events == 0 && !c.Resend:
		text = "; nothing was new (--resend sends again what was sent before)"
	}
	if r.ByDaemon {
		text += "; the running listener did it"
	}
	return text
}

// previewCmd shows what history would be sent.
type previewCmd struct {
	window
	Destination string `placeholder:"NAME" help:"Show the copies that this destination would get, and say in the log what of them its consumer would refuse, hide or show otherwise. Nothing is sent."`
	Explain     bool   `help:"Say of each run why it is or is not told about: in the log, or with -o json on standard output, one run a line in place of the events."`
	Output      string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"With --explain or --destination: text for people, json for scripts. Events are JSON in any case."`
}

// show says what is asked for. The events are JSON in any case.
func (c *previewCmd) show() app.Show {
	asJSON := c.Output == "json"
	switch {
	case c.Explain && asJSON:
		return app.ShowWhyJSON
	case c.Explain:
		return app.ShowWhy
	case c.Destination != "" && asJSON:
		return app.ShowReviewJSON
	default:
		return app.ShowEvents
	}
}

// Run prints what the flags name.
func (c *previewCmd) Run(ctx context.Context, p *process) error {
	request, err := c.request(p.now())
	if err != nil {
		return err
	}
	if c.Destination != "" {
		if c.show() == app.ShowWhyJSON {
			return usageError{errors.New("--destination: has no effect with --explain -o json, which shows runs and no events")}
		}
		request.Destinations = []string{c.Destination}
	}
	options, err := p.options(ctx, c.Destination != "")
	if err != nil {
		return err
	}
	if p.colours {
		options.Stdout = &colourWriter{to: p.stdout}
	}
	result, err := p.do.preview(ctx, options, request, c.show())
	if err != nil {
		return err
	}
	return c.notFound(p, result)
}
