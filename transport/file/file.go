// Package file writes events to local files: all to one, a line each, or each to a file of its own.
//
// An event counts as delivered once it is on the disk (fsync of the file, and of its folder when the file is new), so
// that a crash of the machine loses nothing that was settled. Nothing rotates the files. In append mode the path is
// opened anew for each event: a file that was moved away is simply begun again.
package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/console"
)

// Transport writes files. It is safe for concurrent use; writes follow one another.
type Transport struct {
	config Config
	now    func() time.Time
	mu     sync.Mutex
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Prober    = (*Transport)(nil)
)

// New returns a transport. It touches no file; folders are made when the first event comes. A nil now is the system's
// clock; its zone is that of the file names, which is the machine's own as in the Python client.
func New(c Config, now func() time.Time) *Transport {
	if now == nil {
		now = time.Now
	}
	return &Transport{config: c, now: now}
}

// Emit writes one event.
func (t *Transport) Emit(ctx context.Context, event transport.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := ctx.Err()
	if err == nil {
		err = makeFolder(filepath.Dir(t.config.Path))
	}
	switch {
	case err != nil:
	case t.config.Append:
		err = appendLine(t.config.Path, console.Line(event.Body))
	default:
		err = t.writeOwn(event)
	}
	if err != nil {
		return transport.ClassifyError(fmt.Errorf("writing to %s: %w", t.config.Path, err))
	}
	return nil
}

// Close does nothing: no file stays open.
func (t *Transport) Close(context.Context) error { return nil }

// appendLine adds a line to a file in one write. A line before it that a crash or a full disk cut off is ended first,
// and one that this write leaves cut off is taken back where nobody has written behind it.
func appendLine(path string, line []byte) (err error) {
	_, missing := os.Stat(path)
	// Reading is for the last byte; O_NONBLOCK keeps a pipe without a reader from blocking for ever.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR|syscall.O_NONBLOCK, 0o666) //nolint:gosec // umask
	if err != nil {
		return err
	}
	defer func() { err = first(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if info.Mode().IsRegular() && size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if n, err := f.Write(line); err != nil {
		if after, statErr := f.Stat(); statErr == nil && info.Mode().IsRegular() && after.Size() == size+int64(n) {
			_ = f.Truncate(size) // else the next event ends the torn line
		}
		return err
	}
	if err := syncFile(f); err != nil {
		return err
	}
	if errors.Is(missing, fs.ErrNotExist) {
		return syncFolder(path)
	}
	return nil
}

// writeOwn writes an event to a file of its own. The file is there whole or not at all, and none is overwritten: a name
// that is taken, by an event of the same microsecond, moves on by one.
func (t *Transport) writeOwn(event transport.Event) error {
	content := append(bytes.Clone(event.Body), '\n')
	if t.config.Debug {
		var indented bytes.Buffer
		if err := json.Indent(&indented, event.Body, "", "  "); err == nil {
			indented.WriteByte('\n')
			content = indented.Bytes()
		}
	}
	folder, base := filepath.Split(t.config.Path)
	temporary := filepath.Join(folder, "."+base+"."+strconv.Itoa(os.Getpid())+".tmp")
	if err := writeSynced(temporary, content); err != nil {
		_ = os.Remove(temporary)
		return err
	}
	at := t.now().Truncate(time.Microsecond)
	for {
		name := t.config.name(event, at)
		err := os.Link(temporary, name)
		if err != nil {
			if _, statErr := os.Lstat(name); statErr == nil {
				at = at.Add(time.Microsecond)
				continue
			}
			err = os.Rename(temporary, name) // a file system without hard links
		}
		if err = first(err, removeIfThere(temporary)); err != nil {
			return err
		}
		return syncFolder(name)
	}
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666) //nolint:gosec // the umask decides
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = syncFile(f)
	}
	return first(err, f.Close())
}

// first returns the first error: a later one follows from it and would only add a line.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncFile brings a file to the disk. What has no disk (a pipe, a terminal, some network mounts) says so and is done.
func syncFile(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// makeFolder makes a folder and those above it, and brings their names to the disk.
func makeFolder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		if err := makeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o777); err != nil { //nolint:gosec // the umask decides, as for the files
		if errors.Is(err, fs.ErrExist) {
			return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
		}
		return err
	}
	return syncFolder(path)
}

// syncFolder brings a new file's name to the disk.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return first(syncFile(folder), folder.Close())
}
