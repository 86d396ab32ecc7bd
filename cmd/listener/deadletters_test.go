package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

func letters() []state.DeadLetter {
	run := uuid.MustParse("5b8b2f0e-2a4b-4c0e-9d9e-0a3f6c1c2d4e")
	letter := func(id int64, destination string) state.DeadLetter {
		return state.DeadLetter{
			ID: id, Destination: destination, Seq: 7 * id, Enqueued: today.Add(-time.Hour), Died: today.Add(-time.Minute),
			Attempts: 1, Reason: "status-400", Status: 400, Answer: []byte("no \x1b[31mred\xff\n"),
			Event: adapter.Event{
				Run: run, Type: adapter.Complete, Time: today.Add(-2 * time.Hour),
				Job: adapter.RunRef{RunID: run, Namespace: "prod", Name: "etl.load"}, Body: []byte(`{"eventType":"COMPLETE"}`),
			},
			History: []state.Attempt{{Number: 1, At: today.Add(-time.Minute), Reason: "status-400", Status: 400}},
		}
	}
	return []state.DeadLetter{letter(1, "marquez"), letter(2, "marquez"), letter(3, "lake"), letter(5, "marquez")}
}

func TestDeadLettersList(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.want(t, exitOK, "deadletters", "list")
	equal(t, "no dead letters\n", r.stdout.String())
	r.want(t, exitOK, "deadletters")
	equal(t, "no dead letters\n", r.stdout.String())
	r.want(t, exitOK, "deadletters", "list", "-o", "json")
	equal(t, "[]\n", r.stdout.String())

	r.store.letters = letters()
	r.want(t, exitOK, "deadletters", "list", "--limit", "2")
	golden(t, "testdata/deadletters.txt", r.stdout.String())
	if strings.Contains(r.stdout.String(), "\x1b") {
		t.Error("a consumer's control characters reach the terminal")
	}
	r.want(t, exitOK, "deadletters", "list", "-o", "json", "--destination", "lake")
	golden(t, "testdata/deadletters.json", r.stdout.String())
}

func TestDeadLettersFilter(t *testing.T) {
	t.Parallel()
	r := newRig()
	run := uuid.MustParse("5b8b2f0e-2a4b-4c0e-9d9e-0a3f6c1c2d4e")
	r.want(t, exitOK, "deadletters", "list", "--destination", "d", "--reason", "r", "--run", run.String(), "--namespace", "n",
		"--job", "j", "--since", "24h", "--until", "2026-11-30", "--after", "4", "--limit", "9")
	equal(t, []state.DeadFilter{{
		Destination: "d", Reason: "r", Run: run, Namespace: "n", Job: "j", Since: today.Add(-24 * time.Hour),
		Until: today.Add(-12 * time.Hour), After: 4, Limit: 9,
	}}, r.store.filters)
	r.want(t, exitUsage, "deadletters", "list", "--run", "x", "--since", "y")
	for _, want := range []string{`listener: --since="y": takes a time`, `listener: --run="x": takes the id of a run`} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("standard error %q lacks %s", r.stderr.String(), want)
		}
	}
}

func TestDeadLettersShow(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.store.letters = letters()
	r.want(t, exitOK, "deadletters", "show", "2")
	golden(t, "testdata/deadletter.txt", r.stdout.String())
	r.want(t, exitOK, "deadletters", "show", "2", "-o", "json")
	golden(t, "testdata/deadletter.json", r.stdout.String())
	r.want(t, exitError, "deadletters", "show", "4")
	r.want(t, exitUsage, "deadletters", "show", "x")
}

// Nothing is done to dead letters that were not named, and nothing at all where one of those named is not there.
func TestDeadLettersReplayAndDrop(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		ids  []int64
		code int
		says string
	}{
		{[]string{"1", "3"}, []int64{1, 3}, exitOK, "2 dead letters"},
		{[]string{"5"}, []int64{5}, exitOK, "1 dead letter:"},
		{[]string{"--all"}, []int64{1, 2, 3, 5}, exitOK, "4 dead letters"},
		{[]string{"--all", "--destination", "marquez"}, []int64{1, 2, 5}, exitOK, "3 dead letters"},
		{[]string{"1", "4"}, nil, exitError, ""},
		{[]string{"3", "--destination", "marquez"}, nil, exitError, ""},
		{[]string{"--destination", "marquez"}, nil, exitUsage, ""},
		{nil, nil, exitUsage, ""},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			t.Parallel()
			r := newRig()
			r.store.letters = letters()
			r.want(t, test.code, append([]string{"deadletters", "replay"}, test.args...)...)
			equal(t, test.ids, r.store.replayed)
			if !strings.Contains(r.stdout.String(), test.says) {
				t.Errorf("replay says %q, want %q in it", r.stdout.String(), test.says)
			}
			equal(t, []int64(nil), r.store.dropped)
			r.want(t, test.code, append([]string{"deadletters", "drop"}, test.args...)...)
			equal(t, test.ids, r.store.dropped)
		})
	}
}
