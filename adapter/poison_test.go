package adapter_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prefect-openlineage/listener/prefect"
)

// poison returns what in an event breaks a Marquez for everyone, or is refused by it for ever; nothing if it may be
// sent. The rules are what a real Marquez was seen to do.
func poison(t testing.TB, body []byte) []string {
	t.Helper()
	event := object(t, body)
	var found []string
	job := func(place string, v any) {
		namespace, _ := dig(v, "namespace").(string)
		name, _ := dig(v, "name").(string)
		if namespace == "" || utf8.RuneCountInString(namespace) > 1024 || oddLine(namespace) {
			found = append(found, fmt.Sprintf("%s: job namespace %.100q", place, namespace))
		}
		if name == "" || len(name) > 1000 || oddLine(name) {
			found = append(found, fmt.Sprintf("%s: job name %.100q", place, name))
		}
	}
	job("job", event["job"])
	if parent := dig(event, "run", "facets", "parent"); parent != nil {
		job("parent", dig(parent, "job"))
		job("root", dig(parent, "root", "job"))
	}
	for _, side := range []string{"inputs", "outputs"} {
		for i, d := range event[side].([]any) {
			place := fmt.Sprintf("%s[%d]", side, i)
			found = append(found, badDataset(place, d)...)
			for _, key := range []string{"symlinks", "columnLineage", "lifecycleStateChange", "lineage"} {
				found = append(found, badNames(place+"."+key, dig(d, "facets", key))...)
			}
			found = append(found, badFields(place, dig(d, "facets", "schema", "fields"))...)
		}
	}
	if at, _ := dig(event, "job", "facets", "sourceCodeLocation", "url").(string); len(at) > 255 {
		found = append(found, "location "+at)
	}
	if strings.Contains(string(body), `\u0000`) {
		found = append(found, "U+0000")
	}
	return found
}

var datasetNamespace = regexp.MustCompile(`^[a-zA-Z:;=/0-9_\-.@+]+$`)

func badDataset(place string, v any) []string {
	namespace, _ := dig(v, "namespace").(string)
	name, _ := dig(v, "name").(string)
	var found []string
	if !datasetNamespace.MatchString(namespace) || len(namespace) > 1024 {
		found = append(found, fmt.Sprintf("%s: namespace %.100q", place, namespace))
	}
	if strings.TrimSpace(name) == "" || len(namespace)+len(name) > 2600 || oddLine(name) {
		found = append(found, fmt.Sprintf("%s: name %.100q", place, name))
	}
	return found
}

// badNames looks at every object with a namespace, however deep.
func badNames(place string, v any) []string {
	var found []string
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["namespace"]; ok {
			found = append(found, badDataset(place, v)...)
		}
		for key, inner := range v {
			found = append(found, badNames(place+"."+key, inner)...)
		}
	case []any:
		for _, inner := range v {
			found = append(found, badNames(place, inner)...)
		}
	}
	return found
}

func badFields(place string, v any) []string {
	fields, _ := v.([]any)
	var found []string
	for _, field := range fields {
		name, _ := dig(field, "name").(string)
		kind, _ := dig(field, "type").(string)
		if strings.TrimSpace(name) == "" || utf8.RuneCountInString(name) > 255 || len(name)+len(kind) > 2600 {
			found = append(found, fmt.Sprintf("%s: field %.100q", place, name))
		}
		found = append(found, badFields(place, dig(field, "fields"))...)
	}
	return found
}

func oddLine(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' })
}

