package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/state"
)

func TestRounded(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 5 << 20: "5.0 MiB", 3 << 40: "3.0 TiB", 5 << 50: "5120.0 TiB"} {
		equal(t, want, rounded(bytes))
	}
}

// An answer that can't be written is an error, so that no script takes half of one for the whole.
func TestAnswerThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"version"}, {"version", "-o", "json"}, {"status"}, {"check"}, {"check", "-o", "json"}, {"destinations", "list"},
		{"deadletters", "list"}, {"deadletters", "show", "1"}, {"deadletters", "drop", "1"}, {"check", "--variables"},
	} {
		r := newRig()
		r.input.Environ = []string{"OPENLINEAGE__TRANSPORT__TYPE=noop"}
		r.store.letters = letters()
		r.store.destinations = []state.DestinationStatus{{}}
		r.process.stdout = fullDisk{}
		r.want(t, exitError, args...)
		if !strings.Contains(r.stderr.String(), errFullDisk.Error()) {
			t.Errorf("listener %v: standard error %q", args, r.stderr.String())
		}
	}
}

var errFullDisk = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFullDisk }
