package ingest

import (
	"context"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
)

// Chronological is tested by itself.
var Chronological = chronological

// Saw, Judge and Load are what the loop calls.
func (w *TaskWatch) Saw(c prefect.Changes) { w.saw(c) }

// Judge looks at what had its time.
func (w *TaskWatch) Judge(ctx context.Context, now time.Time) error { return w.judge(ctx, now) }

// Load takes up what was stored.
func (w *TaskWatch) Load(ctx context.Context) error { return w.load(ctx) }
