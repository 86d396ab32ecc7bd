package main

import (
	"context"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// theActions are what the program does outside of tests.
func theActions() actions {
	return actions{
		run: app.Run, backfill: app.Backfill, preview: app.Preview, status: app.Status, adopt: app.Adopt,
		store: func(ctx context.Context, path string) (store, error) {
			return sqlite.Open(ctx, path, sqlite.Options{})
		},
		prefect: func(c config.Prefect, b build, log *zap.Logger) (prefectAPI, error) {
			return app.NewPrefect(c, prefect.DefaultUserAgent+"/"+b.Version, log, nil)
		},
	}
}
