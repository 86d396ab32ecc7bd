package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"testing/fstest"

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
