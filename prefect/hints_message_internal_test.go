package prefect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const taskRunEvent = `{"type":"event","event":{"occurred":"2026-11-30T12:00:00.123456Z","event":"prefect.task-run.Completed",
"resource":{"prefect.resource.id":"prefect.task-run.019e1c5c-3f5a-7d43-9c3a-4b1a7f6d2c11","prefect.resource.name":"load-612",
"prefect.state-message":"","prefect.state-name":"Completed","prefect.state-timestamp":"2026-11-30T12:00:00.123456+00:00",
"prefect.state-type":"COMPLETED","prefect.orchestration":"client"},"related":[],"payload":{"task_run":{"name":"load-612"}},
"id":"019e1c5c-0000-7d43-9c3a-4b1a7f6d2c11","follows":null,"received":"2026-11-30T12:00:00.2Z"}}`

func TestParseMessage(t *testing.T) {
	t.Parallel()
	needed, _, _ := strings.Cut(taskRunEvent, `"payload"`)
	flowRun := strings.ReplaceAll(taskRunEvent, "task-run.", "flow-run.")
	for _, test := range []struct {
		name, text string
		want       string // the hint as JSON; empty: none
	}{
		{"a task run", taskRunEvent, `{"Run":"019e1c5c-3f5a-7d43-9c3a-4b1a7f6d2c11","Task":true,"State":"COMPLETED","At":"2026-11-30T12:00:00.123456Z","Asset":false,"Stream":0}`},
		{"a flow run", flowRun, `{"Run":"019e1c5c-3f5a-7d43-9c3a-4b1a7f6d2c11","Task":false,"State":"COMPLETED","At":"2026-11-30T12:00:00.123456Z","Asset":false,"Stream":0}`},
		{"cut behind what is needed", needed,
			`{"Run":"019e1c5c-3f5a-7d43-9c3a-4b1a7f6d2c11","Task":true,"State":"COMPLETED","At":"2026-11-30T12:00:00.123456Z","Asset":false,"Stream":0}`},
		{"no timestamp", strings.Replace(taskRunEvent, "prefect.state-timestamp", "x", 1),
			`{"Run":"019e1c5c-3f5a-7d43-9c3a-4b1a7f6d2c11","Task":true,"State":"COMPLETED","At":"0001-01-01T00:00:00Z","Asset":false,"Stream":0}`},
		{"no state", strings.Replace(taskRunEvent, "prefect.state-type", "x", 1),
			`{"Run":"019e1c5c-3f5a-7d43-9c3a-4b1a7f6d2c11","Task":true,"State":"","At":"2026-11-30T12:00:00.123456Z","Asset":false,"Stream":0}`},
		{"a state that no poll looks for", strings.ReplaceAll(taskRunEvent, "COMPLETED", "PAUSED"), ""},
		{"a state of a later Prefect", strings.ReplaceAll(taskRunEvent, "COMPLETED", "DREAMING"), ""},
		{"a heartbeat", strings.Replace(flowRun, "flow-run.Completed", "flow-run.heartbeat", 1), ""},
		{"another event about a run", strings.Replace(flowRun, "prefect.flow-run.Completed", "my.event", 1), ""},
		{"an asset", strings.NewReplacer("prefect.task-run.Completed", "prefect.asset.materialization.succeeded",
			"prefect.task-run.019e1c5c-3f5a-7d43-9c3a-4b1a7f6d2c11", "s3://lake/clean").Replace(taskRunEvent),
			`{"Run":"00000000-0000-0000-0000-000000000000","Task":false,"State":"","At":"0001-01-01T00:00:00Z","Asset":true,"Stream":0}`},
		{"a wrong id", strings.Replace(taskRunEvent, "019e1c5c-3f5a", "019e1c5c-3f5", 1), ""},
		{"labels that are no texts", strings.Replace(taskRunEvent, `"COMPLETED"`, `{"a":[1,2]}`, 1),
			`{"Run":"019e1c5c-3f5a-7d43-9c3a-4b1a7f6d2c11","Task":true,"State":"","At":"2026-11-30T12:00:00.123456Z","Asset":false,"Stream":0}`},
		{"no event", `{"type":"auth_success"}`, ""},
		{"an event that is none", `{"type":"event","event":7}`, ""},
		{"a list", `[1]`, ""},
		{"no JSON", `<html>`, ""},
		{"nothing", ``, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			hint, ok := parseMessage(strings.NewReader(test.text)).hint()
			got := ""
			if ok {
				text, err := json.Marshal(hint)
				if err != nil {
					t.Fatal(err)
				}
				got = string(text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is found by reading piece by piece is what is found by reading all at once.
func FuzzParseMessage(f *testing.F) {
	for _, text := range []string{
		taskRunEvent, `{"type":"auth_failure","reason":"no"}`, `{"type":"event","event":{"resource":{}}}`, `{"event":null}`, `[`, `{"a":[{"b":1}]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := parseMessage(strings.NewReader(text))
		if hint, ok := got.hint(); ok && hint.State != "" && hint.State != Running && !hint.State.Terminal() {
			t.Errorf("a hint of %+v", hint)
		}
		var whole map[string]any
		if json.Unmarshal([]byte(text), &whole) != nil || strings.Count(text, `"event"`) > 2 || strings.Contains(text, `\`) {
			return // half a message, or one that says something twice
		}
		event, _ := whole["event"].(map[string]any)
		labels, _ := event["resource"].(map[string]any)
		id, _ := labels["prefect.resource.id"].(string)
		name, _ := event["event"].(string)
		if strings.Count(text, `"resource"`) > 1 || strings.Count(text, `"prefect.resource.id"`) > 1 {
			return
		}
		if got.event != name || got.about.id != id {
			t.Errorf("read %q and %q of %s", got.event, got.about.id, text)
		}
	})
}
