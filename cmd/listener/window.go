package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
)

// window is the stretch of history that backfill and preview are about.
type window struct {
	Since string   `placeholder:"TIME" help:"What started or ended since then: 2026-11-30T12:00:00Z, a day in UTC such as 2026-11-30, or how long ago, such as 24h or 7d."`
	Until string   `placeholder:"TIME" help:"And before then. Default: now."`
	Flow  string   `placeholder:"NAME" help:"Runs of this flow only."`
	Run   []string `placeholder:"ID" help:"This run only, by Prefect's id. May be given more than once, and then --since may be left out."`
}

// request reads the flags.
func (w window) request(now time.Time) (app.BackfillRequest, error) {
	r := app.BackfillRequest{Flow: w.Flow}
	var wrong []error
	var err error
	if r.Since, err = when("--since", w.Since, now); err != nil {
		wrong = append(wrong, err)
	}
	if r.Until, err = when("--until", w.Until, now); err != nil {
		wrong = append(wrong, err)
	}
	for _, text := range w.Run {
		id, err := runID(text)
		if err != nil {
			wrong = append(wrong, err)
		}
		r.Runs = append(r.Runs, id)
	}
	switch {
	case w.Since == "" && len(w.Run) == 0:
		wrong = append(wrong, errors.New("--since is missing: takes a time, or how long ago"))
	case r.Since.After(now):
		wrong = append(wrong, fmt.Errorf("--since=%q: lies ahead", w.Since))
	case !r.Until.IsZero() && !r.Until.After(r.Since):
		wrong = append(wrong, fmt.Errorf("--until=%q: must be after --since", w.Until))
	}
	if err := errors.Join(wrong...); err != nil {
		return app.BackfillRequest{}, usageError{err}
	}
	return r, nil
}

func runID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.UUID{}, fmt.Errorf("--run=%q: takes the id of a run, as Prefect shows it", text)
	}
	return id, nil
}

// days is a duration that begins with days, which Go's have no unit for: 7d, 1d12h.
var days = regexp.MustCompile(`^([0-9]{1,5})d(.*)$`)

// when reads a time as people give it on a command line; the zero time for an empty text.
func when(flag, text string, now time.Time) (time.Time, error) {
	switch text = strings.TrimSpace(text); text {
	case "":
		return time.Time{}, nil
	case "now":
		return now, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	ago, err := howLong(strings.TrimSpace(strings.TrimSuffix(text, "ago")))
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("%s=%q: takes a time with its zone such as 2026-11-30T12:00:00Z, a day in UTC such as 2026-11-30, or how long ago, such as 24h or 7d", flag, text)
	}
	return now.Add(-ago), nil
}

func howLong(text string) (time.Duration, error) {
	var whole time.Duration
	if parts := days.FindStringSubmatch(text); parts != nil {
		n, err := strconv.Atoi(parts[1])
		if err != nil {
			return 0, err
		}
		whole, text = time.Duration(n)*24*time.Hour, parts[2]
		if text == "" {
			return whole, nil
		}
	}
	rest, err := time.ParseDuration(text)
	if rest < 0 {
		return 0, errors.New("below zero")
	}
	return whole + rest, err
}
