package sqlite_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// useAll has a store run each of its queries.
func useAll(t *testing.T, s *sqlite.Store) {
	t.Helper()
	ctx := t.Context()
	ignore := func(_ any, err error) { must(t, err) }
	must(t, s.Register(ctx, []state.Destination{{Name: "one"}, {Name: "two", After: "one"}}))
	for i := range 3 {
		batch := portion(i)
		batch.Told[0].Phase = adapter.Phase(i)
		batch.Events[1].Ancestor = batch.Events[0].Run
		commit(t, s, batch)
	}
	resent := portion(1)
	resent.Resend = true
	commit(t, s, resent)
	for _, verdict := range []state.Verdict{state.Again, state.Delivered, state.Dead, state.Skipped, state.Delivered} {
		due, err := s.Claim(ctx, "one", time.Now(), 1, nil)
		must(t, err)
		must(t, s.Settle(ctx, "one", []state.Settlement{{Seq: due[0].Seq, Verdict: verdict}}))
	}
	letters, err := s.DeadLetters(ctx, state.DeadFilter{})
	must(t, err)
	ignore(s.DeadLetter(ctx, letters[0].ID))
	ignore(s.Replay(ctx, []int64{letters[0].ID}))
	due, err := s.Claim(ctx, "one", time.Now(), 1, nil)
	must(t, err)
	must(t, s.Settle(ctx, "one", []state.Settlement{{Seq: due[0].Seq, Verdict: state.Dead}}))
	ignore(s.Drop(ctx, []int64{letters[0].ID + 1}))
	ignore(s.OpenRuns(ctx, time.Now(), 10, nil))
	ignore(s.OpenTasksOfEndedFlows(ctx, time.Now(), 10))
	ignore(s.Acquaintances(ctx, time.Time{}, 10))
	must(t, s.MarkChecked(ctx, told(portion(1)), time.Now()))
	ignore(s.Told(ctx, told(portion(1))))
	ignore(s.Status(ctx))
	ignore(s.Size(ctx))
	must(t, s.Register(ctx, []state.Destination{{Name: "one"}, {Name: "two"}}))
	ignore(s.Purge(ctx, time.Now()))
	_, _, err = s.NextBackfill(ctx)
	must(t, err)
}

// smallScans are steps that look through what is small by nature: a handful of destinations or cursors, one row of
// totals, the runs that are open now, the names of jobs and datasets once an hour.
var smallScans = []struct{ step, query string }{
	{"SCAN destinations", ""}, {"SCAN totals", ""}, {"SCAN cursors", ""}, {"SCAN sqlite_sequence", ""},
	{"SCAN d", "FROM destinations d"}, {"SCAN j VIRTUAL TABLE INDEX 1:", "json_each(?"}, {"SCAN json_each VIRTUAL TABLE INDEX 1:", "json_each(?"},
	{"SCAN t USING INDEX told_open", ""}, {"SCAN told USING INDEX told_open", ""}, {"SCAN backfills USING INDEX backfills_open", ""},
	{"SCAN jobs", "DELETE FROM jobs"}, {"SCAN datasets", "DELETE FROM datasets"},
	{"SCAN facets", "DELETE FROM facets"}, {"SCAN edges", "DELETE FROM edges"},
	{"SCAN deliveries", "INSERT INTO destinations"}, // the check of a foreign key whose parent's key never changes
}

// TestNoScans checks that no query looks through a table that may hold a million rows.
func TestNoScans(t *testing.T) {
	t.Parallel()
	s := openDaemon(t, storeIn(memoryDir(t)), sqlite.Options{})
	defer s.Close()
	useAll(t, s)
	if n := len(s.Queries()); n < 60 {
		t.Errorf("only %d queries were looked at", n)
	}
	for _, query := range s.Queries() {
		steps, err := s.Plan(t.Context(), query)
		must(t, err)
		for _, step := range steps {
			small := slices.ContainsFunc(smallScans, func(ok struct{ step, query string }) bool {
				return step == ok.step && strings.Contains(query, ok.query)
			})
			if !small && (strings.HasPrefix(step, "SCAN") || strings.Contains(step, "AUTOMATIC")) {
				t.Errorf("%s\n%s", step, query)
			}
		}
	}
}
