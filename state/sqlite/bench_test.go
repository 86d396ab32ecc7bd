package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// backlog fills a store with rows pending at one destination, two events for each run: a START that is ready and a
// COMPLETE that waits. A first flow is the ancestor of the runs with the given share.
func backlog(t testing.TB, path string, rows int) {
	t.Helper()
	s := openDaemon(t, path, sqlite.Options{})
	must(t, s.Register(t.Context(), []state.Destination{{Name: "one", Kind: "http"}}))
	must(t, s.Close())
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	body := noise(600) // what 3 kB of JSON pack to
	for _, statement := range []string{
		"PRAGMA synchronous = OFF", "PRAGMA cache_size = -200000", "BEGIN",
		fmt.Sprintf(`INSERT INTO lanes (lane, run) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			SELECT i, randomblob(16) FROM n`, rows/2),
		fmt.Sprintf(`INSERT INTO events (seq, lane, first, type, time, run_id, namespace, name, enqueued, codec, body)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			SELECT i, (i + 1) / 2, i %% 2, CASE i %% 2 WHEN 1 THEN 'START' ELSE 'COMPLETE' END, i, randomblob(16), 'test', 'etl', i, 0, ?1 FROM n`, rows),
		`INSERT INTO deliveries (seq, dest, lane, first, state, ready) SELECT seq, 1, lane, first, 0, first FROM events`,
		`UPDATE destinations SET pending = (SELECT count(*) FROM deliveries)`,
		`UPDATE totals SET events = (SELECT count(*) FROM events), bytes = 600 * (SELECT count(*) FROM events)`,
		"COMMIT", "PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		var args []any
		if _, err := db.ExecContext(t.Context(), statement, append(args, body)[:countParameters(statement)]...); err != nil {
			t.Fatal(statement, err)
		}
	}
}

func countParameters(statement string) int {
	for i := range statement {
		if statement[i] == '?' {
			return 1
		}
	}
	return 0
}

// backlogRows is how many rows the tests of a large outbox have; the environment can ask for a million.
func backlogRows(t testing.TB) int {
	t.Helper()
	if text := os.Getenv("LISTENER_TEST_BACKLOG"); text != "" {
		rows, err := strconv.Atoi(text)
		must(t, err)
		return rows
	}
	return 60_000
}

// TestLargeBacklog has an outbox that nobody emptied for days: the start is quick, and what a daemon does all the time
// costs the same as ever.
func TestLargeBacklog(t *testing.T) {
	notUnderRace(t)
	path := storeIn(memoryDir(t))
	rows := backlogRows(t)
	backlog(t, path, rows)
	ctx := t.Context()

	var s *sqlite.Store
	within(t, "start", 5*time.Second, func() { s = openDaemon(t, path, sqlite.Options{}) })
	defer s.Close()
	var due []state.Delivery
	claim := func(n int) func() {
		return func() {
			var err error
			due, err = s.Claim(ctx, "one", time.Now(), n, nil)
			must(t, err)
		}
	}
	settle := func(verdict state.Verdict) func() {
		return func() {
			var settlements []state.Settlement
			for _, d := range due {
				settlements = append(settlements, state.Settlement{Seq: d.Seq, Verdict: verdict, Due: time.Now().Add(time.Minute)})
			}
			must(t, s.Settle(ctx, "one", settlements))
		}
	}
	within(t, "register", 100*time.Millisecond, func() {
		must(t, s.Register(ctx, []state.Destination{{Name: "one", Kind: "file"}}))
	})
	within(t, "claim", 100*time.Millisecond, claim(100))
	within(t, "settle", time.Second, settle(state.Delivered))
	within(t, "claim of a tenth", 10*time.Second, claim(rows/10))
	within(t, "settle of a tenth", 60*time.Second, settle(state.Again)) // these lanes back off now
	within(t, "claim past them", 100*time.Millisecond, claim(100))
	busy := map[uuid.UUID]bool{}
	for _, d := range due {
		busy[d.Event.Run] = true
	}
	within(t, "claim past busy ones", 100*time.Millisecond, func() {
		due, err := s.Claim(ctx, "one", time.Now(), 100, func(run uuid.UUID) bool { return busy[run] })
		if err != nil || len(due) != 100 {
			t.Errorf("claimed %d, %v", len(due), err)
		}
	})
	within(t, "status", 100*time.Millisecond, func() {
		all, err := s.Status(ctx)
		if err != nil || all[0].Pending != int64(rows-100) {
			t.Errorf("status %+v, %v", all, err)
		}
	})
	within(t, "size", 100*time.Millisecond, func() {
		_, err := s.Size(ctx)
		must(t, err)
	})
	within(t, "commit", time.Second, func() { commit(t, s, portion(1)) })
	due = nil
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("%d MiB in use", memory.Sys>>20)
}

