package mapping_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/mapping"
)

// said is one proposal of prefect-datahub 1.7.0.17.
type said struct {
	EntityURN  string `json:"entityUrn"`
	AspectName string
	Aspect     any
}

// etl is the flow of the recording as the listener tells of it: one task that reads a table and writes one.
func etl() [][]byte {
	const run, task = "0199a7f0-0000-7000-8000-000000000001", "0199a7f0-0000-7000-8000-000000000002"
	facets := func(extra string) string {
		return `{"prefect_run":{"flowName":"ETL flow","flowRunId":"` + run + `"` + extra + `}}`
	}
	events := []string{
		`{"eventType":"START","eventTime":"2023-11-14T22:13:20Z","run":{"runId":"` + run + `","facets":` + facets(``) +
			`},"job":{"namespace":"default","name":"ETL flow","facets":{"jobType":{"integration":"PREFECT","jobType":"FLOW"}}}}`,
		`{"eventType":"COMPLETE","eventTime":"2023-11-14T22:13:22Z","run":{"runId":"` + task + `","facets":` + facets(`,"taskKey":"transform-3f2a"`) +
			`},"job":{"namespace":"default","name":"ETL flow.Transform","facets":{"jobType":{"integration":"PREFECT","jobType":"TASK"},` +
			`"tags":{"tags":[{"key":"t1","value":"true"}]}}},"inputs":[{"namespace":"snowflake://acme","name":"mydb.schema.tableA"}],` +
			`"outputs":[{"namespace":"snowflake://acme","name":"mydb.schema.tableC"}]}`,
	}
	return [][]byte{[]byte(events[0]), []byte(events[1])}
}

// With the names of prefect-datahub, flows, tasks and datasets are the same entities, so that who used that package finds
// their history continued. Not the same, on purpose: a run's id is Prefect's own and not the sum of its name, since names
// come twice; owners are never written as an empty list, which takes away what people set; tags and lineage are added.
func TestEntitiesAreThoseOfPrefectDataHub(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/prefect-datahub.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]json.RawMessage
	if err := json.Unmarshal(raw, &recorded); err != nil {
		t.Fatal(err)
	}
	for name, instance := range map[string]string{"no_platform_instance": "", "platform_instance_inst1": "inst1"} {
		var theirs []said
		if err := json.Unmarshal(recorded[name], &theirs); err != nil {
			t.Fatal(err)
		}
		settings := usual()
		settings.URNs, settings.PlatformInstance = mapping.PrefectDataHub, instance
		ours := map[string]any{} // by URN and aspect
		entities := map[string]bool{}
		for _, mapped := range mapAll(t, settings, etl()) {
			for _, p := range mapped.Structure {
				var value any
				if err := json.Unmarshal(p.Aspect, &value); err != nil {
					t.Fatal(err)
				}
				ours[p.EntityURN+" "+p.AspectName], entities[p.EntityURN] = value, true
			}
		}
		same := 0
		for _, s := range theirs {
			if strings.HasPrefix(s.EntityURN, "urn:li:dataProcessInstance:") {
				continue
			}
			if !entities[s.EntityURN] {
				t.Errorf("%s: nothing is said of %s", name, s.EntityURN)
			}
			if slices.Contains([]string{"status", "dataPlatformInstance", "datasetKey"}, s.AspectName) {
				same++
				if diff := cmp.Diff(s.Aspect, ours[s.EntityURN+" "+s.AspectName]); diff != "" {
					t.Errorf("%s: %s of %s (-prefect-datahub +ours):\n%s", name, s.AspectName, s.EntityURN, diff)
				}
			}
		}
		if same < 5 || len(entities) != 4 {
			t.Errorf("%s: %d aspects compared, %d entities", name, same, len(entities))
		}
	}
}
