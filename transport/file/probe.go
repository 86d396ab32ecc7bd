package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/prefect-openlineage/listener/transport"
)

// Probe looks whether an event could be written, without making anything: the file itself in append mode where it is
// there, else the nearest folder that is.
func (t *Transport) Probe(context.Context) (string, error) {
	path := t.config.Path
	if !t.config.Append {
		path = filepath.Dir(path)
	}
	for {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
			path = filepath.Dir(path)
			continue
		}
		switch {
		case err != nil:
		case path == t.config.Path && info.IsDir():
			err = &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
		case path != t.config.Path && !info.IsDir():
			err = &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
		default:
			err = writable(path, info)
		}
		if err != nil {
			return "", transport.ClassifyError(fmt.Errorf("looking at %s: %w", path, err))
		}
		return path + " can be written", nil
	}
}

func writable(path string, info fs.FileInfo) error {
	mode := uint32(unix.W_OK)
	if info.IsDir() {
		mode |= unix.X_OK
	}
	if err := unix.Access(path, mode); err != nil {
		return &fs.PathError{Op: "access", Path: path, Err: err}
	}
	return nil
}
