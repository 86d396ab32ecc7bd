package sqlite

import (
	"errors"
	"fmt"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/prefect-openlineage/listener/state"
)

// classify joins an error of SQLite or of the file system with the state error that callers branch on.
func (f files) classify(err error) error {
	if err == nil || errors.Is(err, state.ErrDamaged) || errors.Is(err, state.ErrFull) ||
		errors.Is(err, state.ErrFatalIO) || errors.Is(err, state.ErrBusy) {
		return err
	}
	var failure *driver.Error
	if !errors.As(err, &failure) {
		return classifyErrno(err)
	}
	switch failure.Code() & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: %s: %w; %s", state.ErrDamaged, f.db, err, f.advice())
	case lib.SQLITE_FULL, lib.SQLITE_READONLY:
		if failure.Code() == lib.SQLITE_READONLY_DBMOVED {
			return f.damaged("was moved or removed while it was open")
		}
		return fmt.Errorf("%w: %s: %w", state.ErrFull, f.db, err)
	case lib.SQLITE_BUSY:
		return fmt.Errorf("%w: %w", state.ErrBusy, err)
	case lib.SQLITE_IOERR:
		// Growing the shared-memory index on a full disk is an I/O error in SQLite's words, though it passes.
		if failure.Code() != lib.SQLITE_IOERR_FSYNC && f.diskIsFull() {
			return fmt.Errorf("%w: %s: %w", state.ErrFull, f.db, err)
		}
		return fmt.Errorf("%w: %s: %w", state.ErrFatalIO, f.db, err)
	default:
		return err
	}
}

func classifyErrno(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS): // all may pass
		return fmt.Errorf("%w: %w", state.ErrFull, err)
	case errors.Is(err, syscall.EIO):
		return fmt.Errorf("%w: %w", state.ErrFatalIO, err)
	default:
		return err
	}
}

func isCode(err error, code int) bool {
	var failure *driver.Error
	return errors.As(err, &failure) && failure.Code() == code
}

// damaged is the error for a store that must not be used as it is.
func (f files) damaged(what string) error {
	return fmt.Errorf("%w: %s %s; %s", state.ErrDamaged, f.db, what, f.advice())
}

func (f files) advice() string {
	return "put a good copy of it back, or start once with --recover, which keeps the bad files as *.corrupt-<time> " +
		"and reads again from Prefect what was not delivered"
}

// fullBelow is the free space at which a failed write is blamed on a full disk.
const fullBelow = 256 << 10

func (f files) diskIsFull() bool {
	free, err := DiskFree(f.dir())
	return err == nil && free < fullBelow
}