func within(t *testing.T, what string, limit time.Duration, do func()) {
	t.Helper()
	began := time.Now()
	do()
	took := time.Since(began)
	t.Logf("%s: %s", what, took.Round(10*time.Microsecond))
	if took > limit {
		t.Errorf("%s took %s, want at most %s", what, took, limit)
	}
}

// TestBlockedLanes has one flow's START back off with all its tasks' events behind it.
func TestBlockedLanes(t *testing.T) {
	notUnderRace(t)
	s := openDaemon(t, storeIn(memoryDir(t)), sqlite.Options{})
	defer s.Close()
	must(t, s.Register(t.Context(), []state.Destination{{Name: "one", Kind: "http"}}))
	flow := portion(0)
	commit(t, s, state.Batch{Events: flow.Events[:1]})
	const tasks = 3000
	var batch state.Batch
	for i := range tasks {
		for _, e := range portion(i + 1).Events {
			e.Ancestor = flow.Events[0].Run
			batch.Events = append(batch.Events, e)
		}
	}
	commit(t, s, batch)
	due, err := s.Claim(t.Context(), "one", time.Now(), 10, nil)
	must(t, err)
	if len(due) != 1 {
		t.Fatalf("%d are due", len(due))
	}
	within(t, "settle", 10*time.Second, func() {
		must(t, s.Settle(t.Context(), "one", []state.Settlement{{Seq: due[0].Seq}}))
	})
	due, err = s.Claim(t.Context(), "one", time.Now(), 2*tasks, nil)
	must(t, err)
	if len(due) != tasks {
		t.Errorf("%d are due, want %d", len(due), tasks)
	}
}

func benchStore(b *testing.B, destinations int) *sqlite.Store {
	b.Helper()
	s := openDaemon(b, storeIn(b.TempDir()), sqlite.Options{})
	b.Cleanup(func() { must(b, s.Close()) })
	var list []state.Destination
	for i := range destinations {
		list = append(list, state.Destination{Name: fmt.Sprint("d", i), Kind: "http"})
	}
	must(b, s.Register(b.Context(), list))
	return s
}

// manyEvents is a poll's portion: 50 task runs with START and COMPLETE.
func manyEvents(n int) state.Batch {
	batch := state.Batch{Cursors: map[string][]byte{"poll": []byte(strconv.Itoa(n))}}
	for i := range 50 {
		p := portion(n*50 + i)
		batch.Told = append(batch.Told, p.Told...)
		batch.Events = append(batch.Events, p.Events[0], p.Events[2])
	}
	return batch
}

func BenchmarkCommit(b *testing.B) {
	for _, destinations := range []int{1, 3} {
		b.Run(fmt.Sprint("destinations=", destinations), func(b *testing.B) {
			s := benchStore(b, destinations)
			n := 0
			for b.Loop() {
				n++
				commit(b, s, manyEvents(n))
			}
			b.ReportMetric(float64(100*n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func BenchmarkDeliver(b *testing.B) {
	s := benchStore(b, 1)
	n, delivered := 0, 0
	for b.Loop() {
		due, err := s.Claim(b.Context(), "d0", time.Now(), 100, nil)
		must(b, err)
		if len(due) == 0 {
			b.StopTimer()
			for range 50 {
				n++
				commit(b, s, manyEvents(n))
			}
			b.StartTimer()
			continue
		}
		var settlements []state.Settlement
		for _, d := range due {
			settlements = append(settlements, state.Settlement{Seq: d.Seq})
		}
		must(b, s.Settle(b.Context(), "d0", settlements))
		delivered += len(due)
	}
	b.ReportMetric(float64(delivered)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkTold(b *testing.B) {
	s := benchStore(b, 1)
	var ids []uuid.UUID
	for n := range 20 {
		batch := manyEvents(n)
		batch.Events = nil
		commit(b, s, batch)
		for _, told := range batch.Told {
			ids = append(ids, told.ID)
		}
	}
	for b.Loop() {
		got, err := s.Told(context.Background(), ids[:200])
		must(b, err)
		if len(got) != 200 || got[ids[0]].Phase != adapter.Ended {
			b.Fatal("wrong entries")
		}
	}
}
