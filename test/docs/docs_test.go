package docs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/docs"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := docs.Parse("# A page\n\nWords.\n\n## `http`\n\n| key | |\n| --- | --- |\n| `url` | where |\n\n| b |\n| --- |\n\n" +
		"```yaml\n# no heading\n\n| no row\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	want := docs.Page{
		{Heading: "A page", Level: 1, Text: "\nWords.\n\n"},
		{
			Heading: "http", Level: 2, Text: "\n\n\n\n",
			Tables: []docs.Table{{Columns: []string{"key", ""}, Rows: [][]string{{"`url`", "where"}}}, {Columns: []string{"b"}}},
			Fences: []docs.Fence{{Language: "yaml", Text: "# no heading\n\n| no row\n", Line: 14}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := got.Section(t, "http").Level; got != 2 {
		t.Errorf("the section's level is %d", got)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a fence without an end":  "# A\n```\n",
		"a row that does not fit": "# A\n| a | b |\n| --- | --- |\n| c |\n",
	} {
		if _, err := docs.Parse(text); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"a b", "c"}, docs.Spans("`a b`, or `c`; not d")); diff != "" {
		t.Error(diff)
	}
}
