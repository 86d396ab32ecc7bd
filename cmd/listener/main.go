// Command listener reads what ran in Prefect and tells OpenLineage consumers about it.
package main

import (
	"context"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/prefect"
)

// Set by the linker: -X main.version=1.2.3, without a leading v.
var version, commit, date string

func main() {
	built := buildInfo(version, commit, date)
	ctx, stop := interruptible(context.Background(), os.Exit)
	code := execute(ctx, &process{
		args: os.Args[1:], stdout: os.Stdout, stderr: os.Stderr, built: built,
		input:    func() (config.Input, error) { return config.FromProcess(built.Version, prefect.ReadProfile) },
		getenv:   os.Getenv,
		now:      time.Now,
		terminal: term.IsTerminal(int(os.Stderr.Fd())),
		colours:  colours(term.IsTerminal(int(os.Stdout.Fd())), os.Getenv),
		do:       theActions(),
	})
	stop()
	os.Exit(code)
}
