package versions

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/rig"
)

// gives is what a server has beyond what all have. The listener finds it out by asking; docs/versions.md has it as a
// table.
type gives struct {
	flowEnd bool // flow runs can be filtered by end time
	taskEnd bool // task runs can be filtered by end time
	events  bool // events can be listed
	socket  bool // events are pushed over a websocket
}

// checkGives asks a server for each.
func checkGives(t *testing.T, p *rig.Prefect, want gives) {
	t.Helper()
	var got gives
	const ended = `{"end_time":{"before_":"2000-01-01T00:00:00Z"}}`
	got.flowEnd = ask(t, p, "/flow_runs/filter", `{"flow_runs":`+ended+`}`) == http.StatusOK
	got.taskEnd = ask(t, p, "/task_runs/filter", `{"task_runs":`+ended+`}`) == http.StatusOK
	got.events = ask(t, p, "/events/filter", `{"filter":{}}`) == http.StatusOK
	got.socket = ask(t, p, "/events/out", "") == http.StatusSwitchingProtocols
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(gives{})); diff != "" {
		t.Errorf("what the server gives (-want +got):\n%s", diff)
	}
}

// ask sends a question and returns the answer's status. Without a body it asks for a websocket.
func ask(t *testing.T, p *rig.Prefect, path, body string) int {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(context.Background(), method, p.URL+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if body == "" {
		for key, value := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
			"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "prefect",
		} {
			request.Header.Set(key, value)
		}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(answer.Body)
		if answer.StatusCode >= 300 {
			t.Logf("%s: %d %.300s", path, answer.StatusCode, text)
		} else if !json.Valid(text) {
			t.Errorf("%s: %.300s", path, text)
		}
	}
	return answer.StatusCode
}
