package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// What a file may hold at most, so that a wrong path does not fill the memory.
const (
	maxConfigBytes = 1 << 20 // an openlineage.yml
	maxCertBytes   = 8 << 20 // a PEM file; the bundles of systems are below 1 MiB
)

var errNotRegular = errors.New("it is no regular file")

// readFile returns the content of a file that readable lets through, and of no more than most bytes.
func readFile(files fs.FS, name string, most int64) ([]byte, error) {
	info, err := fs.Stat(files, rooted(name))
	if err != nil {
		return nil, cause(err)
	}
	if err := readable(name, info); err != nil {
		return nil, err
	}
	file, err := files.Open(rooted(name))
	if err != nil {
		return nil, cause(err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, cause(err)
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("it is over %s", Size(most))
	}
	return content, nil
}

// readable refuses what may have no end or never answer: devices, folders, sockets and named pipes. Info is that of
// what links lead to, as Kubernetes makes them. A shell's process substitution is a pipe that does answer, since the
// shell has opened its other end.
func readable(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	name = path.Clean(name)
	handed := strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
	if handed && info.Mode().Type() == fs.ModeNamedPipe {
		return nil
	}
	return errNotRegular
}
