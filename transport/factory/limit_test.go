package factory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/factory"
	"github.com/prefect-openlineage/listener/transport/fit"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// Each leaf knows its own limit, wherever it stands, and what is left out is told under the destination's name.
func TestEachDestinationHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	small, large := transporttest.NewSink(t), transporttest.NewSink(t)
	type said struct {
		destination string
		parts       []string
	}
	var got []said
	spec := composite(list(
		named("small", m{"type": "http", "url": small.URL(), "max_event_bytes": 600}),
		named("large", m{"type": "http", "url": large.URL()}),
	))
	destinations := build(t, spec, factory.Options{
		Reduced: func(destination string, _ transport.Event, left fit.Left) {
			got = append(got, said{destination, left.Parts})
		},
	})
	event := transporttest.Event(1, 1)
	text := `"facets":{"long":{"a":"` + strings.Repeat("x", 600) + `"}},"runId"`
	event.Body = []byte(strings.Replace(string(event.Body), `"facets":{},"runId"`, text, 1))
	for _, d := range destinations {
		if err := d.Transport.Emit(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]said{{"small", []string{"run.facets.long"}}}, got, cmp.AllowUnexported(said{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(string(small.Taken()[0].Body), `"long"`) || string(large.Taken()[0].Body) != string(event.Body) {
		t.Error("the wrong one got less")
	}
	if destinations[0].MaxBytes != 600 || destinations[1].MaxBytes != 0 {
		t.Errorf("limits %d and %d", destinations[0].MaxBytes, destinations[1].MaxBytes)
	}
}
