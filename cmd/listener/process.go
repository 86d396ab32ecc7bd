package main

import (
	"context"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

// process is what the commands know of the process they run in.
type process struct {
	args           []string // without the program's name
	stdout, stderr io.Writer
	built          build
	input          func() (config.Input, error)
	getenv         func(string) string
	now            func() time.Time
	terminal       bool // standard error is a terminal
	colours        bool // standard output is one, and may be coloured
	do             actions
}

// actions are what the commands have done for them. Tests put others here.
type actions struct {
	run      func(context.Context, app.Options) error
	backfill func(context.Context, app.Options, app.BackfillRequest) (app.BackfillResult, error)
	preview  func(ctx context.Context, o app.Options, request app.BackfillRequest, show app.Show) (app.BackfillResult, error)
	status   func(context.Context, app.Options) (app.StatusReport, error)
	adopt    func(context.Context, app.Options) (app.Adoption, error)
	// store opens the store beside a daemon.
	store func(ctx context.Context, path string) (store, error)
	// prefect makes a client of the settings.
	prefect func(config.Prefect, build, *zap.Logger) (prefectAPI, error)
}

// store is the store as commands use it.
type store interface {
	Status(context.Context) ([]state.DestinationStatus, error)
	Size(context.Context) (state.Size, error)
	Park(ctx context.Context, name string) error
	Resume(ctx context.Context, name string) (time.Time, error)
	DeadLetters(context.Context, state.DeadFilter) ([]state.DeadLetter, error)
	DeadLetter(ctx context.Context, id int64) (state.DeadLetter, error)
	Replay(ctx context.Context, ids []int64) (int, error)
	Drop(ctx context.Context, ids []int64) (int, error)
	Close() error
}

// prefectAPI is the part of the Prefect client that check uses.
type prefectAPI interface {
	Version(context.Context) (string, error)
	FlowRuns(context.Context, prefect.Filter) (prefect.Page[prefect.FlowRun], error)
	TaskRuns(context.Context, prefect.Filter) (prefect.Page[prefect.TaskRun], error)
	TryHints(context.Context) error
	Close()
}
