package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/test/docs"
	"github.com/prefect-openlineage/listener/test/rig"
)

var (
	caseID  = regexp.MustCompile(`^A\d\d$`)
	testRef = regexp.MustCompile(`^([a-z0-9/]+)\.((?:Test|Fuzz)[A-Za-z0-9_]+)$`)
)

// Each case has an id of its own, and a test that is there or words that say why it needs none.
func TestCases(t *testing.T) {
	t.Parallel()
	table := docs.Read(t, filepath.Join(rig.Root(), "test", "cases.md")).Section(t, "Cases").Tables[0]
	last := ""
	for _, row := range table.Rows {
		id, shown := row[0], row[2]
		if !caseID.MatchString(id) || id <= last {
			t.Errorf("case %q after %q", id, last)
		}
		last = id
		if row[1] == "" || shown == "" {
			t.Errorf("%s says too little: %q", id, row)
		}
		for _, name := range docs.Spans(shown) {
			if !isTest(t, name) {
				t.Errorf("%s names %s, which is not there", id, name)
			}
		}
	}
	if len(table.Rows) < 39 {
		t.Errorf("%d cases", len(table.Rows))
	}
}

// isTest says whether a name such as prefect.TestShape is that of a test function of the checkout.
func isTest(t *testing.T, name string) bool {
	t.Helper()
	parts := testRef.FindStringSubmatch(name)
	if parts == nil {
		return false
	}
	files, err := filepath.Glob(filepath.Join(rig.Root(), parts[1], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+parts[2]+"(") {
			return true
		}
	}
	return false
}

// The check itself tells what is there from what is not.
func TestIsTest(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"test/docs.TestIsTest": true, "test/docs.TestIsTes": false, "docs.TestIsTest": false, "test/docs.Read": false, "TestIsTest": false,
	} {
		if isTest(t, name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}
