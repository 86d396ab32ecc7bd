package versions

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

const (
	// missed is how many flow runs, each with a task run, ended while nobody listened: over two pages of either.
	missed = 450
	// missedIn is the time in which they did. The listener reads it in pieces.
	missedIn = 20 * time.Hour
)

// away lets a listener catch up with a day that it missed, killed in the middle of it: it goes on where it was. A
// backfill of that day then gives the same bytes, and the same as what was told live.
func away(t *testing.T, p *rig.Prefect, live []told.Event) {
	seed(t, p, missed, missedIn)
	want := told.Expected(t, p)
	if len(want) < 2*missed {
		t.Fatalf("%d runs to be told", len(want))
	}
	out := filepath.Join(t.TempDir(), "away.ndjson")
	// So few requests that the catch-up takes a while.
	l := rig.NewListener(t, p.URL, told.FileSink(out), "LISTENER_LOOKBACK=24h", "LISTENER_MAX_REQUESTS_PER_SECOND=4")
	began := time.Now()
	l.Start()
	var reached time.Time
	rig.Eventually(t, 2*time.Minute, "the position has moved on", func() bool {
		reached = readUpTo(t, l)
		return reached.After(began.Add(-23 * time.Hour))
	})
	l.Kill()
	if reached.After(began.Add(-time.Hour)) {
		t.Errorf("the catch-up was over, up to %s, before it could be broken off", reached)
	}
	l.Env = append(l.Env, "LISTENER_MAX_REQUESTS_PER_SECOND=1000")
	l.Start()
	awaitAll(t, want, out, l)
	again := backfill(t, p, live)
	caughtUp := lastWords(told.Read(t, out))
	// What assets were made is told a while after the ends that come without them.
	for deadline := time.Now().Add(4 * time.Minute); !maps.Equal(again, told.Bodies(t, caughtUp)) && time.Now().Before(deadline); {
		time.Sleep(time.Second)
		caughtUp = lastWords(told.Read(t, out))
	}
	if code := l.Stop(); code != 0 {
		t.Errorf("the listener ended with %d: %s", code, l.Log())
	}
	told.Judge(t, want, caughtUp, len(caughtUp))
	quietLog(t, l)

	if diff := cmp.Diff(again, told.Bodies(t, caughtUp)); diff != "" {
		t.Errorf("backfill and catch-up (-backfill +catch-up):\n%s", diff)
	}
	told.Validate(t, caughtUp[len(caughtUp)-min(20, len(caughtUp)):])
}

// backfill tells of the last day and returns the bytes by run, type and time. They are what was told live.
func backfill(t *testing.T, p *rig.Prefect, live []told.Event) map[string]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backfill.ndjson")
	l := rig.NewListener(t, p.URL, told.FileSink(path))
	if code, _, stderr := l.Run("backfill", "--since", "24h"); code != 0 {
		t.Fatalf("backfill ended with %d: %s", code, stderr)
	}
	again := told.Bodies(t, told.Read(t, path))
	said := told.Bodies(t, live)
	same := 0
	for key, body := range again {
		text, ok := said[key]
		if !ok {
			continue // it was missed, or told live with what was known too late
		}
		if same++; text != body {
			t.Errorf("told live:\n%s\nand in the backfill:\n%s", text, body)
		}
	}
	if few := len(live) - len(live)/10; same < few {
		t.Errorf("the backfill told %d of %d events of the live ones, at least %d should be", same, len(live), few)
	}
	return again
}

// awaitAll waits until all that has to be told stands in a file.
func awaitAll(t *testing.T, want map[string]told.Expectation, path string, l *rig.Listener) {
	t.Helper()
	var missing []string
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if missing = told.Missing(want, told.Read(t, path)); len(missing) == 0 {
			return
		}
	}
	log := l.Log()
	t.Fatalf("%d runs are not told of, such as\n%s\nThe listener's log ends with\n%s", len(missing),
		strings.Join(missing[:min(5, len(missing))], "\n"), log[max(0, len(log)-4000):])
}

// readUpTo is the listener's position, zero before its first.
func readUpTo(t *testing.T, l *rig.Listener) time.Time {
	t.Helper()
	code, stdout, _ := l.Run("status", "-o", "json")
	var status struct {
		ReadUpTo time.Time `json:"read_up_to"`
	}
	if code != 0 {
		return time.Time{}
	}
	if err := json.Unmarshal([]byte(stdout), &status); err != nil {
		t.Fatalf("status: %v: %s", err, stdout)
	}
	return status.ReadUpTo
}

// lastWords leaves of each event the last that was said of it, in the place of the first. A kill may make copies, and a
// task's end is said again, a microsecond later, when the events about its assets come after it.
func lastWords(events []told.Event) []told.Event {
	at := map[string]int{}
	var all []told.Event
	for _, e := range events {
		i, again := at[moment(e, 0)]
		if !again && e.Terminal() {
			i, again = at[moment(e, -time.Microsecond)]
		}
		if !again {
			i, all = len(all), append(all, e)
		}
		at[moment(e, 0)] = i
		if !e.EventTime.Before(all[i].EventTime) {
			all[i] = e
		}
	}
	return all
}

// moment is what an event is about: its run, its type and its time, moved by some.
func moment(e told.Event, by time.Duration) string {
	return e.Run.RunID + e.EventType + e.EventTime.Add(by).String()
}
