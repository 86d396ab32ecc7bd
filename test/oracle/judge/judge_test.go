package judge_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/oracle/judge"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// story is a flow run with one task run, which writes a table and fails.
func story() []judge.Event {
	flow := judge.Run{ID: "flow-run", Job: judge.Job{Namespace: "default", Name: "Load"}}
	task := judge.Run{ID: "task-run", Job: judge.Job{Namespace: "default", Name: "Load.write"}}
	table := []judge.Dataset{{Namespace: "duckdb:///d", Name: "a"}, {Namespace: "duckdb:///d", Name: "b"}}
	return []judge.Event{
		{Run: flow, Type: "START", Time: noon},
		{Run: task, Type: "START", Time: noon.Add(time.Second), Parent: &flow, Root: &flow},
		{Run: task, Type: "FAIL", Time: noon.Add(2 * time.Second), Parent: &flow, Root: &flow, Outputs: table, Error: "boom"},
		{Run: flow, Type: "COMPLETE", Time: noon.Add(3 * time.Second)},
	}
}

// arrive writes an event as a consumer would get it. Extra is text that changes the bytes and not the meaning.
func arrive(t *testing.T, e judge.Event, extra string) judge.Arrival {
	t.Helper()
	facets := map[string]any{}
	reference := func(r *judge.Run) map[string]any {
		return map[string]any{"run": map[string]any{"runId": r.ID}, "job": r.Job}
	}
	if e.Parent != nil {
		parent := reference(e.Parent)
		if e.Root != nil {
			parent["root"] = reference(e.Root)
		}
		facets["parent"] = parent
	}
	if e.Error != "" {
		facets["errorMessage"] = map[string]any{"message": e.Error}
	}
	body, err := json.Marshal(map[string]any{
		"eventType": e.Type, "eventTime": e.Time.UTC().Format(time.RFC3339Nano), "extra": extra,
		"run": map[string]any{"runId": e.Run.ID, "facets": facets}, "job": e.Run.Job,
		"inputs": e.Inputs, "outputs": e.Outputs,
	})
	if err != nil {
		t.Fatal(err)
	}
	return judge.Arrival{Body: body}
}

