package main

import (
	"strings"
	"testing"
	"time"
)

func TestWhen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{ // before today
		"now": 0, "24h": 24 * time.Hour, "24h ago": 24 * time.Hour, " 90m ": 90 * time.Minute, "7d": 168 * time.Hour,
		"1d2h30m ago": 26*time.Hour + 30*time.Minute, "2026-11-30": 12 * time.Hour, "2026-11-30T12:00:00Z": 0,
		"2026-11-30T12:00:00.5+01:00": time.Hour - 500*time.Millisecond, "0s": 0,
	} {
		got, err := when("--since", text, today)
		if err != nil || !got.Equal(today.Add(-want)) {
			t.Errorf("when(%q) = %v, %v; want %v", text, got, err, today.Add(-want))
		}
	}
	for _, text := range []string{"tomorrow", "24", "-1h", "1d-1h", "2026-11-30 12:00", "2026-11-30T12:00:00", "30.11.2026", "ago", "d", "999999d"} {
		if got, err := when("--since", text, today); err == nil {
			t.Errorf("when(%q) = %v, want an error", text, got)
		} else if want := `--since="` + text + `": takes a time with its zone`; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("when(%q): %v, want %s", text, err, want)
		}
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		w    window
		want string
	}{
		{"nothing", window{}, "--since is missing: takes a time, or how long ago"},
		{"ahead", window{Since: "2026-12-01"}, `--since="2026-12-01": lies ahead`},
		{"the wrong way", window{Since: "1h", Until: "2h"}, `--until="2h": must be after --since`},
		{"nothing between", window{Since: "1h", Until: "1h"}, `--until="1h": must be after --since`},
		{"fine", window{Since: "2h", Until: "1h"}, ""},
		{"a run alone", window{Run: []string{"5b8b2f0e-2a4b-4c0e-9d9e-0a3f6c1c2d4e"}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := test.w.request(today)
			var got string
			if err != nil {
				got = err.Error()
			}
			equal(t, test.want, got)
		})
	}
}
