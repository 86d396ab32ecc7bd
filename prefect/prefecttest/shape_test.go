package prefecttest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// TestShape holds what the server writes against rows that were captured from real servers: the same fields, in the
// row, its state and the state's details.
func TestShape(t *testing.T) {
	t.Parallel()
	for _, version := range []string{prefecttest.V2_20, prefecttest.V3_9} {
		for _, kind := range []string{"flows", "deployments", "flow_runs", "task_runs", "artifacts"} {
			t.Run(version+" "+kind, func(t *testing.T) {
				t.Parallel()
				server := prefecttest.New(t, prefecttest.Version(version))
				populate(server)
				got := fieldsOf(t, post(t, server, "/"+kind+"/filter", `{}`).body)
				want := fieldsOf(t, captured(t, version, kind))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the fields differ from a real server's (-real +test):\n%s", diff)
				}
			})
		}
	}
}

// populate makes one row of every kind.
func populate(s *prefecttest.Server) {
	flow := s.AddFlow("Shape")
	deployment := s.AddDeployment(prefect.Deployment{FlowID: flow.ID})
	run := s.AddFlowRun(prefect.FlowRun{FlowID: flow.ID, DeploymentID: &deployment.ID})
	s.SetState(run.ID, prefect.State{Type: prefect.Running})
	task := s.AddTaskRun(prefect.TaskRun{FlowRunID: &run.ID})
	s.SetState(task.ID, prefect.State{Type: prefect.Running})
	s.AddArtifact(prefect.Artifact{FlowRunID: &run.ID, TaskRunID: &task.ID})
}

func captured(t *testing.T, version, kind string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "captured", version, kind+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// fieldsOf names every field of the first row and of what lies in it, with the kinds of value that both sides must
// share. Fields whose content is free (labels, parameters) are not looked into.
func fieldsOf(t *testing.T, raw []byte) map[string]bool {
	t.Helper()
	var rows []map[string]any
	if err := json.Unmarshal(raw, &rows); err != nil || len(rows) == 0 {
		t.Fatalf("no rows in %.200s: %v", raw, err)
	}
	fields := make(map[string]bool)
	var walk func(prefix string, object map[string]any)
	walk = func(prefix string, object map[string]any) {
		for name, value := range object {
			fields[prefix+name] = true
			switch inner, ok := value.(map[string]any); {
			case !ok:
			case name == "state" || name == "state_details" || name == "empirical_policy":
				if name == "state" {
					inner["data"] = nil // free
				}
				walk(prefix+name+".", inner)
			}
		}
	}
	walk("", rows[0])
	return fields
}

// TestCapturedRowsSurvive serves captured rows as they are and reads them back: the client understands all of them.
func TestCapturedRowsSurvive(t *testing.T) {
	t.Parallel()
	for _, version := range []string{prefecttest.V2_20, prefecttest.V3_9} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := prefecttest.New(t, prefecttest.Version(version))
			for _, kind := range []string{"flows", "deployments", "flow_runs", "task_runs", "artifacts"} {
				var rows []json.RawMessage
				if err := json.Unmarshal(captured(t, version, kind), &rows); err != nil {
					t.Fatal(err)
				}
				for _, raw := range rows {
					server.AddRaw(kind, string(raw))
				}
				page := fmt.Sprintf(`{"limit":%d}`, len(rows))
				var got []json.RawMessage
				if err := json.Unmarshal(post(t, server, "/"+kind+"/filter", page).body, &got); err != nil {
					t.Fatal(err)
				}
				if len(got) != len(rows) {
					t.Errorf("%s: %d rows came back of %d", kind, len(got), len(rows))
				}
			}
			first := uuid.MustParse(map[string]string{
				prefecttest.V2_20: "7762453d-f555-4760-a7ed-353d23a10966", prefecttest.V3_9: "ebbb55fe-1237-4651-8295-9a375a11643f",
			}[version])
			if got := get(t, server, "/flow_runs/"+first.String()); got.status != 200 {
				t.Errorf("a captured flow run by its id: %d %s", got.status, got.body)
			}
		})
	}
}
