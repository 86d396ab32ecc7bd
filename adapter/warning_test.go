package adapter_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/test/docs"
)

// Every rule that this package's code warns by is listed, and the guide says what it means.
func TestWarningRules(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`\b(?:warn|warning|add)\([^"\n]*"([a-z]+(?:-[a-z]+)+)"`)
	var used []string
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range call.FindAllSubmatch(source, -1) {
			used = append(used, string(match[1]))
		}
	}
	slices.Sort(used)
	if diff := cmp.Diff(slices.Compact(used), adapter.WarningRules()); diff != "" {
		t.Errorf("(-code +list):\n%s", diff)
	}
	page := docs.Read(t, filepath.Join("..", "docs", "operations.md"))
	told := map[string]bool{}
	for _, row := range page.Section(t, "Odd data in Prefect").Tables[0].Rows {
		told[docs.Spans(row[0])[0]] = true
	}
	for _, rule := range append(adapter.WarningRules(), "rollup-refused") {
		if !told[rule] {
			t.Errorf("docs/operations.md does not tell of %s", rule)
		}
		delete(told, rule)
	}
	if len(told) > 0 {
		t.Errorf("docs/operations.md tells of rules that there are not: %v", told)
	}
}
