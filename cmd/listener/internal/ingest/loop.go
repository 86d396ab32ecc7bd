package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

// How the loop paces itself beside the poll interval.
const (
	maxBackoff     = 30 * time.Second // between polls of a Prefect that does not answer
	inferEvery     = time.Minute      // between looks for task runs that were left RUNNING
	inferAtOnce    = 200
	maxOpenRuns    = 20_000    // looked after in one poll
	youngRun       = time.Hour // an open run below this age is due at every poll, so that it need not be marked
	pauseRecheck   = 2 * time.Second
	strangeRecheck = 5 * time.Second // of a Prefect that is another one
	repeatPauseLog = 30 * time.Second
)

// Poller reads what may have changed since a position.
type Poller interface {
	Poll(ctx context.Context, cursor prefect.Cursor, open prefect.OpenRuns,
		yield func(context.Context, prefect.Changes) error) error
	// Stored hears which rows are stored, and which of their runs were left for later.
	Stored(changes prefect.Changes, left []uuid.UUID)
}

// Positions is what the loop keeps in the store.
type Positions interface {
	Cursor(ctx context.Context, name string) ([]byte, error)
	OpenRuns(ctx context.Context, now time.Time, limit int, active func(uuid.UUID) bool) ([]state.OpenRun, error)
	MarkChecked(ctx context.Context, ids []uuid.UUID, at time.Time) error
	OpenTasksOfEndedFlows(ctx context.Context, endedBefore time.Time, limit int) ([]state.OrphanTask, error)
}

// Space says whether the store may grow.
type Space interface {
	// Pause returns why reading must pause, empty when it need not.
	Pause(ctx context.Context) (reason string, err error)
}

// Reporter hears how reading goes.
type Reporter interface {
	PollSucceeded(at time.Time)
	PollsEvery(interval time.Duration) // from now on
	PollFailed(err error)
	Paused(reason string) // empty: no more
}

// Loop polls Prefect until it is told to stop.
type Loop struct {
	Poller   Poller
	Recorder *Recorder
	Store    Positions
	Space    Space
	Report   Reporter
	Metrics  *Metrics
	Log      *zap.Logger
	// Hints say when polls may be rarer. Nil: never.
	Hints *Hints
	// Tasks notices where flow runs come without their task runs. Nil: nobody does.
	Tasks *TaskWatch
	// Interval is the time between the starts of two polls.
	Interval time.Duration
	// Grace is how long after its flow run's end a task run may stay RUNNING before its end is inferred.
	Grace time.Duration
	// Alive hears that reading goes on, and for how long it now rests. Nil: nobody listens.
	Alive func(rest time.Duration)

	cursor    prefect.Cursor
	now       time.Time // the server's clock at the last portion
	inferred  time.Time
	failures  int // polls that failed since the last good one
	failingAs string
	failing   time.Time // since when
	resting   time.Time // when the pause was last logged; zero: reading is not paused
}

// Run polls until the context ends, which is no error. It returns an error only when nothing more can be stored.
func (l *Loop) Run(ctx context.Context) error {
	if err := cmp.Or(l.loadCursor(ctx), l.Tasks.load(ctx)); err != nil {
		return ignoreStop(ctx, err)
	}
	for {
		l.alive(0)
		started := time.Now()
		wait, err := l.turn(ctx)
		if err != nil || ctx.Err() != nil {
			return ignoreStop(ctx, err)
		}
		l.alive(wait)
		if !l.rest(ctx, started, wait) {
			return nil
		}
	}
}

func (l *Loop) alive(rest time.Duration) {
	if l.Alive != nil {
		l.Alive(rest)
	}
}

