package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/state"
)

// config reads the settings for commands that send nothing.
func (p *process) config() (config.Config, error) {
	in, err := p.input()
	if err != nil {
		return config.Config{}, err
	}
	cfg, _, err := config.Load(in)
	return cfg, err
}

// withStore opens the store beside a daemon for the time of do.
func (p *process) withStore(ctx context.Context, do func(s store) error) (err error) {
	cfg, err := p.config()
	if err != nil {
		return err
	}
	s, err := p.do.store(ctx, cfg.StatePath)
	if err != nil {
		if errors.Is(err, state.ErrDamaged) || errors.Is(err, state.ErrFatalIO) {
			return err
		}
		return &app.StartError{Err: err}
	}
	defer func() {
		if closing := s.Close(); err == nil && closing != nil {
			err = fmt.Errorf("closing the store: %w", closing)
		}
	}()
	return do(s)
}

// printable takes out of a consumer's answer what a terminal would act on.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
