package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var embedded embed.FS

// applicationID marks the file as a listener's store ("OLPf").
const applicationID = 0x4f4c5066

// migration is one step of the schema. Steps go forward only; a file's number is the schema's version after it.
type migration struct {
	version int
	sql     string
}

// migrations reads the steps of a folder: 0001_name.sql, 0002_name.sql and so on without a gap.
func migrations(source fs.FS) ([]migration, error) {
	names, err := fs.Glob(source, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing migrations: %w", err)
	}
	slices.Sort(names)
	steps := make([]migration, 0, len(names))
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s is not number %d", name, i+1)
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return nil, fmt.Errorf("reading migration %s: %w", name, err)
		}
		steps = append(steps, migration{version: version, sql: string(text)})
	}
	return steps, nil
}

// migrate brings the schema from one version to the last, each step with its version number in one transaction, so a
// kill at any statement leaves a whole schema of one version or the other.
func migrate(ctx context.Context, conn *sql.Conn, from int, steps []migration) error {
	for _, step := range steps {
		if step.version <= from {
			continue
		}
		script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA application_id = %d;\nPRAGMA user_version = %d;\nCOMMIT;",
			step.sql, applicationID, step.version)
		if _, err := conn.ExecContext(ctx, script); err != nil {
			_, _ = conn.ExecContext(ctx, "ROLLBACK")
			return fmt.Errorf("migrating the store to schema %d: %w", step.version, err)
		}
	}
	return nil
}
