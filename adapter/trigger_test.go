package adapter_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/prefect"
)

func TestTrigger(t *testing.T) {
	t.Parallel()
	id := deploymentID
	for name, tt := range map[string]struct {
		by   *prefect.Creator
		want any
	}{
		"nobody":        {nil, nil},
		"a schedule":    {&prefect.Creator{ID: &id, Type: new("SCHEDULE"), DisplayValue: new("hourly")}, nil},
		"without type":  {&prefect.Creator{ID: &id}, nil},
		"an automation": {&prefect.Creator{ID: &id, Type: new("AUTOMATION"), DisplayValue: new("on arrival")}, map[string]any{"type": "automation", "id": id.String(), "name": "on arrival"}},
		"one without a name, with a secret elsewhere": {&prefect.Creator{Type: new("AUTOMATION"), DisplayValue: new("copy postgres://u:hunter2@h/db")}, map[string]any{"type": "automation", "name": "copy postgres://***@h/db"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := flowRow()
			row.CreatedBy = tt.by
			l := newListener(t, newAdapter(t))
			for _, e := range l.see(flowSnapshot(row)) {
				got := dig(object(t, e.Body), "run", "facets", "prefect_run", "trigger")
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", e.Type, diff)
				}
			}
		})
	}
}
