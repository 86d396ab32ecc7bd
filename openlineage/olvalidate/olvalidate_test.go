package olvalidate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/openlineage/oltest"
	"github.com/prefect-openlineage/listener/openlineage/olvalidate"
)

// event returns an event with the given members of run.facets, job.facets, outputs and the top level put in.
func event(runFacets, jobFacets, outputs, more string) string {
	return `{"eventType":"START","eventTime":"2026-11-30T12:00:00.000000Z","producer":"https://example.com/p",` +
		`"schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",` +
		`"run":{"runId":"0197c348-87ff-770c-9c53-1b6cfa8de1d8","facets":{` + runFacets + `}},` +
		`"job":{"namespace":"n","name":"j","facets":{` + jobFacets + `}},"inputs":[],"outputs":[` + outputs + `]` + more + `}`
}

func facet(key, url, members string) string {
	return `"` + key + `":{"_producer":"https://example.com/p","_schemaURL":"` + url + `"` + members + `}`
}

const specFacets = "https://openlineage.io/spec/facets/"

func TestValidate(t *testing.T) {
	t.Parallel()
	v := oltest.Validator(t)
	const (
		documentation = specFacets + "1-1-0/DocumentationJobFacet.json#/$defs/DocumentationJobFacet"
		nominalTime   = specFacets + "1-0-1/NominalTimeRunFacet.json#/$defs/NominalTimeRunFacet"
		parent        = specFacets + "1-2-0/ParentRunFacet.json#/$defs/ParentRunFacet"
		statistics    = specFacets + "1-0-2/OutputStatisticsOutputDatasetFacet.json#/$defs/OutputStatisticsOutputDatasetFacet"
		ours          = "https://example.com/any/openlineage/facets/PrefectRunFacet.json#/$defs/PrefectRunFacet"
		base          = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet"
	)
	output := func(facets, outputFacets string) string {
		return `{"namespace":"a","name":"b","facets":{` + facets + `},"outputFacets":{` + outputFacets + `}}`
	}
	tests := []struct {
		name, event string
		want        []string // each must be in the error; none: valid
	}{
		{"smallest", event("", "", "", ""), nil},
		{"good facets", event(facet("nominalTime", nominalTime, `,"nominalStartTime":"2026-01-01T00:00:00Z"`)+","+
			facet("prefect_run", ours, `,"kind":"flow-run"`)+","+facet("custom", base, `,"x":1`),
			facet("documentation", documentation, `,"description":"d"`),
			output("", facet("outputStatistics", statistics, `,"rowCount":1`)), ""), nil},
		{"gcp facet", event("", facet("gcp_lineage", specFacets+"1-0-0/GcpLineageJobFacet.json#/$defs/GcpLineageJobFacet",
			`,"displayName":"x"`), "", ""), nil},
		{"no JSON", "{", []string{"reading event"}},
		{"no object", "[]", []string{"no JSON object"}},
		{"empty", "{}", []string{`unknown schemaURL ""`}},
		{"run event without a run", `{"eventTime":"2026-11-30T12:00:00Z","producer":"https://example.com/p",` +
			`"schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"}`, []string{"run", "job"}},
		{"all findings at once", strings.NewReplacer("0197c348-87ff-770c-9c53-1b6cfa8de1d8", "x", "START", "BEGIN",
			"2026-11-30T12", "2026-11-30 12").Replace(event("", "", "", "")), []string{"uuid", "date-time", "/eventType"}},
		{"producer that is no URI", strings.ReplaceAll(event("", "", "", ""), "https://example.com/p", "a b"), []string{"uri"}},
		{"facet without a producer", event(`"x":{"_schemaURL":"`+base+`"}`, "", "", ""), []string{"run.facets.x", "_producer"}},
		{"facet that lacks a field", event("", facet("documentation", documentation, ""), "", ""),
			[]string{"job.facets.documentation", "description"}},
		{"facet with a wrong time", event(facet("nominalTime", nominalTime, `,"nominalStartTime":"today"`), "", "", ""),
			[]string{"run.facets.nominalTime/nominalStartTime", "date-time"}},
		{"parent with a run id that is none", event(facet("parent", parent,
			`,"run":{"runId":"1"},"job":{"namespace":"n","name":"j"}`), "", "", ""), []string{"run.facets.parent/run/runId"}},
		{"old version", event("", facet("documentation", strings.Replace(documentation, "1-1-0", "1-0-0", 1),
			`,"description":"d"`), "", ""), []string{"unknown _schemaURL"}},
		{"no _schemaURL", event(`"x":{"_producer":"https://example.com/p"}`, "", "", ""), []string{`unknown _schemaURL ""`}},
		{"wrong key", event("", facet("docs", documentation, `,"description":"d"`), "", ""), []string{"key should be documentation"}},
		{"facet that is no object", event(`"x":1`, "", "", ""), []string{"run.facets.x: no JSON object"}},
		{"output statistics with text", event("", "", output("", facet("outputStatistics", statistics, `,"rowCount":"1"`)), ""),
			[]string{"outputs[0].outputFacets.outputStatistics/rowCount"}},
		{"our facet without its kind", event(facet("prefect_run", ours, ""), "", "", ""), []string{"run.facets.prefect_run", "kind"}},
		{"our facet with a wrong kind", event(facet("prefect_run", ours, `,"kind":"flow"`), "", "", ""), []string{"/kind"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := v.Validate([]byte(tt.event))
			if len(tt.want) == 0 {
				if err != nil {
					t.Errorf("not valid: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("found nothing wrong")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	if _, err := olvalidate.Open(empty); err == nil {
		t.Error("an empty folder was opened")
	}
	if _, err := olvalidate.Open(filepath.Join(empty, "missing")); err == nil {
		t.Error("a missing folder was opened")
	}
	if err := os.WriteFile(filepath.Join(empty, "x.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := olvalidate.Open(empty); err == nil || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("a broken schema was read: %v", err)
	}
}
