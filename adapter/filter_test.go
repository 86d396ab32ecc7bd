package adapter_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/openlineage"
)

// A filter is about one job alone. What runs inside a job that is filtered out is told about, under the next job above.
func TestFilters(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		filter string
		want   []string // the jobs that are told about
	}{
		{"etl", []string{"etl.load", "etl.load"}},
		{"etl.load", []string{"etl", "etl"}},
		{"etl.*", nil},
		{"load", []string{"etl", "etl", "etl.load", "etl.load"}},
	} {
		t.Run(test.filter, func(t *testing.T) {
			t.Parallel()
			filter := openlineage.ExactFilter(test.filter)
			if test.filter == "etl.*" {
				var err error
				if filter, err = openlineage.RegexFilter(test.filter); err != nil {
					t.Fatal(err)
				}
			}
			a := newAdapter(t, func(s *adapter.Settings) { s.Filters = []openlineage.Filter{filter} })
			l := newListener(t, a)
			l.see(flowSnapshot(flowRow()))
			l.see(taskSnapshot(taskRow()))
			var got []string
			for _, e := range l.events {
				got = append(got, e.Job.Name)
				if parent := dig(object(t, e.Body), "run", "facets", "parent"); test.filter == "etl" && parent != nil {
					t.Errorf("the parent is %v, which nobody was told about", parent)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			decision := a.Decide(flowSnapshot(flowRow()), nil)
			if silent := test.filter == "etl" || test.filter == "etl.*"; silent != decision.Ruling.Silent() || silent != (decision.By == adapter.DecidedByFilter) {
				t.Errorf("decided %+v", decision)
			}
		})
	}
}
