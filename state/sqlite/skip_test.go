package sqlite_test

import (
	"os"
	"testing"
)

// skipUnlessCI skips a test that this machine can't run. In CI, where everything is there, it fails instead.
func skipUnlessCI(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