// TestNothingPoisonsMarquez goes through the events that were seen to break a Marquez for everyone, each by the data in
// Prefect that would make it. The run is told in any case, and what could not be told of it is warned of.
func TestNothingPoisonsMarquez(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 1025)
	row := func(cells string) func(*prefect.Snapshot) {
		return func(s *prefect.Snapshot) {
			s.Artifacts = []prefect.Artifact{table(1, "ol-dataset_input ol-dataset_output", "[{"+cells+"}]")}
		}
	}
	flow := func(name string) func(*prefect.Snapshot) {
		return func(s *prefect.Snapshot) { s.Flow.Name = name }
	}
	task := func(name string) func(*prefect.Snapshot) {
		return func(s *prefect.Snapshot) { s.TaskRun.Name = name }
	}
	variable := func(namespace string) func(*prefect.Snapshot) {
		return func(s *prefect.Snapshot) {
			env, err := json.Marshal(map[string]string{"OPENLINEAGE_NAMESPACE": namespace})
			if err != nil {
				t.Fatal(err)
			}
			s.Deployment = &prefect.Deployment{ID: deploymentID, JobVariables: map[string]json.RawMessage{"env": env}}
		}
	}
	tests := []struct {
		name    string
		change  func(*prefect.Snapshot)
		outputs []string
		rules   []string // of the warnings
	}{
		{"dataset name empty", row(`"database_uri":"duckdb:///d","table":""`), []string{}, []string{"dataset-refused"}},
		{"dataset name blank", row(`"database_uri":"duckdb:///d","table":" \t "`), []string{}, []string{"dataset-refused"}},
		{"dataset namespace with a space", row(`"database_uri":"duckdb:///my d","table":"t"`), []string{"duckdb:///my_d|t"}, nil},
		{"dataset namespace empty", row(`"database_uri":"","table":"t"`), []string{}, []string{"dataset-refused"}},
		{"dataset namespace of 1,025 characters", row(`"database_uri":"` + long + `","table":"t"`), []string{}, []string{"dataset-refused"}},
		{"dataset namespace of 1,024 characters", row(`"database_uri":"` + long[1:] + `","table":"t"`), []string{long[1:] + "|t"}, nil},
		{"dataset namespace with other letters", row(`"database_uri":"duckdb:///дata","table":"t"`), []string{"duckdb:///_ata|t"}, nil},
		{"dataset name with a newline", row(`"database_uri":"duckdb:///d","table":"a\nb"`), []string{}, []string{"dataset-refused"}},
		{"dataset name with a line separator", row(`"database_uri":"duckdb:///d","table":"a\u2028b"`), []string{}, []string{"dataset-refused"}},
		{"dataset name with U+0000", row(`"database_uri":"duckdb:///d","table":"a\u0000b"`), []string{}, []string{"dataset-refused"}},
		{"dataset name of 2,600 bytes", row(`"database_uri":"duckdb:///d","table":"` + strings.Repeat("é", 1300) + `"`), []string{}, []string{"dataset-refused"}},
		{"dataset name of 100,000 characters", row(`"database_uri":"duckdb:///d","table":"` + strings.Repeat("x", 100_000) + `"`), []string{}, []string{"dataset-refused"}},
		{"dataset names that do no harm", func(s *prefect.Snapshot) {
			s.Artifacts = []prefect.Artifact{table(1, "ol-dataset_output", `[{"database_uri":"duckdb:///d","table":"{a}"},{"database_uri":"duckdb:///d","table":"a:b"}]`)}
		}, []string{"duckdb:///d|a:b", "duckdb:///d|{a}"}, nil},
		{"symlink namespace with a space", row(`"database_uri":"duckdb:///d","table":"t","symlinks":[{"namespace":"a b","name":"x"}]`), []string{"duckdb:///d|t"}, nil},
		{"symlink namespace empty", row(`"database_uri":"duckdb:///d","table":"t","symlinks":[{"namespace":"","name":"x"}]`), []string{"duckdb:///d|t"}, []string{"facet-refused"}},
		{"symlink name with a newline", row(`"database_uri":"duckdb:///d","table":"t","facets":{"symlinks":{"identifiers":[{"namespace":"a","name":"x\ny","type":"TABLE"}]}}`), []string{"duckdb:///d|t"}, []string{"facet-refused"}},
		{"column lineage from a namespace with a space", row(`"database_uri":"duckdb:///d","table":"t","facets":{"columnLineage":{"fields":{"a":{"inputFields":[{"namespace":"a b","name":"x","field":"f"}]}}}}`), []string{"duckdb:///d|t"}, nil},
		{"previous name with a newline", row(`"database_uri":"duckdb:///d","table":"t","lifecycle":{"change":"RENAME","previous":{"namespace":"a","name":"x\ny"}}`), []string{"duckdb:///d|t"}, []string{"facet-refused"}},
		{"U+0000 in a facet", row(`"database_uri":"duckdb:///d","table":"t","description":"a\u0000b","facets":{"x\u0000":{},"y":{"a\u0000":"\u0000"}}`), []string{"duckdb:///d|t"}, []string{"facet-refused"}},
		{"a column without inputs", row(`"database_uri":"duckdb:///d","table":"t","facets":{"columnLineage":{"fields":{"a":{}}}}`), []string{"duckdb:///d|t"}, []string{"facet-refused"}},
		{"symlinks without identifiers", row(`"database_uri":"duckdb:///d","table":"t","facets":{"symlinks":{}}`), []string{"duckdb:///d|t"}, []string{"facet-refused"}},
		{"data source without a name", row(`"database_uri":"duckdb:///d","table":"t","facets":{"dataSource":{"uri":"a:b"}}`), []string{"duckdb:///d|t"}, []string{"facet-refused"}},
		{"facet deleted", row(`"database_uri":"duckdb:///d","table":"t","facets":{"documentation":{"_deleted":true}}`), []string{"duckdb:///d|t"}, []string{"facet-refused"}},
		{"job namespace empty", variable(" "), []string{}, nil},
		{"job namespace of 1,025 characters", variable(long), []string{}, []string{"namespace-replaced"}},
		{"job namespace with a newline", variable("a\nb"), []string{}, []string{"namespace-replaced"}},
		{"parent's and flow's job name empty", flow(""), []string{}, []string{"name-replaced"}},
		{"parent's and flow's job name with a newline", flow("a\nb"), []string{}, []string{"name-replaced"}},
		{"parent's and flow's job name of 3,000 bytes", flow(strings.Repeat("é", 1500)), []string{}, []string{"name-replaced", "name-replaced"}},
		{"task's job name empty", task(""), []string{}, nil},
		{"task's job name with a newline", task("a\nb-612"), []string{}, []string{"name-replaced"}},
		{"a column's name of 256 characters", row(`"database_uri":"duckdb:///d","table":"t","schema":["` + strings.Repeat("é", 256) + `"]`), []string{"duckdb:///d|t"}, []string{"facet-refused"}},
		{"a column's type of 2,601 bytes", row(`"database_uri":"duckdb:///d","table":"t","facets":{"schema":{"fields":[{"name":"a","type":"` + strings.Repeat("x", 2601) + `"}]}}`), []string{"duckdb:///d|t"}, []string{"facet-refused"}},
		{"a symlink's type of 65 characters", row(`"database_uri":"duckdb:///d","table":"t","symlinks":[{"namespace":"n","name":"x","type":"` + strings.Repeat("x", 65) + `"}]`), []string{"duckdb:///d|t"}, []string{"facet-refused"}},
		{"code deep in a tree", func(s *prefect.Snapshot) {
			s.Deployment = &prefect.Deployment{ID: deploymentID, Entrypoint: new(strings.Repeat("f/", 120) + "a.py:f"), PullSteps: []json.RawMessage{
				json.RawMessage(`{"prefect.deployments.steps.git_clone":{"repository":"https://github.com/o/r"}}`),
			}}
		}, []string{}, nil},
		{"year 9999", func(s *prefect.Snapshot) {
			s.TaskRun.ExpectedStartTime = new(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
		}, []string{}, nil},
	}
	a := newAdapter(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := taskSnapshot(taskRow())
			tt.change(&s)
			above := flowSnapshot(flowRow())
			above.Flow, above.Deployment = s.Flow, s.Deployment
			l := newListener(t, a)
			l.see(above)
			if events := l.see(s); len(events) != 2 {
				t.Fatalf("%d events of the task, warnings %v", len(events), l.warnings)
			}
			for _, e := range l.events {
				for _, found := range poison(t, e.Body) {
					t.Errorf("%s: %s", e.Type, found)
				}
			}
			if got := names(object(t, l.events[len(l.events)-1].Body), "outputs"); fmt.Sprint(got) != fmt.Sprint(tt.outputs) {
				t.Errorf("outputs %.300q, want %.300q", got, tt.outputs)
			}
			var rules []string
			for _, w := range l.warnings {
				rules = append(rules, w.Rule)
				if len(w.Message) > 1500 || oddLine(w.Message) {
					t.Errorf("a warning of %d bytes: %.300q", len(w.Message), w.Message)
				}
			}
			if fmt.Sprint(rules) != fmt.Sprint(tt.rules) {
				t.Errorf("warnings %v, want %v", l.warnings, tt.rules)
			}
		})
	}
}
