package datadog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// event is an event with facets of the run, about a job of the namespace team.
func event(runFacets string) transport.Event {
	e := transporttest.Event(1, 1)
	e.Namespace = "team"
	e.Body = []byte(`{"eventType":"COMPLETE","inputs":[{"name":"a","namespace":"team"}],"job":{"facets":{"jobType":{"integration":"PREFECT","jobType":"TASK"}},` +
		`"name":"f.t <é>","namespace":"team"},"n":1.50,"producer":"https://p","run":{"facets":{` + runFacets + `},"runId":"r"}}`)
	return e
}

// copyOf returns what Datadog gets of an event.
func copyOf(t *testing.T, e transport.Event, env map[string]string) string {
	t.Helper()
	sink := transporttest.NewSink(t)
	before := string(e.Body)
	if err := build(t, parse(t, to(sink), env)).Emit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if string(e.Body) != before {
		t.Error("the event itself was changed")
	}
	return string(sink.Taken()[0].Body)
}

const (
	envTag     = `{"key":"_dd.ol_env","value":"prod","source":"USER"}`
	serviceTag = `{"key":"_dd.ol_service","value":"flows","source":"USER"}`
	tagsHead   = `"_producer":"https://p","_schemaURL":"https://openlineage.io/spec/facets/1-0-0/TagsRunFacet.json#/$defs/TagsRunFacet"`
)

// both are the variables that everything has that reports to Datadog.
func both() map[string]string { return map[string]string{"DD_ENV": "prod", "DD_SERVICE": "flows"} }

func TestWithoutDatadogsVariablesEventsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	e := event("")
	if got := copyOf(t, e, map[string]string{"DD_VERSION": "1", "DD_ENV": " "}); got != string(e.Body) {
		t.Errorf("got %s", got)
	}
}

func TestTheCopy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, facets string
		env          map[string]string
		namespace    string
		want         string // the run's facets
	}{
		{"service", ``, map[string]string{"DD_SERVICE": "flows"}, "team", `{"tags":{` + tagsHead + `,"tags":[` + serviceTag + `]}}`},
		{"env", ``, map[string]string{"DD_ENV": "prod"}, "prod", `{"tags":{` + tagsHead + `,"tags":[` + envTag + `]}}`},
		{"beside other tags", `"tags":{"_producer":"x","tags":[{"key":"a","value":"b"}]}`, both(), "prod", `{"tags":{"_producer":"x","tags":[{"key":"a","value":"b"},` + envTag + `,` + serviceTag + `]}}`},
		{"in place of the same", `"tags":{"_producer":"x","tags":[{"key":"_dd.ol_service","value":"old"},{"key":"_dd.ol_env","value":"old"}]}`, both(), "prod", `{"tags":{"_producer":"x","tags":[` + envTag + `,` + serviceTag + `]}}`},
		{
			"a task's flow run, whatever its namespace", `"parent":{"job":{"name":"f","namespace":"other"},"root":{"job":{"name":"f","namespace":"other"},"run":{"runId":"p"}},"run":{"runId":"p"}},"prefect_run":{"kind":"task-run"}`,
			map[string]string{"DD_ENV": "prod"}, "prod",
			`{"parent":{"job":{"name":"f","namespace":"prod"},"root":{"job":{"name":"f","namespace":"prod"},"run":{"runId":"p"}},"run":{"runId":"p"}},"prefect_run":{"kind":"task-run"},"tags":{` + tagsHead + `,"tags":[` + envTag + `]}}`,
		},
		{
			"a subflow of a flow that an outsider started", `"parent":{"job":{"name":"f","namespace":"other"},"root":{"job":{"name":"dag","namespace":"airflow"},"run":{"runId":"d"}},"run":{"runId":"p"}},"prefect_run":{"kind":"flow-run","parentTaskRunId":"t"}`,
			map[string]string{"DD_ENV": "prod"}, "prod",
			`{"parent":{"job":{"name":"f","namespace":"prod"},"root":{"job":{"name":"dag","namespace":"airflow"},"run":{"runId":"d"}},"run":{"runId":"p"}},"prefect_run":{"kind":"flow-run","parentTaskRunId":"t"},"tags":{` + tagsHead + `,"tags":[` + envTag + `]}}`,
		},
		{
			"an outsider's flow", `"parent":{"job":{"name":"dag","namespace":"airflow"},"root":{"job":{"name":"dag","namespace":"airflow"},"run":{"runId":"d"}},"run":{"runId":"d"}},"prefect_run":{"kind":"flow-run"}`,
			map[string]string{"DD_ENV": "prod"}, "prod",
			`{"parent":{"job":{"name":"dag","namespace":"airflow"},"root":{"job":{"name":"dag","namespace":"airflow"},"run":{"runId":"d"}},"run":{"runId":"d"}},"prefect_run":{"kind":"flow-run"},"tags":{` + tagsHead + `,"tags":[` + envTag + `]}}`,
		},
		{
			"what it waited for", `"jobDependencies":{"upstream":[{"job":{"name":"f.u","namespace":"team"},"run":{"runId":"u"}},{"job":{"name":"f.v","namespace":"other"}}]}`,
			map[string]string{"DD_ENV": "prod"}, "prod",
			`{"jobDependencies":{"upstream":[{"job":{"name":"f.u","namespace":"prod"},"run":{"runId":"u"}},{"job":{"name":"f.v","namespace":"prod"}}]},"tags":{` + tagsHead + `,"tags":[` + envTag + `]}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := copyOf(t, event(tt.facets), tt.env)
			want := strings.Replace(string(event("").Body), `"facets":{},"runId"`, `"facets":`+tt.want+`,"runId"`, 1)
			want = strings.Replace(want, `"name":"f.t <é>","namespace":"team"`, `"name":"f.t <é>","namespace":"`+tt.namespace+`"`, 1)
			if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.Contains(got, `"n":1.50`) || !strings.Contains(got, "<é>") {
				t.Errorf("something else is written otherwise: %s", got)
			}
			if again := copyOf(t, event(tt.facets), tt.env); again != got {
				t.Errorf("another copy is another: %s", again)
			}
		})
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// What is no event can't be stamped, and never will be.
func TestWhatCantBeStamped(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := build(t, parse(t, to(sink), both()))
	for _, body := range []string{``, `[]`, `{"run":1}`, `{"run":{"facets":[]}}`, `{"run":{},"job":"x"}`, `{"run":{"facets":{"tags":{"tags":1}}}}`, `{"run":{"facets":{"parent":7}}}`} {
		e := transporttest.Event(1, 0)
		e.Body = []byte(body)
		if got := transporttest.RequireError(t, tr.Emit(t.Context(), e)); got.Outcome != transport.Permanent {
			t.Errorf("%s: %v", body, got.Outcome)
		}
	}
	if n := len(sink.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}
