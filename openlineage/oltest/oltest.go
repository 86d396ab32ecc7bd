// Package oltest gives tests a validator of events.
package oltest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/prefect-openlineage/listener/openlineage/olvalidate"
)

// Validator opens the schemas of the OpenLineage spec, which are kept beside this repository, not in it. Where they
// are missing the test is skipped, or fails if it runs in CI.
func Validator(t testing.TB) *olvalidate.Validator {
	t.Helper()
	v, err := olvalidate.Open(SpecDir(t))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Known is Validator for a test that has more to look at: where the schemas are missing it returns nil.
func Known(t testing.TB) *olvalidate.Validator {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, specPath)); errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		return nil
	}
	return Validator(t)
}

// specPath leads from the repository to the spec.
const specPath = "../shared/openlineage-spec"

// SpecDir returns the folder that holds the spec's schemas, or skips the test like Validator.
func SpecDir(t testing.TB) string {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, specPath)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if os.Getenv("CI") != "" {
			t.Fatal("the schemas of the OpenLineage spec are missing: " + specPath)
		}
		t.Skip("the schemas of the OpenLineage spec are not here: " + specPath)
	} else if err != nil {
		t.Fatal(err)
	}
	return dir
}

// moduleRoot walks up to the folder that holds go.mod: tests run in their package's folder.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the test's folder")
		}
		dir = parent
	}
}