// rest waits until so long after a poll's start, or shorter where events can no longer be relied on, and says whether
// the context is still good.
func (l *Loop) rest(ctx context.Context, started time.Time, wait time.Duration) bool {
	for {
		timer := time.NewTimer(max(0, wait-time.Since(started)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
			return true
		case <-l.Hints.hurried():
			timer.Stop()
			if l.failures == 0 {
				wait = min(wait, l.Interval)
			}
		}
	}
}

func (l *Loop) loadCursor(ctx context.Context) error {
	text, err := l.Store.Cursor(ctx, CursorName)
	if err != nil {
		return fmt.Errorf("reading the stored cursor: %w", err)
	}
	if len(text) == 0 {
		return nil // first start: the poller looks back
	}
	if err := json.Unmarshal(text, &l.cursor); err != nil {
		return fmt.Errorf("reading the stored cursor %q: %w", text, err)
	}
	l.Recorder.Resume(l.cursor.Ended)
	return nil
}

// turn does one poll, or waits where none may be done, and says how long after its start the next is due.
func (l *Loop) turn(ctx context.Context) (time.Duration, error) {
	reason, err := l.Space.Pause(ctx)
	if err != nil {
		return 0, err
	}
	if reason != "" {
		l.pause(reason)
		return pauseRecheck, nil
	}
	began := time.Now()
	err = l.poll(ctx)
	if err != nil {
		l.Hints.pollFailed()
	}
	if full, ok := errors.AsType[noRoom](err); ok {
		l.Metrics.polled(time.Since(began), nil)
		l.pause(string(full))
		return pauseRecheck, nil
	}
	l.Metrics.polled(time.Since(began), err)
	if stranger, ok := errors.AsType[*Stranger](err); ok {
		l.pause(stranger.reason)
		return strangeRecheck, nil
	}
	switch {
	case ctx.Err() != nil:
		return 0, nil
	case errors.Is(err, state.ErrFull):
		l.pause(err.Error())
		return pauseRecheck, nil
	case err == nil:
		l.resume()
		l.recovered()
		l.Hints.pollWent(began, l.now)
		pace := l.Hints.pace(l.Interval)
		l.Report.PollsEvery(pace)
		return pace, nil
	case fatal(err):
		return 0, err
	default:
		l.failed(err)
		return l.backoff(err), nil
	}
}

// poll reads once and records every portion, then looks for runs whose end will never come.
func (l *Loop) poll(ctx context.Context) error {
	due, err := l.Store.OpenRuns(ctx, time.Now(), maxOpenRuns, nil)
	if err != nil {
		return fmt.Errorf("listing open runs: %w", err)
	}
	portions := newQueue(l.Recorder, Mode{Live: true}, func(ctx context.Context, changes prefect.Changes) error {
		var stored Stored
		if _, err := l.Recorder.Record(ctx, changes, Mode{Live: true, Stored: func(s Stored) { stored = s }}); err != nil {
			return err
		}
		l.alive(0)
		l.Poller.Stored(changes, stored.Left)
		l.Hints.polled(changes, stored)
		l.Tasks.saw(changes)
		l.now = changes.Now
		l.resume() // and not only after a poll that may have much to catch up
		l.Report.PollSucceeded(time.Now())
		if changes.Cursor != nil {
			l.cursor = *changes.Cursor
			l.Metrics.cursor(l.cursor.Ended)
		}
		return l.checkRoom(ctx)
	})
	err = l.Poller.Poll(ctx, l.cursor, openRuns(due), portions.put)
	if err := cmp.Or(portions.wait(), err); err != nil {
		return fmt.Errorf("polling Prefect: %w", err)
	}
	if err := l.markChecked(ctx, due); err != nil {
		return err
	}
	if err := l.inferEnds(ctx); err != nil {
		return err
	}
	return l.Tasks.judge(ctx, l.now)
}

// noRoom ends a poll, for the reason that it is, because the store must not grow any more.
type noRoom string

func (r noRoom) Error() string { return string(r) }

// checkRoom looks after each portion: one poll may bring all that happened in days, and the store's limits hold within it
// too.
func (l *Loop) checkRoom(ctx context.Context) error {
	reason, err := l.Space.Pause(ctx)
	if err != nil {
		return err
	}
	if reason != "" {
		return noRoom(reason)
	}
	return nil
}

func openRuns(due []state.OpenRun) prefect.OpenRuns {
	var open prefect.OpenRuns
	for _, r := range due {
		if r.Kind == adapter.FlowRun {
			open.FlowRuns = append(open.FlowRuns, r.ID)
		} else {
			open.TaskRuns = append(open.TaskRuns, r.ID)
		}
	}
	return open
}

func (l *Loop) markChecked(ctx context.Context, due []state.OpenRun) error {
	now := time.Now()
	var old []uuid.UUID
	for _, r := range due {
		if now.Sub(r.FirstSaid) > youngRun {
			old = append(old, r.ID)
		}
	}
	if len(old) == 0 {
		return nil
	}
	if err := l.Store.MarkChecked(ctx, old, now); err != nil {
		return fmt.Errorf("marking %d open runs as checked: %w", len(old), err)
	}
	return nil
}

// inferEnds looks for task runs that are RUNNING though their flow run ended the grace ago.
func (l *Loop) inferEnds(ctx context.Context) error {
	if l.now.IsZero() || l.now.Sub(l.inferred) < inferEvery {
		return nil
	}
	orphans, err := l.Store.OpenTasksOfEndedFlows(ctx, l.now.Add(-l.Grace), inferAtOnce)
	if err != nil {
		return fmt.Errorf("listing open task runs of ended flow runs: %w", err)
	}
	if len(orphans) > 0 {
		if err := l.Recorder.InferEnds(ctx, l.now, orphans); err != nil {
			return err
		}
	}
	l.inferred = l.now
	return nil
}

// pause reports that reading rests; the cursor stays where it is and Prefect keeps what is to come.
func (l *Loop) pause(reason string) {
	l.Report.Paused(reason)
	l.Metrics.paused(true)
	switch {
	case l.resting.IsZero():
		l.Log.Warn("reading from Prefect is paused", zap.String("reason", reason))
	case time.Since(l.resting) >= repeatPauseLog:
		l.Log.Warn("reading from Prefect is still paused", zap.String("reason", reason))
	default:
		return
	}
	l.resting = time.Now()
}

func (l *Loop) resume() {
	if l.resting.IsZero() {
		return
	}
	l.resting = time.Time{}
	l.Report.Paused("")
	l.Metrics.paused(false)
	l.Log.Info("reading from Prefect goes on")
}

// failed logs the first failure of a row of them, and then only failures of another kind.
func (l *Loop) failed(err error) {
	l.Report.PollFailed(err)
	l.Report.PollsEvery(l.Interval)
	l.failures++
	kind := failureKind(err)
	if l.failures == 1 {
		l.failing = time.Now()
	}
	if kind != l.failingAs {
		l.failingAs = kind
		l.Log.Warn("Prefect cannot be read; trying until it can", zap.Error(err))
	}
}

func (l *Loop) recovered() {
	l.Report.PollSucceeded(time.Now())
	if l.failures == 0 {
		return
	}
	l.Log.Info("Prefect can be read again", zap.Int("failures", l.failures),
		zap.Duration("after", time.Since(l.failing).Round(time.Millisecond)))
	l.failures, l.failingAs = 0, ""
}

// backoff grows from the interval to half a minute, with full jitter above a floor of the interval, unless the server
// asked for a longer wait.
func (l *Loop) backoff(err error) time.Duration {
	ceiling := min(maxBackoff, l.Interval<<min(l.failures, 10))
	wait := l.Interval
	if ceiling > l.Interval {
		wait += rand.N(ceiling - l.Interval) //nolint:gosec // jitter needs no secret randomness
	}
	if answer, ok := errors.AsType[*prefect.Error](err); ok {
		wait = max(wait, answer.RetryAfter)
	}
	return wait
}

// failureKind is what two failures must have in common to be worth one log line.
func failureKind(err error) string {
	if answer, ok := errors.AsType[*prefect.Error](err); ok {
		return answer.Reason
	}
	return err.Error()
}

// fatal says whether an error leaves nothing to do but to end.
func fatal(err error) bool {
	return errors.Is(err, state.ErrFatalIO) || errors.Is(err, state.ErrDamaged)
}

func ignoreStop(ctx context.Context, err error) error {
	if ctx.Err() != nil && !fatal(err) {
		return nil
	}
	return err
}

// sleep waits and says whether the context is still good.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
