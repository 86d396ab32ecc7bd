package main

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
)

// adoptCmd lets the store go over to the Prefect of the settings.
type adoptCmd struct {
	output
}

// Run lets it go over, and says from where to where.
func (c *adoptCmd) Run(ctx context.Context, p *process) error {
	cfg, err := p.config()
	if err != nil {
		return err
	}
	done, err := p.do.adopt(ctx, app.Options{Config: cfg, Log: zap.NewNop()})
	if err != nil {
		return err
	}
	if c.json() {
		return printJSON(p.stdout, done)
	}
	from := ""
	if done.Before != "" && done.Before != done.Now {
		from = " (it was filled from " + done.Before + ")"
	}
	_, err = fmt.Fprintf(p.stdout, "the store %s belongs to %s from now on%s\n", cfg.StatePath, done.Now, from)
	return err
}
