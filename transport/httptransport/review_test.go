package httptransport_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// At an address of Marquez's it is said what Marquez makes of an event; elsewhere nothing is known.
func TestReview(t *testing.T) {
	t.Parallel()
	parent := `"facets":{"parent":{"job":{"name":"outer","namespace":"prefect"},"run":{"runId":"x"}}}`
	nested := `[{"name":"t","facets":{"schema":{"fields":[{"name":"a","fields":[{"name":"b"}]},{"name":"c","fields":[{"name":"d"}]}]}}}]`
	for _, tt := range []struct {
		name, replace, by string
		want              []string
	}{
		{"as it is", "", "", nil},
		{"a child", `"run":{"facets":{}`, `"run":{` + parent, []string{"Marquez calls the job outer.flow-1.load <é> & 数据, after its parent (FLOW_NAME_TYPE=path says so from the start)"}},
		{"a child by name", `"name":"flow`, `"name":"outer.flow`, nil},
		{"a namespace", `"namespace":"prefect"`, `"namespace":"our team"`, []string{"Marquez writes _ for some characters of the namespace our team"}},
		{"RUNNING", `"COMPLETE"`, `"RUNNING"`, []string{"Marquez takes the time of a RUNNING event for the start of the run"}},
		{"many", `"inputs":[]`, `"inputs":[` + strings.Repeat(`{"name":"x"},`, 199) + `{"name":"x"}]`, []string{"Marquez takes seconds over 200 datasets: set timeout to 60"}},
		{"columns", `"outputs":[]`, `"outputs":` + nested, []string{"Marquez does not show the columns inside columns of t"}},
	} {
		event := transporttest.Event(1, 1)
		body := strings.Replace(string(event.Body), tt.replace, tt.by, 1)
		if tt.name == "a child by name" {
			body = strings.Replace(body, `"run":{"facets":{}`, `"run":{`+parent, 1)
		}
		event.Body = []byte(body)
		for endpoint, want := range map[string][]string{
			"api/v1/lineage": tt.want, "openapi/openlineage/api/v1/lineage": nil, "elsewhere": nil,
		} {
			got := build(t, map[string]any{"url": "http://h", "endpoint": endpoint}).Review(event)
			if diff := cmp.Diff(transport.Review{Copies: [][]byte{event.Body}, Remarks: want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", fmt.Sprint(tt.name, " at ", endpoint), diff)
			}
		}
	}
}
