package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prefect-openlineage/listener/state"
)

// Recovered says what Recover did.
type Recovered struct {
	// Moved are the files that were put aside, under their new names. None: the store was whole and was left alone.
	Moved []string
	// Since is when the positions that the new store starts from were noted; what was delivered since then goes out a
	// second time. Positions says whether there were any: without them the new store starts like a first one.
	Since     time.Time
	Positions bool
}

// Recover puts a damaged store's files aside as *.corrupt-<time> and makes a new one in their place that reads on from
// the marker's positions, before which everything had been delivered. A store that is whole is left alone, so the flag
// that calls this may stay set. Recover must not run beside a daemon: state.ErrLocked.
func Recover(ctx context.Context, path string, options Options) (Recovered, error) {
	options.Daemon = true
	s, err := Open(ctx, path, options)
	if err == nil {
		return Recovered{}, s.Close()
	}
	if !errors.Is(err, state.ErrDamaged) {
		return Recovered{}, err
	}
	f, err := locate(path)
	if err != nil {
		return Recovered{}, err
	}
	var done Recovered
	s = &Store{files: f, options: options, recovering: &done}
	if err := s.open(ctx); err != nil {
		return done, errors.Join(fmt.Errorf("recovering the store: %w", f.classify(err)), s.abandon())
	}
	return done, s.Close()
}

// putAside renames the damaged files. The marker stays: until the new store holds what it says, the store goes on
// counting as damaged, so a crash on the way does not pass for a first start.
func (f files) putAside(now time.Time) (Recovered, error) {
	var done Recovered
	suffix := ".corrupt-" + now.UTC().Format("20060102T150405.000000000Z")
	bad := []string{f.db, f.wal(), f.shm()}
	old, err := f.readMarker()
	switch {
	case errors.Is(err, state.ErrDamaged):
		bad = append(bad, f.marker())
	case err != nil:
		return done, err
	case old != nil:
		done.Since, done.Positions = old.Saved, len(old.Cursors) > 0
	}
	for _, path := range bad {
		_, exists, err := sizeOf(path)
		if err != nil {
			return done, err
		}
		if !exists {
			continue
		}
		if err := os.Rename(path, path+suffix); err != nil {
			return done, err
		}
		done.Moved = append(done.Moved, path+suffix)
	}
	return done, syncDir(f.dir())
}

// identify names a new store. In a recovered one it keeps the name and takes over what the marker says.
func (t *tx) identify(instance string, old *marker) error {
	if old == nil {
		return t.putMeta("instance", instance)
	}
	for name, value := range old.Cursors {
		if err := t.putCursors(map[string][]byte{name: value}); err != nil {
			return err
		}
	}
	if old.Owner != nil {
		if err := t.putOwner(*old.Owner); err != nil {
			return err
		}
	}
	return t.putMeta("instance", old.Instance)
}
