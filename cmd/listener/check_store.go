package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/state"
)

// tryStore looks at the store as a command would, and returns how the destinations stand in it. That there is none yet is
// well where the daemon can make it.
func (p *process) tryStore(ctx context.Context, c config.Config) (*finding, []state.DestinationStatus) {
	found := finding{Target: c.StatePath}
	s, err := p.do.store(ctx, c.StatePath)
	switch {
	case errors.Is(err, state.ErrNone):
		found.OK, found.Says = true, "is not there yet; the listener makes it when it starts"
		if err := canMake(c.StatePath); err != nil {
			found.OK, found.Says = false, "is not there yet, and can't be made: "+err.Error()
			found.ToDo = "The user that runs the listener has to be able to write there. In a container, a volume belongs there."
		}
		return &found, nil
	case err != nil:
		found.Says = err.Error()
		return &found, nil
	}
	size, err := s.Size(ctx)
	var standings []state.DestinationStatus
	if err == nil {
		standings, err = s.Status(ctx)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		found.Says = err.Error()
		return &found, nil
	}
	found.OK = true
	found.Says = fmt.Sprintf("%s in the outbox, %s left on the disk", count(size.Events, "event is", "events are"), rounded(size.DiskFree))
	if rests := app.Rests(size, c.OutboxMaxBytes); rests != "" {
		found.OK, found.Says = false, "reading is paused: "+rests
		found.ToDo = "Make room on the disk, or mend or park the destination that takes nothing (listener status). Reading goes on by itself."
	}
	return &found, standings
}

// canMake says why the store's folder can't be written or made, by asking for the rights alone.
func canMake(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		err := unix.Access(dir, unix.W_OK|unix.X_OK)
		if errors.Is(err, os.ErrNotExist) && dir != filepath.Dir(dir) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		return nil
	}
}

// trouble is what a daemon last said of the way to a destination. A wrong path shows in events alone, so it is told beside
// what the try says.
func (p *process) trouble(standings []state.DestinationStatus, name string) string {
	for _, d := range standings {
		if d.Name == name && d.Trouble.State != "" {
			return fmt.Sprintf("%s for %s (%s), as the listener last said; its log has the answer",
				d.Trouble.State, age(d.Trouble.Since, p.now()), d.Trouble.Reason)
		}
	}
	return ""
}
