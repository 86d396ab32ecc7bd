package ingest

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/prefect"
)

// RunReader reads runs by id, while polls go on.
type RunReader interface {
	Read(ctx context.Context, ids prefect.OpenRuns) (prefect.Changes, error)
	// Stored hears which rows are stored, and which of their runs were left for later.
	Stored(changes prefect.Changes, left []uuid.UUID)
	// RelyOn has polls pass over what ended before the time that heard returns: it was read by id.
	RelyOn(heard func(now time.Time) time.Time)
}

// Follower reads the runs that events named, and tells of them at once. It never moves the cursor: whatever it misses is
// found by the polls.
type Follower struct {
	Hints    *Hints
	Runs     RunReader
	Recorder *Recorder
	// Tasks notices where flow runs come without their task runs. Nil: nobody does.
	Tasks *TaskWatch
	Log   *zap.Logger
}

// NewFollower returns a follower, and has polls and the looks for assets leave out what events make needless: neither runs nor
// recorder may be at work yet.
func NewFollower(hints *Hints, runs RunReader, recorder *Recorder, log *zap.Logger) *Follower {
	runs.RelyOn(hints.ReadUpTo)
	recorder.AssetsQuiet = hints.AssetsQuiet
	return &Follower{Hints: hints, Runs: runs, Recorder: recorder, Log: log}
}

// Run follows until the context ends, which is no error. It returns an error only when nothing more can be stored.
func (f *Follower) Run(ctx context.Context) error {
	for {
		runs, wait := f.Hints.due(time.Now())
		if wait > 0 {
			if !f.rest(ctx, wait) {
				return nil
			}
			continue
		}
		if err := f.look(ctx, runs); err != nil {
			if fatal(err) {
				return err
			}
			if ctx.Err() != nil {
				return nil
			}
			f.Log.Debug("the runs that events named could not be read", zap.Error(err))
			f.Hints.lookFailed()
		}
	}
}

func (f *Follower) rest(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-f.Hints.more:
	}
	return true
}

// look reads runs and records what is new of them.
func (f *Follower) look(ctx context.Context, runs prefect.OpenRuns) error {
	read, err := f.Runs.Read(ctx, runs)
	if err != nil {
		return err
	}
	fresh := f.Hints.unread(prefect.Changes{FlowRuns: read.FlowRuns, TaskRuns: read.TaskRuns, Now: read.Now})
	var stored Stored
	if len(fresh.FlowRuns)+len(fresh.TaskRuns) > 0 {
		if _, err := f.Recorder.Record(ctx, fresh, Mode{Live: true, Stored: func(s Stored) { stored = s }}); err != nil {
			return err
		}
	}
	f.Runs.Stored(read, stored.Left)
	f.Tasks.saw(read)
	f.Hints.followed(read, read.Bad, stored)
	return nil
}
