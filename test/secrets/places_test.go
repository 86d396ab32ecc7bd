package secrets_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// secret is what must not be found again: every one of them holds this word, so one search finds all.
func secret(place string) string { return "s3cretw0rd-" + place }

// word is what all secrets have in common.
const word = "s3cretw0rd"

// refusedRun is the flow run whose start the consumer refuses, with an answer that holds credentials.
var refusedRun = prefecttest.ID("refused run")

// fill puts secrets into a Prefect, in all ways in which people do.
func fill(server *prefecttest.Server) {
	flow := server.AddFlow("etl")
	deployment := server.AddDeployment(prefect.Deployment{
		Name: "nightly", FlowID: flow.ID, Description: new("reads postgresql://u:" + secret("documentation") + "@h/db"),
		Entrypoint: new("flows/etl.py:etl"),
		PullSteps: []json.RawMessage{raw(map[string]any{"prefect.deployments.steps.git_clone": map[string]any{
			"repository": "https://ann:" + secret("git-url") + "@github.com/acme/flows.git", "branch": "main",
			"access_token": secret("git-token"), "credentials": map[string]any{"password": secret("git-credentials")},
		}})},
		JobVariables: map[string]json.RawMessage{"env": raw(map[string]string{"DB_PASSWORD": secret("deployment-env")})},
	})
	run := server.AddFlowRun(ended(prefect.FlowRun{
		Name: "calm-owl", FlowID: flow.ID, DeploymentID: &deployment.ID,
		Parameters: map[string]json.RawMessage{
			"api_token": raw(secret("parameter")),
			"source":    raw("postgresql://u:" + secret("parameter-uri") + "@h/db"),
			"nested":    raw(map[string]any{"aws": map[string]string{"secret_access_key": secret("parameter-nested")}}),
		},
		JobVariables: map[string]json.RawMessage{"env": raw(map[string]string{"AWS_SECRET_ACCESS_KEY": secret("run-env")})},
	}, prefect.Failed, "the key "+apiKey+" at postgresql://u:"+secret("error-uri")+"@h:5432/db failed, password="+secret("error-word")))
	task := server.AddTaskRun(prefect.TaskRun{
		Name: "load-0a1", TaskKey: "load-0a1b2c3d", DynamicKey: "0a1b2c3d-0000-0000-0000-000000000000", FlowRunID: &run.ID, RunCount: 1,
		State: run.State, StartTime: run.StartTime, EndTime: run.EndTime, Created: *run.StartTime,
	})
	table(server, task, map[string]any{
		"database_uri": "postgresql://u:" + secret("dataset-uri") + "@h/db", "table": "t",
		"description": "see s3://key:" + secret("row-description") + "@bucket",
		"password":    secret("row-key"),
		"facets":      map[string]any{"connection": map[string]any{"url": "redis://:" + secret("row-facet") + "@h"}},
		"column_lineage": map[string]any{"fields": map[string]any{"a": map[string]any{"inputFields": []any{
			map[string]any{"namespace": "mysql://u:" + secret("column-uri") + "@h", "name": "db.t", "field": "a"},
		}}}},
	})
	table(server, task, map[string]any{"database_uri": "https://h/x?api_key=" + secret("dataset-query"), "table": "with " + apiKey})
	table(server, task, map[string]any{"database_uri": "\x00postgresql://u:" + secret("refused-uri") + "@h", "table": ""})
	server.AddFlowRun(ended(prefect.FlowRun{ID: refusedRun, Name: "refused", FlowID: flow.ID}, prefect.Completed, ""))
	server.AddRaw("flow_runs", `{"id":"`+uuid.NewString()+`","name":"odd","state_type":"COMPLETED","state":7,"end_time":"`+
		time.Now().UTC().Add(-time.Minute).Format(time.RFC3339)+`","parameters":{"password":"`+secret("odd-row")+`","key":"`+apiKey+`"}}`)
}

// ended makes a flow run that has ended a minute ago.
func ended(run prefect.FlowRun, state prefect.StateType, message string) prefect.FlowRun {
	at := time.Now().UTC().Add(-time.Minute).Truncate(time.Microsecond)
	begun := at.Add(-time.Minute)
	run.StartTime, run.EndTime, run.RunCount, run.Created = &begun, &at, 1, begun
	run.State = &prefect.State{Type: state, Name: string(state), Timestamp: at}
	if message != "" {
		run.State.Message = &message
	}
	return run
}

func table(server *prefecttest.Server, task prefect.TaskRun, row map[string]any) {
	rows, _ := json.Marshal([]any{row})
	server.AddArtifact(prefect.Artifact{
		Description: new("ol-dataset_output"), Data: raw(string(rows)), FlowRunID: task.FlowRunID, TaskRunID: &task.ID, Created: *task.EndTime,
	})
}

func raw(v any) json.RawMessage {
	encoded, _ := json.Marshal(v)
	return encoded
}

// TestPlacesAreFound keeps the search honest: it must find a secret where there is one.
func TestPlacesAreFound(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"x " + secret("a") + " y", `{"k":"` + secret("b") + `"}`, base64Of("u:" + secret("c")), base64Of("ux:" + secret("d")), base64Of("uxx:" + secret("e"))} {
		if len(findings([]byte(form))) == 0 {
			t.Errorf("%q is not found", form)
		}
	}
	if found := findings([]byte("nothing here")); len(found) > 0 {
		t.Errorf("%v", found)
	}
}
