package main

import (
	"context"
	"errors"
	"os"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/systemd"
)

// runCmd is the daemon.
type runCmd struct {
	Recover bool `help:"Start over beside a damaged store, which is moved aside."`
}

// Run reads and sends until the context ends, which is how a daemon is meant to end.
func (c *runCmd) Run(ctx context.Context, p *process) error {
	outliveReaders()
	options, err := p.options(ctx, true)
	if err != nil {
		return err
	}
	options.Recover = c.Recover
	if manager := systemd.FromEnv(p.getenv, os.Getpid()); manager != nil {
		options.Supervisor = manager
	}
	err = p.do.run(ctx, options)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
