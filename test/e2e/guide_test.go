package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/docs"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

// The flows of the guides, as they stand there, name the datasets that the guides say.
func TestTheGuidesFlows(t *testing.T) {
	t.Parallel()
	p := rig.StartPrefect(t)
	type sides struct{ Inputs, Outputs []string }
	want := map[string]sides{}
	var sections []docs.Section
	for _, page := range []string{"datasets.md", "migrating.md"} {
		sections = append(sections, docs.Read(t, filepath.Join(rig.Root(), "docs", page))...)
	}
	for _, section := range sections {
		for i, fence := range section.Fences {
			if fence.Language != "python" {
				continue
			}
			file := filepath.Join(t.TempDir(), "example.py")
			if err := os.WriteFile(file, []byte(fence.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			path, err := filepath.Rel(rig.Root(), file)
			if err != nil {
				t.Fatal(err)
			}
			if code := p.RunScript(path); code != 0 {
				t.Fatalf("%s: the example ended with %d", section.Heading, code)
			}
			if err := json.Unmarshal([]byte(section.Fences[i+1].Text), &want); err != nil {
				t.Fatalf("%s: %v", section.Heading, err)
			}
		}
	}
	if len(want) == 0 {
		t.Fatal("the guides have no examples in Python")
	}
	told.Settled(t, p)
	code, stdout, stderr := rig.NewListener(t, p.URL).Run("preview", "--since", "1h")
	if code != 0 {
		t.Fatalf("preview ended with %d: %s", code, stderr)
	}
	got := map[string]sides{}
	for _, e := range told.Parse(t, stdout) {
		if _, shown := want[e.Job.Name]; e.EventType == "COMPLETE" && shown {
			got[e.Job.Name] = sides{names(e.Inputs), names(e.Outputs)}
		}
	}
	for _, s := range want {
		slices.Sort(s.Inputs)
		slices.Sort(s.Outputs)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-the guides +the listener):\n%s", diff)
	}
}
