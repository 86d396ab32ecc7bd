package main

import (
	"context"
	"errors"
	"io"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/factory"
)

// settings are the process's settings, read and tried out.
type settings struct {
	config       config.Config
	warnings     []config.Warning
	destinations []transport.Destination
}

// load reads the settings and makes the transports that they name, which finds what is wrong with those. The error
// holds all problems at once; what could be read is returned beside it.
func (p *process) load() (settings, error) {
	in, err := p.input()
	if err != nil {
		return settings{}, err
	}
	var s settings
	s.config, s.warnings, err = config.Load(in)
	var problems config.Problems
	if err != nil && !errors.As(err, &problems) {
		return s, err
	}
	s.destinations, err = p.transports(s.config.OpenLineage, func(w config.Warning) { s.warnings = append(s.warnings, w) })
	if more, ok := errors.AsType[config.Problems](err); ok {
		problems = append(problems, more...)
	} else if err != nil {
		return s, err
	}
	if len(problems) > 0 {
		return s, problems
	}
	return s, nil
}

// transports makes the transports. Its error is in the user's terms.
func (p *process) transports(c config.OpenLineage, warn func(config.Warning)) ([]transport.Destination, error) {
	destinations, err := factory.Build(c.Transport, factory.Options{
		Stdout: io.Discard, UserAgent: prefect.DefaultUserAgent + "/" + p.built.Version, Getenv: p.getenv,
		Warn: func(text string) { warn(c.ExplainWarning(text)) }, Order: c.KeysInOrder, Now: p.now,
	})
	if err != nil {
		return nil, c.Explain(err)
	}
	return destinations, nil
}

// close releases the transports that were tried out.
func (s settings) close(ctx context.Context) {
	for _, d := range s.destinations {
		_ = d.Transport.Close(ctx) // nothing was sent that could be lost
	}
}

// options are the settings as package app takes them, with a logger to standard error that has named the warnings; those
// about sending only where something is sent.
func (p *process) options(ctx context.Context, sends bool) (app.Options, error) {
	s, err := p.load()
	s.close(ctx)
	if err != nil {
		return app.Options{}, err
	}
	known := config.NewKnown(s.config)
	log := newLogger(s.config.Log, maskingWriter{p.stderr, known.All})
	for _, w := range s.warnings {
		if w.Sending && !sends {
			continue
		}
		log.Warn("a setting may not mean what was meant", zap.String("setting", w.Where), zap.String("problem", w.Text))
	}
	return app.Options{
		Config: s.config, Reload: p.config, Version: p.built.Version, Commit: p.built.Commit, Date: p.built.Date,
		Log: log, Known: known, Stdout: p.stdout, Getenv: p.getenv,
	}, nil
}
