package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// files names all that one store keeps on disk. Beside the database and its write-ahead log stand the marker, which
// says that the store was once filled, and the lock of the daemon.
type files struct {
	db string // absolute
}

func locate(path string) (files, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return files{}, fmt.Errorf("finding the store's path: %w", err)
	}
	return files{db: abs}, nil
}

func (f files) dir() string    { return filepath.Dir(f.db) }
func (f files) wal() string    { return f.db + "-wal" }
func (f files) shm() string    { return f.db + "-shm" }
func (f files) lock() string   { return f.db + ".lock" }
func (f files) marker() string { return f.db + ".instance.json" }

// dsn is the database's address for the driver. Each connection waits up to 5 s for another process's write.
func (f files) dsn(mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_dqs": {"0"}, "_error_rc": {"1"}, "_defensive": {"1"}}
	q["_pragma"] = append([]string{"busy_timeout(5000)"}, pragmas...)
	u := url.URL{Scheme: "file", Path: f.db, RawQuery: q.Encode()}
	return u.String()
}

func (f files) makeDir() error {
	if err := os.MkdirAll(f.dir(), 0o700); err != nil {
		return fmt.Errorf("creating the store's folder: %w", err)
	}
	return nil
}

// create makes an empty database file that only this user may read. SQLite gives its other files the same mode.
func (f files) create() error {
	file, err := os.OpenFile(f.db, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating the store: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("creating the store: %w", err)
	}
	return syncDir(f.dir())
}

// sizeOf returns a file's size; 0 and false where there is none. It never opens the file: closing a second handle of a
// database would drop the locks that SQLite holds on it in this process.
func sizeOf(path string) (int64, bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return info.Size(), true, nil
}

// syncDir makes a folder's entries durable: a rename or a new file is not, before its folder is.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("opening a folder to sync it: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("syncing a folder: %w", err)
	}
	return nil
}

// DiskFree returns the bytes that this user may still write on the disk that holds the folder.
func DiskFree(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("asking for the free space of %s: %w", dir, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // on some systems the size of a block is no int64
}
