package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/state"
)

// deadlettersCmd looks after events that a destination refused for good.
type deadlettersCmd struct {
	List   deadlettersListCmd   `cmd:"" default:"withargs" help:"List them. What deadletters alone does."`
	Show   deadlettersShowCmd   `cmd:"" help:"Show one with its event, its attempts and the destination's answer."`
	Replay deadlettersReplayCmd `cmd:"" help:"Send them again, each with its run's later events at that destination."`
	Drop   deadlettersDropCmd   `cmd:"" help:"Forget them for good."`
}

// letterFilter picks dead letters.
type letterFilter struct {
	Destination string `placeholder:"NAME" help:"At this destination."`
	Reason      string `placeholder:"WORD" help:"For this reason, such as status-400."`
	Run         string `placeholder:"ID" help:"Of this run, by Prefect's id."`
	Namespace   string `placeholder:"NAME" help:"Of jobs in this namespace."`
	Job         string `placeholder:"NAME" help:"Of this job."`
	Since       string `placeholder:"TIME" help:"Dead since then: a time, a day, or how long ago."`
	Until       string `placeholder:"TIME" help:"And before then."`
}

func (f letterFilter) filter(now time.Time) (state.DeadFilter, error) {
	filter := state.DeadFilter{Destination: f.Destination, Reason: f.Reason, Namespace: f.Namespace, Job: f.Job}
	var since, until, run error
	filter.Since, since = when("--since", f.Since, now)
	filter.Until, until = when("--until", f.Until, now)
	if f.Run != "" {
		filter.Run, run = runID(f.Run)
	}
	if err := errors.Join(since, until, run); err != nil {
		return state.DeadFilter{}, usageError{err}
	}
	return filter, nil
}

type deadlettersListCmd struct {
	letterFilter
	After int64 `placeholder:"ID" help:"Begin after this one."`
	Limit int   `default:"100" help:"How many at most."`
	output
}

// letterRow is a dead letter in JSON. A list leaves the last three out.
type letterRow struct {
	ID          int64           `json:"id"`
	Destination string          `json:"destination"`
	Run         uuid.UUID       `json:"run"` // Prefect's id
	RunID       uuid.UUID       `json:"run_id"`
	Namespace   string          `json:"namespace"`
	Job         string          `json:"job"`
	Type        string          `json:"type"`
	Time        time.Time       `json:"time"` // of the event
	Enqueued    *time.Time      `json:"enqueued"`
	Died        *time.Time      `json:"died"`
	Attempts    int             `json:"attempts"`
	Reason      string          `json:"reason"`
	Status      int             `json:"status"` // 0: there was none
	Answer      string          `json:"answer"`
	History     []attemptRow    `json:"history,omitempty"`
	Event       json.RawMessage `json:"event,omitempty"`
}

type attemptRow struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	Status int       `json:"status"`
}

func newLetterRow(l state.DeadLetter) letterRow {
	row := letterRow{
		ID: l.ID, Destination: l.Destination, Run: l.Event.Run, RunID: l.Event.Job.RunID, Namespace: l.Event.Job.Namespace,
		Job: l.Event.Job.Name, Type: string(l.Event.Type), Time: l.Event.Time.UTC(), Enqueued: optional(l.Enqueued),
		Died: optional(l.Died), Attempts: l.Attempts, Reason: l.Reason, Status: l.Status, Answer: string(bytes.ToValidUTF8(l.Answer, []byte("\uFFFD"))),
	}
	for _, a := range l.History {
		row.History = append(row.History, attemptRow{Number: a.Number, At: a.At.UTC(), Reason: a.Reason, Status: a.Status})
	}
	if json.Valid(l.Event.Body) {
		row.Event = l.Event.Body
	}
	return row
}

// Run lists them.
func (c *deadlettersListCmd) Run(ctx context.Context, p *process) error {
	filter, err := c.filter(p.now())
	if err != nil {
		return err
	}
	if c.Limit < 1 {
		return usageError{fmt.Errorf("--limit=%d: takes a number above zero", c.Limit)}
	}
	filter.After, filter.Limit = c.After, c.Limit
	return p.withStore(ctx, func(s store) error {
		letters, err := s.DeadLetters(ctx, filter)
		if err != nil {
			return fmt.Errorf("reading the dead letters: %w", err)
		}
		if c.json() {
			rows := make([]letterRow, len(letters))
			for i, l := range letters {
				rows[i] = newLetterRow(l)
			}
			return printJSON(p.stdout, rows)
		}
		return letterTable(p, letters, c.Limit)
	})
}

