package main

import (
	"context"
	"fmt"

	"github.com/alecthomas/kong"
)

// cli is the grammar of the command line. Settings are environment variables; flags are only for what one call changes.
type cli struct {
	Run          runCmd          `cmd:"" default:"withargs" help:"Read Prefect and send events until stopped. What listener alone does."`
	Backfill     backfillCmd     `cmd:"" help:"Send the events of a stretch of history, then exit."`
	Preview      previewCmd      `cmd:"" help:"Print the events of a stretch of history as NDJSON. Needs Prefect only: no store, no destination."`
	Check        checkCmd        `cmd:"" help:"Show the settings and try Prefect and every destination, in plain words."`
	Status       statusCmd       `cmd:"" help:"Show how far reading and each destination are."`
	Deadletters  deadlettersCmd  `cmd:"" help:"Events that a destination will never take as they are."`
	Destinations destinationsCmd `cmd:"" help:"The destinations and their outboxes."`
	Adopt        adoptCmd        `cmd:"" help:"Let the store go over to the Prefect of the settings, though it was filled from another one."`
	Completion   completionCmd   `cmd:"" help:"Print a script that completes command lines in bash, fish or zsh."`
	Healthcheck  healthcheckCmd  `cmd:"" help:"Ask the listener that runs beside this command how it is, as container engines do."`
	Version      versionCmd      `cmd:"" help:"Show the version."`
}

const description = `Reads what ran in Prefect and tells OpenLineage consumers about it.

Settings are environment variables; listener check --variables lists them. Commands work beside a running listener.

Examples:
  PREFECT_API_URL=http://127.0.0.1:4200/api listener
  OPENLINEAGE_URL=http://marquez:5000 listener run
  listener check
  listener preview --since 24h
  listener backfill --since 2026-11-30 --until 2026-12-01 --flow etl
  listener backfill --run 5b8b2f0e-2a4b-4c0e-9d9e-0a3f6c1c2d4e --resend
  listener deadletters list -o json
  listener destinations park marquez

Exit codes: 0 done, 1 error (also where --run names a run that Prefect doesn't have), 2 settings or usage,
3 can't start (store, lock, address), 4 damaged store, 5 disk failure. A signal ends run with 0, once all is in order, and a second one ends it at once with
130 or 143; the other commands end with 130 or 143 at the first. What a backfill had put into the outbox by then is
delivered by the next listener that runs.`

// execute carries out a command line and returns the exit code.
func execute(ctx context.Context, p *process) int {
	err := p.carryOut(ctx)
	if err != nil {
		complain(p.stderr, err)
	}
	return exitCode(ctx, err)
}

func (p *process) carryOut(ctx context.Context) error {
	helped := false
	parser, err := kong.New(&cli{},
		kong.Name("listener"), kong.Description(description), kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(int) { helped = true }), // after --help has printed
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 120}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(p),
	)
	if err != nil {
		return fmt.Errorf("making the command line: %w", err)
	}
	command, err := parser.Parse(p.args)
	if helped {
		return nil
	}
	if err != nil {
		return usageError{err}
	}
	return command.Run()
}