func arrivals(t *testing.T, events ...judge.Event) []judge.Arrival {
	t.Helper()
	var got []judge.Arrival
	for _, e := range events {
		got = append(got, arrive(t, e, ""))
	}
	return got
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	events := story()
	changed := func(i int, change func(*judge.Event)) []judge.Event {
		all := slices.Clone(events)
		change(&all[i])
		return all
	}
	for _, test := range []struct {
		name   string
		change func(c *judge.Case)
		rules  []string // that are broken
	}{
		{name: "all is well", change: func(*judge.Case) {}},
		{name: "nothing came", change: func(c *judge.Case) { c.Got = nil }, rules: []string{"missing"}},
		{name: "one is missing", change: func(c *judge.Case) { c.Got = c.Got[:3] }, rules: []string{"missing"}},
		{name: "a run of nobody's", change: func(c *judge.Case) {
			other := events[0]
			other.Run.ID = "another"
			c.Got = append(c.Got, arrive(t, other, ""))
		}, rules: []string{"spurious"}},
		{name: "another time is another event", change: func(c *judge.Case) {
			c.Got = arrivals(t, changed(3, func(e *judge.Event) { e.Time = e.Time.Add(time.Microsecond) })...)
		}, rules: []string{"missing", "spurious"}},
		{name: "no event at all", change: func(c *judge.Case) {
			c.Got = append(c.Got, judge.Arrival{Body: []byte("{")})
		}, rules: []string{"spurious"}},
		{name: "another job", change: func(c *judge.Case) {
			c.Got = arrivals(t, changed(0, func(e *judge.Event) { e.Run.Job.Name = "Lode" })...)
		}, rules: []string{"wrong"}},
		{name: "another parent", change: func(c *judge.Case) {
			c.Got = arrivals(t, changed(1, func(e *judge.Event) { e.Parent = &judge.Run{ID: "x"} })...)
		}, rules: []string{"wrong"}},
		{name: "no root", change: func(c *judge.Case) {
			c.Got = arrivals(t, changed(1, func(e *judge.Event) { e.Root = nil })...)
		}, rules: []string{"wrong"}},
		{name: "no error", change: func(c *judge.Case) {
			c.Got = arrivals(t, changed(2, func(e *judge.Event) { e.Error = "" })...)
		}, rules: []string{"wrong"}},
		{name: "a dataset less", change: func(c *judge.Case) {
			c.Got = arrivals(t, changed(2, func(e *judge.Event) { e.Outputs = e.Outputs[:1] })...)
		}, rules: []string{"wrong"}},
		{name: "an input instead", change: func(c *judge.Case) {
			c.Got = arrivals(t, changed(2, func(e *judge.Event) { e.Inputs, e.Outputs = e.Outputs, nil })...)
		}, rules: []string{"wrong"}},
		{name: "datasets in another order", change: func(c *judge.Case) {
			c.Got = arrivals(t, changed(2, func(e *judge.Event) {
				e.Outputs = slices.Clone(e.Outputs)
				slices.Reverse(e.Outputs)
			})...)
		}},
		{name: "a copy that is allowed", change: func(c *judge.Case) {
			c.Got, c.Copies = append(c.Got, c.Got[3]), 1
		}},
		{name: "a copy too many", change: func(c *judge.Case) { c.Got = append(c.Got, c.Got[3]) }, rules: []string{"copies"}},
		{name: "a copy of other bytes", change: func(c *judge.Case) {
			c.Got, c.Copies = append(c.Got, arrive(t, events[3], "x")), 1
		}, rules: []string{"different"}},
		{name: "an end before its start", change: func(c *judge.Case) {
			c.Got = arrivals(t, events[0], events[2], events[1], events[3])
		}, rules: []string{"disorder"}},
		{name: "a copy of the start after the end", change: func(c *judge.Case) {
			c.Got, c.Copies = append(c.Got, c.Got[0]), 1
		}, rules: []string{"disorder"}},
		{name: "a replay", change: func(c *judge.Case) {
			c.Got = arrivals(t, events[0], events[3], events[1], events[2], events[0], events[3])
			c.Copies, c.Replayed = 2, map[string]bool{"flow-run": true}
		}},
		{name: "a replay that stops half way", change: func(c *judge.Case) {
			c.Got = arrivals(t, events[0], events[3], events[1], events[2], events[0])
			c.Copies, c.Replayed = 1, map[string]bool{"flow-run": true}
		}, rules: []string{"disorder"}},
		{name: "a child before its parent", change: func(c *judge.Case) {
			c.Got = arrivals(t, events[1], events[0], events[2], events[3])
		}, rules: []string{"orphans"}},
		{name: "a child of a run that was not to come", change: func(c *judge.Case) {
			c.Want, c.Got = c.Want[1:3], c.Got[1:3]
		}},
		{name: "a dead letter that was to be expected", change: func(c *judge.Case) {
			c.Got, c.Dead, c.WantDead = c.Got[1:], []judge.Key{events[0].Key()}, []judge.Key{events[0].Key()}
		}},
		{name: "a dead letter that was not", change: func(c *judge.Case) {
			c.Dead = []judge.Key{events[0].Key()}
		}, rules: []string{"dead"}},
		{name: "no dead letter", change: func(c *judge.Case) {
			c.Got, c.WantDead = c.Got[:3], []judge.Key{events[3].Key()}
		}, rules: []string{"dead"}},
		{name: "a dead letter twice", change: func(c *judge.Case) {
			c.Got, c.WantDead = c.Got[:3], []judge.Key{events[3].Key()}
			c.Dead = []judge.Key{events[3].Key(), events[3].Key()}
		}, rules: []string{"dead"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := judge.Case{Want: events, Got: arrivals(t, events...)}
			test.change(&c)
			v := c.Verdict()
			if diff := cmp.Diff(test.rules, broken(v)); diff != "" {
				t.Errorf("rules that are broken (-want +got):\n%s\n%s", diff, v)
			}
			if v.Clean() != (len(test.rules) == 0) {
				t.Errorf("clean is %v: %s", v.Clean(), v)
			}
		})
	}
}

// broken reads the rules off a verdict's text.
func broken(v judge.Verdict) []string {
	var rules []string
	for line := range strings.Lines(v.String()) {
		if rule, _, found := strings.Cut(line, ":"); found && !strings.HasPrefix(line, " ") {
			rules = append(rules, rule)
		}
	}
	return rules
}

func TestVerdictIsShort(t *testing.T) {
	t.Parallel()
	var c judge.Case
	for i := range 1000 {
		e := story()[0]
		e.Run.ID = fmt.Sprint("run-", i)
		c.Want = append(c.Want, e)
	}
	if text := c.Verdict().String(); strings.Count(text, "\n") != 7 || !strings.Contains(text, "and 995 more") {
		t.Error(text)
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	a := arrivals(t, story()...)
	if lines := judge.Same(a, a[1:]); len(lines) != 0 {
		t.Error(lines)
	}
	if lines := judge.Same(a, []judge.Arrival{arrive(t, story()[1], "x")}); len(lines) != 1 {
		t.Error(lines)
	}
}
