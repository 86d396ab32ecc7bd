package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/prefect-openlineage/listener/state"
)

// lock is the daemon's claim on a store. The kernel holds it for the open file, so it ends with the process, however
// that ends; the file itself stays, since removing it could let two processes lock two files of one name.
type lock struct{ file *os.File }

// A command that looks whether a daemon runs holds the lock for a moment, which must not turn a daemon away.
const (
	lockTries = 5
	lockWait  = 20 * time.Millisecond
)

func (f files) takeLock() (*lock, error) {
	// Go opens with O_CLOEXEC: no child keeps the lock alive.
	file, err := os.OpenFile(f.lock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the store's lock: %w", err)
	}
	err = flock(file)
	for range lockTries {
		if !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		time.Sleep(lockWait)
		err = flock(file)
	}
	if err != nil {
		holder := readHolder(file)
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s runs on %s", state.ErrLocked, holder, f.db)
		}
		return nil, fmt.Errorf("locking the store: %w", err)
	}
	l := &lock{file: file}
	if err := l.sign(); err != nil {
		_ = l.release()
		return nil, err
	}
	return l, nil
}

func flock(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// sign writes this process's id for whoever comes second.
func (l *lock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("signing the store's lock: %w", err)
	}
	if _, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("signing the store's lock: %w", err)
	}
	return nil
}

func (l *lock) release() error { return l.file.Close() }

// readHolder names the process that holds the lock. It may have taken it a moment ago and not signed yet.
func readHolder(file *os.File) string {
	for range 10 {
		text, err := io.ReadAll(io.NewSectionReader(file, 0, 32))
		if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
			return "pid " + pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	return "another process"
}

// Locked says whether a daemon runs on the store at path.
func Locked(path string) (bool, error) {
	f, err := locate(path)
	if err != nil {
		return false, err
	}
	file, err := os.Open(f.lock())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("opening the store's lock: %w", err)
	}
	defer file.Close()
	switch err := flock(file); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("asking for the store's lock: %w", err)
	default:
		return false, nil // closing the file gives the lock back
	}
}
