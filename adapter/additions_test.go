package adapter_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/openlineage"
)

// What the settings add stands in every event. What is added to the job is pinned with it, so that later settings don't
// change a run that is under way.
func TestAdditions(t *testing.T) {
	t.Parallel()
	additions := openlineage.Additions{
		RunTags:     []openlineage.Tag{{Key: "stage", Value: "prod", Source: "USER"}},
		JobTags:     []openlineage.Tag{{Key: "team", Value: "data", Source: "USER"}},
		Environment: []openlineage.EnvironmentVariable{{Name: "STAGE", Value: "prod"}},
		Location:    &openlineage.SourceCodeLocationJobFacet{Type: "git", URL: "https://example.com/x"},
		Reducer:     &openlineage.Reducer{Trimmers: openlineage.Trimmers()},
	}
	l := newListener(t, newAdapter(t, func(s *adapter.Settings) { s.Additions = additions }))
	row := taskRow()
	row.Tags = []string{"stage:test"}
	artifact := table(1, "ol-dataset_output", quoted(t, `[{"database_uri":"s3://lake","table":"sales/day=1"},{"database_uri":"s3://lake","table":"sales/day=2"}]`))
	events := l.see(taskSnapshot(row, artifact))
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	for _, e := range events {
		o := object(t, e.Body)
		for _, place := range []struct {
			path []string
			want any
		}{
			{[]string{"run", "facets", "tags", "tags"}, []any{map[string]any{"key": "stage", "value": "prod", "source": "USER"}}},
			{[]string{"run", "facets", "environmentVariables", "environmentVariables"}, []any{map[string]any{"name": "STAGE", "value": "prod"}}},
			{[]string{"job", "facets", "tags", "tags"}, []any{map[string]any{"key": "team", "value": "data", "source": "USER"}}},
			{[]string{"job", "facets", "sourceCodeLocation", "url"}, "https://example.com/x"},
		} {
			if diff := cmp.Diff(place.want, dig(o, place.path...)); diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", e.Type, place.path, diff)
			}
		}
	}
	if diff := cmp.Diff([]string{"s3://lake|sales"}, names(object(t, events[1].Body), "outputs")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(l.edges) != 1 || l.edges[0].Name != "sales" {
		t.Errorf("the edges are %v", l.edges)
	}
}