func letterTable(p *process, letters []state.DeadLetter, limit int) error {
	if len(letters) == 0 {
		_, err := fmt.Fprintln(p.stdout, "no dead letters")
		return err
	}
	rows := make([][]string, len(letters))
	for i, l := range letters {
		rows[i] = []string{
			strconv.FormatInt(l.ID, 10), l.Destination, string(l.Event.Type), l.Event.Job.Namespace + "/" + l.Event.Job.Name,
			l.Event.Run.String(), l.Reason, strconv.Itoa(l.Attempts), moment(l.Died, "-"),
		}
	}
	if err := table(p.stdout, []string{"ID", "DESTINATION", "EVENT", "JOB", "RUN", "REASON", "ATTEMPTS", "DIED"}, rows); err != nil {
		return err
	}
	if len(letters) == limit {
		_, err := fmt.Fprintf(p.stdout, "there may be more: --after %d\n", letters[len(letters)-1].ID)
		return err
	}
	return nil
}

type deadlettersShowCmd struct {
	ID int64 `arg:"" help:"The dead letter's id, as deadletters list shows it."`
	output
}

// Run shows one.
func (c *deadlettersShowCmd) Run(ctx context.Context, p *process) error {
	return p.withStore(ctx, func(s store) error {
		letter, err := s.DeadLetter(ctx, c.ID)
		if err != nil {
			return err
		}
		row := newLetterRow(letter)
		if c.json() {
			return printJSON(p.stdout, row)
		}
		out := &printer{to: p.stdout}
		out.printf("dead letter %d at %s\n%s of %s/%s, run %s, at %s\ndied %s after %s: %s\n",
			row.ID, row.Destination, row.Type, row.Namespace, row.Job, row.Run, moment(row.Time, "-"),
			moment(letter.Died, "-"), count(int64(row.Attempts), "attempt", "attempts"), row.Reason)
		for _, a := range row.History {
			out.printf("  attempt %d at %s: %s\n", a.Number, moment(a.At, "-"), a.Reason)
		}
		if row.Answer != "" {
			out.printf("answer:\n%s\n", printable(row.Answer))
		}
		out.printf("event:\n")
		if err := out.done(); err != nil {
			return err
		}
		return printJSON(p.stdout, row.Event)
	})
}

// letterChoice names dead letters to do something with.
type letterChoice struct {
	IDs []int64 `arg:"" optional:"" name:"id" help:"Ids, as deadletters list shows them."`
	All bool    `help:"All that pass the flags."`
	letterFilter
}

// choose returns the ids that are meant. Without an id it takes --all, so that nothing is done to all by a slip.
func (c letterChoice) choose(ctx context.Context, p *process, s store) ([]int64, error) {
	filter, err := c.filter(p.now())
	if err != nil {
		return nil, err
	}
	filter.IDs = c.IDs
	var found []int64
	for {
		page, err := s.DeadLetters(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("reading the dead letters: %w", err)
		}
		if len(page) == 0 {
			break
		}
		for _, l := range page {
			found = append(found, l.ID)
		}
		filter.After = found[len(found)-1]
	}
	for _, id := range c.IDs {
		if !slices.Contains(found, id) {
			return nil, fmt.Errorf("there is no dead letter %d that passes; nothing was done", id)
		}
	}
	return found, nil
}

// apply does something with the chosen ones and tells how many that were.
func (c letterChoice) apply(ctx context.Context, p *process, tell string, do func(s store, ids []int64) (int, error)) error {
	if len(c.IDs) == 0 && !c.All {
		return usageError{errors.New("name dead letters by their ids, or take --all")}
	}
	return p.withStore(ctx, func(s store) error {
		ids, err := c.choose(ctx, p, s)
		if err != nil {
			return err
		}
		n, err := do(s, ids)
		if err != nil {
			return fmt.Errorf("stopped after %s: %w", count(int64(n), "event", "events"), err)
		}
		_, err = fmt.Fprintf(p.stdout, tell+"\n", count(int64(len(ids)), "dead letter", "dead letters"), count(int64(n), "event", "events"))
		return err
	})
}

type deadlettersReplayCmd struct {
	letterChoice
}

// Run puts them back into the outbox.
func (c *deadlettersReplayCmd) Run(ctx context.Context, p *process) error {
	return c.apply(ctx, p, "replaying %s: %s in the outbox", func(s store, ids []int64) (int, error) { return s.Replay(ctx, ids) })
}

type deadlettersDropCmd struct {
	letterChoice
}

// Run forgets them.
func (c *deadlettersDropCmd) Run(ctx context.Context, p *process) error {
	return c.apply(ctx, p, "dropped %s: %s forgotten", func(s store, ids []int64) (int, error) { return s.Drop(ctx, ids) })
}
