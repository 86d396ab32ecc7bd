package secrets_test

import (
	"bytes"
	"compress/flate"
	"database/sql"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // reads the store as a stranger would
)

// findings are the places at which a text holds a secret, in clear or in base64, with some of what stands around it.
func findings(text []byte) []string {
	var found []string
	for _, form := range forms() {
		if i := bytes.Index(text, form); i >= 0 {
			found = append(found, fmt.Sprintf("%q", text[max(0, i-60):min(len(text), i+60)]))
		}
	}
	return found
}

// forms are the ways in which the word shows: as it is, and inside base64, where it looks in three ways, depending on
// what stands before it.
func forms() [][]byte {
	all := [][]byte{[]byte(word)}
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + word))
		all = append(all, []byte(encoded[4:len(encoded)-4]))
	}
	return all
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// searchFiles looks into every file below a folder.
func searchFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, f := range findings(content) {
			t.Errorf("%s holds %s", filepath.Base(path), f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// searchStore looks into every value of every table, packed ones included. It returns how many it saw.
func searchStore(t *testing.T, path string) (values int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range column(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table'`) {
		values += searchTable(t, db, table)
	}
	return values
}

func searchTable(t *testing.T, db *sql.DB, table string) (values int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT * FROM "`+table+`"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	cells, into := make([]any, len(names)), make([]any, len(names))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, cell := range cells {
			values++
			for _, f := range findings(unpacked(cell)) {
				t.Errorf("%s.%s holds %s", table, names[i], f)
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

// unpacked is a cell's text beside what it holds when it is DEFLATE.
func unpacked(cell any) []byte {
	content, ok := cell.([]byte)
	if !ok {
		return fmt.Append(nil, cell)
	}
	inflated, _ := io.ReadAll(flate.NewReader(bytes.NewReader(content)))
	return append(bytes.Clone(content), inflated...)
}

func column(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		all = append(all, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
