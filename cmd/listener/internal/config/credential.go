package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// maxSecretBytes bounds a file that holds a secret: no credential is that long, a wrong path easily is.
const maxSecretBytes = 64 << 10

// Credential is a secret that was given as such, or the content of a file that is read again when it changes. The
// zero Credential is none. Its methods may be called from several goroutines; copies share what they know of the file.
type Credential struct {
	fixed Secret
	file  *secretFile
}

// NewCredential returns a credential that stays as it is.
func NewCredential(text string) Credential { return Credential{fixed: NewSecret(text)} }

// IsSet says whether there is a credential.
func (c Credential) IsSet() bool { return c.file != nil || !c.fixed.IsZero() }

// Value returns the secret as it is now. Where its file can't be read it returns the last good value beside the error.
func (c Credential) Value() (Secret, error) {
	if c.file == nil {
		return c.fixed, nil
	}
	return c.file.value()
}

// Changed says whether the file's secret is another one than the first that was read. A file that can't be read now
// has not changed: it is most likely being replaced.
func (c Credential) Changed() bool {
	if c.file == nil {
		return false
	}
	now, err := c.file.value()
	return err == nil && !now.Equal(c.file.first)
}

// String is that of the Secret.
func (c Credential) String() string {
	if c.IsSet() {
		return Redacted
	}
	return ""
}

// secretFile reads a secret from a file when the file has changed since it was last read.
type secretFile struct {
	files fs.FS
	path  string
	first Secret
	now   func() time.Time

	mu     sync.Mutex
	last   Secret
	seen   fs.FileInfo
	readAt time.Time
}

// settled is how old a file's time of change must be at reading for an equal time to mean an equal content: file
// systems keep that time in steps of up to two seconds.
const settled = 2 * time.Second

// newSecretFile reads the file for the first time.
func newSecretFile(files fs.FS, path string, now func() time.Time) (*secretFile, error) {
	f := &secretFile{files: files, path: path, now: now}
	secret, err := f.value()
	if err != nil {
		return nil, err
	}
	f.first = secret
	return f, nil
}

func (f *secretFile) value() (Secret, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := fs.Stat(f.files, rooted(f.path))
	if err != nil {
		return f.last, fmt.Errorf("reading %s: %w", f.path, cause(err))
	}
	if err := readable(f.path, info); err != nil {
		return f.last, fmt.Errorf("reading %s: %w", f.path, err)
	}
	if f.seen != nil && !info.Mode().IsRegular() {
		return f.last, nil // a pipe gives what it holds once
	}
	if f.seen != nil && info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size() &&
		f.readAt.Sub(info.ModTime()) > settled {
		return f.last, nil
	}
	readAt := f.now()
	secret, err := readSecret(f.files, f.path)
	if err != nil {
		return f.last, err
	}
	f.last, f.seen, f.readAt = secret, info, readAt
	return secret, nil
}

// readSecret returns a file's content less the line end that editors put there.
func readSecret(files fs.FS, path string) (Secret, error) {
	file, err := files.Open(rooted(path))
	if err != nil {
		return Secret{}, fmt.Errorf("reading %s: %w", path, cause(err))
	}
	defer func() { _ = file.Close() }() // nothing was written
	content, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	if err != nil {
		return Secret{}, fmt.Errorf("reading %s: %w", path, cause(err))
	}
	text := strings.TrimRight(string(content), "\r\n")
	switch {
	case len(content) > maxSecretBytes:
		return Secret{}, fmt.Errorf("reading %s: over %d bytes, which is no secret", path, maxSecretBytes)
	case text == "":
		return Secret{}, fmt.Errorf("reading %s: it is empty", path)
	}
	return NewSecret(text), nil
}

// rooted turns an absolute path into the name that an fs.FS from the root knows it by.
func rooted(name string) string {
	name = strings.TrimPrefix(path.Clean(filepath.ToSlash(name)), "/")
	if name == "" {
		return "."
	}
	return name
}

// cause is a file error without its path, which an fs.FS gives without the leading slash.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
