package file_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/file"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// noon is a moment that does not move, in a zone of its own: names show it.
func noon() time.Time {
	return time.Date(2026, 11, 30, 12, 30, 15, 123456789, time.FixedZone("here", 3600))
}

func lines(tb testing.TB, path string) [][]byte {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		tb.Fatal(err)
	}
	var all [][]byte
	for line := range bytes.Lines(text) {
		all = append(all, bytes.TrimSuffix(line, []byte("\n")))
	}
	return all
}

// names lists a folder, hidden files too.
func names(tb testing.TB, folder string) []string {
	tb.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		tb.Fatal(err)
	}
	all := []string{}
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func emit(tb testing.TB, tr transport.Transport, event transport.Event) {
	tb.Helper()
	if err := tr.Emit(tb.Context(), event); err != nil {
		tb.Fatal(err)
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	t.Run("append", func(t *testing.T) {
		t.Parallel()
		transporttest.Run(t, func(tb testing.TB) (transport.Transport, func() [][]byte) {
			path := filepath.Join(tb.TempDir(), "a", "b", "events.json")
			return file.New(file.Config{Path: path, Append: true}, nil), func() [][]byte { return lines(tb, path) }
		})
	})
	t.Run("a file each", func(t *testing.T) {
		t.Parallel()
		transporttest.Run(t, func(tb testing.TB) (transport.Transport, func() [][]byte) {
			folder := filepath.Join(tb.TempDir(), "a", "b")
			// All in one microsecond, so that every name is taken but the first.
			return file.New(file.Config{Path: filepath.Join(folder, "events")}, noon), func() [][]byte {
				var all [][]byte
				for _, name := range names(tb, folder) {
					all = append(all, lines(tb, filepath.Join(folder, name))...)
				}
				return all
			}
		})
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	event := transporttest.Event(1, 0)
	event.Name = "flow a/б-1_2.x:ü"
	tests := []struct {
		name   string
		config file.Config
		change func(*transport.Event)
		want   []string
	}{
		{"append", file.Config{Path: "ev.json", Append: true}, nil, []string{"ev.json"}},
		{
			"a file each", file.Config{Path: "a.json"}, nil,
			[]string{"a.json-20261130-123015.123456.json", "a.json-20261130-123015.123457.json"},
		},
		{
			"debug", file.Config{Path: "ev", Debug: true}, nil,
			[]string{"ev-261130T123015.123456-flow__a__б-1_2.x__ü-START.json", "ev-261130T123015.123457-flow__a__б-1_2.x__ü-START.json"},
		},
		{
			"debug without a type", file.Config{Path: "ev", Debug: true}, func(e *transport.Event) { e.Type = "" },
			[]string{
				"ev-261130T123015.123456-flow__a__б-1_2.x__ü-unknown_event_type.json",
				"ev-261130T123015.123457-flow__a__б-1_2.x__ü-unknown_event_type.json",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			folder, event := t.TempDir(), event
			if tt.change != nil {
				tt.change(&event)
			}
			tt.config.Path = filepath.Join(folder, tt.config.Path)
			tr := file.New(tt.config, noon)
			emit(t, tr, event)
			emit(t, tr, event)
			if diff := cmp.Diff(tt.want, names(t, folder)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongJobNamesFitAndStayApart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	tr := file.New(file.Config{Path: filepath.Join(folder, "ev"), Debug: true}, noon)
	for _, end := range []string{"one", "two"} {
		event := transporttest.Event(1, 0)
		event.Name = strings.Repeat("é", 1000) + end
		emit(t, tr, event)
	}
	got := names(t, folder)
	if len(got) != 2 || strings.Contains(got[0]+got[1], "123457") {
		t.Errorf("%v", got)
	}
	for _, name := range got {
		if len(name) > 255 || !strings.HasSuffix(name, "-START.json") || strings.ContainsRune(name, '\uFFFD') {
			t.Errorf("%d bytes: %s", len(name), name)
		}
	}
}

func TestDebugIndents(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	event := transport.Event{Name: "n", Type: "START", Body: []byte(`{"a":{"b":[1.50,"é"]}}`)}
	emit(t, file.New(file.Config{Path: filepath.Join(folder, "ev"), Debug: true}, noon), event)
	got, err := os.ReadFile(filepath.Join(folder, names(t, folder)[0]))
	if err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"a\": {\n    \"b\": [\n      1.50,\n      \"é\"\n    ]\n  }\n}\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestOthersFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	taken := filepath.Join(folder, "ev-20261130-123015.123456.json")
	if err := os.WriteFile(taken, []byte("of a Python client"), 0o600); err != nil {
		t.Fatal(err)
	}
	emit(t, file.New(file.Config{Path: filepath.Join(folder, "ev")}, noon), transporttest.Event(1, 0))
	if got := string(lines(t, taken)[0]); got != "of a Python client" {
		t.Errorf("overwritten: %s", got)
	}
	if got := names(t, folder); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// A crash in the middle of a write leaves half a line: the next event must not become its other half.
func TestATornLineIsEnded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events.json")
	if err := os.WriteFile(path, []byte("{\"a\":1}\n{\"b\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := file.New(file.Config{Path: path, Append: true}, nil)
	event := transporttest.Event(1, 0)
	emit(t, tr, event)
	emit(t, tr, event)
	want := [][]byte{[]byte(`{"a":1}`), []byte(`{"b":`), event.Body, event.Body}
	if diff := cmp.Diff(want, lines(t, path)); diff != "" {
		t.Error(diff)
	}
}

func TestAMovedFileIsBegunAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events.json")
	tr := file.New(file.Config{Path: path, Append: true}, nil)
	emit(t, tr, transporttest.Event(1, 0))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	emit(t, tr, transporttest.Event(1, 1))
	if a, b := lines(t, path+".1"), lines(t, path); len(a) != 1 || len(b) != 1 {
		t.Errorf("%d and %d lines", len(a), len(b))
	}
}

func TestAPipeIsNoFileButTakesLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatalf("making a named pipe: %v", err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	event := transporttest.Event(1, 0)
	emit(t, file.New(file.Config{Path: path, Append: true}, nil), event)
	got := make([]byte, len(event.Body)+1)
	if _, err := reader.Read(got); err != nil || string(got) != string(event.Body)+"\n" {
		t.Errorf("%q %v", got, err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	plain := filepath.Join(folder, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		config  file.Config
		outcome transport.Outcome
		reason  string
	}{
		{"a folder", file.Config{Path: folder, Append: true}, transport.Hold, transport.ReasonFile},
		{"a file for a folder", file.Config{Path: filepath.Join(plain, "x"), Append: true}, transport.Hold, transport.ReasonFile},
		{"a file for a folder above", file.Config{Path: filepath.Join(plain, "x", "y")}, transport.Hold, transport.ReasonFile},
		{"a name that is too long", file.Config{Path: filepath.Join(folder, strings.Repeat("x", 300))}, transport.Hold, transport.ReasonFile},
		{"a place where nothing can be made", file.Config{Path: "/proc/no/x"}, transport.Hold, transport.ReasonFile},
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		tests = append(tests, struct {
			name    string
			config  file.Config
			outcome transport.Outcome
			reason  string
		}{"a full disk", file.Config{Path: "/dev/full", Append: true}, transport.Retry, transport.ReasonFull})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := transporttest.RequireError(t, file.New(tt.config, nil).Emit(t.Context(), transporttest.Event(1, 0)))
			if e.Outcome != tt.outcome || e.Reason != tt.reason {
				t.Errorf("%v %q, want %v %q: %v", e.Outcome, e.Reason, tt.outcome, tt.reason, e)
			}
		})
	}
	if got := names(t, folder); !slices.Equal(got, []string{"plain"}) {
		t.Errorf("left behind: %v", got)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	plain := filepath.Join(folder, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		config file.Config
		want   string
	}{
		{"the file itself", file.Config{Path: plain, Append: true}, plain + " can be written"},
		{"a file that is not there yet", file.Config{Path: filepath.Join(folder, "a", "b"), Append: true}, folder + " can be written"},
		{"a beginning of names", file.Config{Path: filepath.Join(folder, "a", "b")}, folder + " can be written"},
		{"a folder", file.Config{Path: folder, Append: true}, ""},
		{"a file for a folder", file.Config{Path: filepath.Join(plain, "x")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := file.New(tt.config, nil).Probe(t.Context())
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("%q %v, want %q", got, err, tt.want)
			}
			if err == nil {
				return
			}
			if e := transporttest.RequireError(t, err); e.Outcome != transport.Hold {
				t.Errorf("%v", e.Outcome)
			}
		})
	}
	if got := names(t, folder); !slices.Equal(got, []string{"plain"}) {
		t.Errorf("a probe made %v", got)
	}
}
