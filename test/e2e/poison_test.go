package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// Rows and names that would break a Marquez for everyone if they were sent as they are. Each row is one of a table that
// is read and written.
var poisonRows = []string{
	`{"database_uri":"duckdb:///d","table":""}`,
	`{"database_uri":"duckdb:///my d","table":"t"}`,
	`{"database_uri":"","table":"t"}`,
	`{"database_uri":"` + strings.Repeat("n", 1025) + `","table":"t"}`,
	`{"database_uri":"` + strings.Repeat("n", 1024) + `","table":"t"}`,
	`{"database_uri":"duckdb:///d","table":"a\nb"}`,
	`{"database_uri":"duckdb:///d","table":"a\u0000b"}`,
	`{"database_uri":"duckdb:///d","table":"{a}"}`,
	`{"database_uri":"duckdb:///d","table":"a:b"}`,
	`{"database_uri":"duckdb:///d","table":"` + incompressible(2700) + `"}`,
	`{"database_uri":"duckdb:///d","table":"` + incompressible(2589) + `"}`,
	`{"database_uri":"duckdb:///d","table":"links","symlinks":[{"namespace":"a b","name":"x"}]}`,
	`{"database_uri":"duckdb:///d","table":"odd","description":"a\u0000b","schema":["` + incompressible(256) + `"],"facets":{"x":{"y":"\u0000"},"symlinks":{},"dataSource":{"uri":"a"},"documentation":{"_deleted":true},"columnLineage":{"fields":{"a":{}}},"schema":{"fields":[{"name":"a","type":{}}]}}}`,
	`{"database_uri":"duckdb:///d","table":"long","schema":{"` + incompressible(255) + `":"` + incompressible(2345) + `"},"facets":{"` + incompressible(200) + `":{}},"symlinks":[{"namespace":"a","name":"b","type":"` + incompressible(64) + `"}]}`,
	`{"database_uri":"duckdb:///d","table":"lineage","schema":["a"],"column_lineage":{"a":[{"namespace":"x y","name":"in","field":"f"}]},"lifecycle":{"change":"RENAME","previous":{"namespace":"x y","name":"before"}}}`,
}

var poisonFlows = []string{"", "a\nb", "plain", incompressible(3000)}

// incompressible returns a text that no database's index makes shorter.
func incompressible(n int) string {
	var text strings.Builder
	for text.Len() < n {
		id := uuid.New()
		text.WriteString(base64.RawURLEncoding.EncodeToString(id[:]))
	}
	return text.String()[:n]
}

// Nothing that a row or a name may hold breaks a real Marquez: every event is taken, and every list and graph answers.
func TestNothingPoisonsMarquez(t *testing.T) {
	t.Parallel()
	m := newMarquez(t)
	a, err := adapter.New(adapter.Settings{Producer: "https://example.com/listener", Version: "1", Namespace: m.namespace})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC().Truncate(time.Second)
	tell := func(flow, rows string) {
		id := uuid.New()
		s := prefect.Snapshot{
			FlowRun: &prefect.FlowRun{
				ID: id, Name: "run", RunCount: 1, StartTime: &at, EndTime: new(at.Add(time.Second)),
				State: &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: at.Add(time.Second)},
			},
			Flow: &prefect.Flow{Name: flow},
			Artifacts: []prefect.Artifact{{
				ID: id, Type: new("table"), Description: new("ol-dataset_input ol-dataset_output"), FlowRunID: &id,
				Data: json.RawMessage("[" + rows + "]"),
			}},
		}
		told, _ := a.Pin(s, nil)
		for _, e := range a.Tell(s, told, adapter.Beside{}).Events {
			m.take(e.Body)
		}
	}
	for _, row := range poisonRows {
		tell("plain", row)
	}
	for _, flow := range poisonFlows {
		tell(flow, strings.Join(poisonRows, ","))
	}
	var any map[string]json.RawMessage
	for _, list := range []string{
		"/namespaces", "/jobs", "/namespaces/" + m.namespace + "/jobs", "/namespaces/" + url.PathEscape("duckdb:///d") + "/datasets",
		"/lineage?depth=20&nodeId=" + url.QueryEscape("job:"+m.namespace+":plain"), "/search?q=plain",
	} {
		m.get(list, &any)
	}
	if jobs := m.jobs(); len(jobs) != len(poisonFlows) {
		t.Errorf("%d jobs of %d flows", len(jobs), len(poisonFlows))
	}
}

// take sends an event, which has to be taken.
func (m *marquez) take(body []byte) {
	m.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, m.url+"/api/v1/lineage", bytes.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	defer answer.Body.Close()
	if said, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusCreated {
		m.t.Errorf("%s %v: %.200s\nof %.2500s", answer.Status, err, said, body)
	}
}
