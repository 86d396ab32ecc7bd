package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

func steps(texts map[string]string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range texts {
		files["migrations/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	const one, two = "CREATE TABLE a (x); INSERT INTO a VALUES (1);", "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = 2;"
	for name, c := range map[string]struct {
		files   map[string]string
		from    int
		version int
		fails   bool
	}{
		"from nothing":              {map[string]string{"0001_one.sql": one, "0002_two.sql": two}, 0, 2, false},
		"only the first":            {map[string]string{"0001_one.sql": one}, 0, 1, false},
		"nothing to do":             {map[string]string{"0001_one.sql": "nonsense"}, 1, 0, false},
		"a later step fails":        {map[string]string{"0001_one.sql": one, "0002_two.sql": "CREATE TABLE b (x); nonsense"}, 0, 1, true},
		"a step breaks its promise": {map[string]string{"0001_one.sql": "CREATE TABLE a (x NOT NULL); INSERT INTO a VALUES (NULL)"}, 0, 0, true},
		"a gap in the numbers":      {map[string]string{"0001_one.sql": one, "0003_three.sql": two}, 0, 0, true},
		"a name without a number":   {map[string]string{"first.sql": one}, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open("sqlite", filepath.Join(memoryDir(t), "db"))
			must(t, err)
			defer db.Close()
			err = sqlite.Migrate(t.Context(), db, steps(c.files), c.from)
			if (err != nil) != c.fails {
				t.Errorf("migrating: %v", err)
			}
			var version, stray int
			must(t, db.QueryRowContext(t.Context(), "SELECT user_version FROM pragma_user_version").Scan(&version))
			must(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_schema WHERE name = 'b'").Scan(&stray))
			if version != c.version || stray != 0 {
				t.Errorf("schema is %d with %d tables of a step that failed, want %d", version, stray, c.version)
			}
			if c.version == 2 {
				var y int
				must(t, db.QueryRowContext(t.Context(), "SELECT y FROM a").Scan(&y))
				if y != 2 {
					t.Errorf("y is %d", y)
				}
			}
		})
	}
}

// TestMigrationGoesOn upgrades a store on which an earlier upgrade stopped half-way.
func TestMigrationGoesOn(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(memoryDir(t), "db"))
	must(t, err)
	defer db.Close()
	files := map[string]string{"0001_one.sql": "CREATE TABLE a (x);", "0002_two.sql": "nonsense"}
	if err := sqlite.Migrate(t.Context(), db, steps(files), 0); err == nil {
		t.Fatal("nonsense passed")
	}
	files["0002_two.sql"] = "CREATE TABLE b (x);"
	must(t, sqlite.Migrate(t.Context(), db, steps(files), 1))
}

// TestPendingRowsMigrate upgrades a store that has rows in every state: what may be sent, may still, and nothing else.
func TestPendingRowsMigrate(t *testing.T) {
	t.Parallel()
	path := storeIn(memoryDir(t))
	db, err := sql.Open("sqlite", path)
	must(t, err)
	before := fstest.MapFS{}
	for _, name := range []string{"0001_store.sql", "0002_trouble.sql", "0003_ruling.sql", "0004_datasets.sql"} {
		text, err := os.ReadFile(filepath.Join("migrations", name))
		must(t, err)
		before["migrations/"+name] = &fstest.MapFile{Data: text}
	}
	must(t, sqlite.Migrate(t.Context(), db, before, 0))
	for _, statement := range []string{
		`INSERT INTO destinations (name, kind, registered, pending, dead) VALUES ('one', 'http', 1, 4, 1)`,
		`INSERT INTO lanes (lane, run) VALUES (1, randomblob(16)), (2, randomblob(16)), (3, randomblob(16)), (4, randomblob(16))`,
		`INSERT INTO events (lane, first, type, time, run_id, namespace, name, enqueued, codec, body)
			SELECT column1, 0, 'RUNNING', column2, randomblob(16), 'test', 'etl', 1, 0, x'7b7d'
			FROM (VALUES (1, 1), (1, 2), (2, 3), (3, 4), (4, 5), (4, 6))`,
		// Ready, behind it, ready and to be tried again long ago, dead, delivered behind a dead letter, ready.
		`INSERT INTO deliveries (seq, dest, lane, first, state, due) VALUES
			(1, 1, 1, 0, 1, 0), (2, 1, 1, 0, 0, 0), (3, 1, 2, 0, 1, 5), (4, 1, 3, 0, 2, 0), (5, 1, 4, 0, 3, 0), (6, 1, 4, 0, 1, 0)`,
		`UPDATE totals SET events = 6, bytes = 12`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(statement, err)
		}
	}
	must(t, db.Close())
	s := openDaemon(t, path, sqlite.Options{})
	defer s.Close()
	for _, want := range [][]int64{{1, 3, 6}, {2}, nil} {
		due, err := s.Claim(t.Context(), "one", time.Now(), 10, nil)
		must(t, err)
		var seqs []int64
		var settlements []state.Settlement
		for _, d := range due {
			seqs, settlements = append(seqs, d.Seq), append(settlements, state.Settlement{Seq: d.Seq})
		}
		if !slices.Equal(want, seqs) {
			t.Errorf("due are %v, want %v", seqs, want)
		}
		must(t, s.Settle(t.Context(), "one", settlements))
	}
}
