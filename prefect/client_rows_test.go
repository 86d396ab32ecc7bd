package prefect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

// readCaptured reads rows that were captured from a real server.
func readCaptured[T any](t testing.TB, version, kind string) []T {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "captured", version, kind+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func moment(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return at
}

// TestCapturedRows reads rows of real servers, each of another kind, and looks at what matters for lineage.
func TestCapturedRows(t *testing.T) {
	t.Parallel()
	scheduled := readCaptured[prefect.FlowRun](t, "3.9.1", "flow_runs")[2]
	check(t, nil, scheduled, prefect.FlowRun{
		ID: uuid.MustParse("ebbb55fe-1237-4651-8295-9a375a11643f"), Name: "neat-spider",
		FlowID:       uuid.MustParse("f05eb564-279b-41ec-b7c0-dede0801c01d"),
		DeploymentID: new(uuid.MustParse("789aa105-f134-4e36-9fd5-543e7e4c5b6f")), DeploymentVersion: new("1.0"),
		State:             &prefect.State{Type: "SCHEDULED", Name: "Scheduled", Timestamp: moment("2026-11-30T16:39:15.183102Z")},
		ExpectedStartTime: new(moment("2026-11-30T16:39:15.176127Z")), Created: moment("2026-11-30T16:39:15.183304Z"),
		Tags: []string{"team:a"}, Parameters: rawMap(map[string]string{"a": "1"}),
		JobVariables: compact(t, scheduled.JobVariables, `{"X":"1"}`),
	})
	old := readCaptured[prefect.FlowRun](t, "2.20.25", "flow_runs")[0]
	if want := moment("2026-11-30T16:31:23.903817Z"); !old.EndTime.Equal(want) || old.EndTime.Location() != time.UTC {
		t.Errorf("a time of Prefect 2: %s, want %s", old.EndTime, want)
	}
	placeholder := readCaptured[prefect.TaskRun](t, "3.9.1", "task_runs")[0]
	if child, ok := placeholder.ChildFlowRun(); !ok || child != uuid.MustParse("ba25db04-117a-4021-a09c-914aed0b47da") {
		t.Errorf("the placeholder stands for %s, %v", child, ok)
	}
	var upstream int
	for _, task := range readCaptured[prefect.TaskRun](t, "3.9.1", "task_runs") {
		for _, several := range task.TaskInputs {
			for _, input := range several {
				if input.Type == "task_run" && input.ID != nil {
					upstream++
				}
			}
		}
	}
	if upstream == 0 {
		t.Error("no task run names an upstream one")
	}
	deployment := readCaptured[prefect.Deployment](t, "3.9.1", "deployments")[0]
	if deployment.Name != "nightly" || *deployment.Entrypoint != "flows.py:main" || len(deployment.PullSteps) != 1 ||
		*deployment.Version != "1.0" || *deployment.Description != "Nightly load" || *deployment.Path != "/opt" {
		t.Errorf("deployment: %+v", deployment)
	}
	if got := readCaptured[prefect.Deployment](t, "2.20.25", "deployments")[0].JobVariables["env"]; len(got) == 0 {
		t.Error("the infra_overrides of Prefect 2 are not taken as job variables")
	}
	var strange int
	for _, artifact := range readCaptured[prefect.Artifact](t, "3.9.1", "artifacts") {
		if artifact.Key == nil && artifact.Type == nil && artifact.Description == nil && artifact.Data[0] == '{' {
			strange++ // a result: nothing but data
		}
	}
	if strange != 1 {
		t.Errorf("%d artifacts of results, want 1", strange)
	}
}

// compact checks that job variables hold this env and returns them, since captured rows are indented.
func compact(t *testing.T, variables map[string]json.RawMessage, env string) map[string]json.RawMessage {
	t.Helper()
	var got, want map[string]string
	if json.Unmarshal(variables["env"], &got) != nil || json.Unmarshal([]byte(env), &want) != nil || !cmp.Equal(got, want) {
		t.Errorf("job variables %s, want env %s", variables, env)
	}
	return variables
}

func TestTimeForms(t *testing.T) {
	t.Parallel()
	const noon = "2026-05-01T12:00:00Z"
	for form, want := range map[string]string{
		`"2026-05-01T12:00:00Z"`:             noon,
		`"2026-05-01T12:00:00.5Z"`:           "2026-05-01T12:00:00.5Z",
		`"2026-05-01T12:00:00.123456789Z"`:   "2026-05-01T12:00:00.123456789Z",
		`"2026-05-01T12:00:00.000001+00:00"`: "2026-05-01T12:00:00.000001Z",
		`"2026-05-01T14:00:00+02:00"`:        noon,
		`"2026-05-01T07:00:00-0500"`:         noon,
		`"2026-05-01T13:00:00+01"`:           noon,
		`"2026-05-01T12:00:00"`:              noon, // no zone is UTC
		`"2026-05-01 12:00:00.250000"`:       "2026-05-01T12:00:00.25Z",
		`"2026-05-01 12:00:00+00:00"`:        noon,
		`"2026-05-01 12:00:00+00"`:           noon,
		`"9999-12-31T23:59:59.999999Z"`:      "9999-12-31T23:59:59.999999Z",
		`"9999-12-31T23:59:59-10:00"`:        "", // a year that JSON can't write again
		`"0001-01-01T00:00:00+10:00"`:        "",
		`"soon"`:                             "",
		`""`:                                 "",
		`1767225600`:                         "", // of what unit?
		`{}`:                                 "",
		`true`:                               "",
	} {
		raw := `{"id":"11111111-1111-1111-1111-111111111111","flow_id":"11111111-1111-1111-1111-111111111111","end_time":` + form + `}`
		var run prefect.FlowRun
		err := json.Unmarshal([]byte(raw), &run)
		switch {
		case want == "" && err == nil:
			t.Errorf("%s was taken for %s", form, run.EndTime)
		case want != "" && err != nil:
			t.Errorf("%s: %v", form, err)
		case want != "" && (!run.EndTime.Equal(moment(want)) || run.EndTime.Location() != time.UTC):
			t.Errorf("%s was taken for %s, want %s", form, run.EndTime, want)
		}
	}
}

// TestLenientFields: nothing that only decorates a run makes it unreadable; what names and orders it must be right.
func TestLenientFields(t *testing.T) {
	t.Parallel()
	const id = `"id":"11111111-1111-1111-1111-111111111111","flow_id":"22222222-2222-2222-2222-222222222222"`
	bare := prefect.FlowRun{ID: uuid.MustParse("11111111-1111-1111-1111-111111111111"), FlowID: uuid.MustParse("22222222-2222-2222-2222-222222222222")}
	with := func(change func(*prefect.FlowRun)) *prefect.FlowRun {
		run := bare
		change(&run)
		return &run
	}
	for _, test := range []struct {
		fields string
		want   *prefect.FlowRun // nil: refused
	}{
		{``, &bare},
		{`,"colour":"red","nested":{"deep":[1]}`, &bare},
		{`,"run_count":3`, with(func(r *prefect.FlowRun) { r.RunCount = 3 })},
		{`,"run_count":3.0`, with(func(r *prefect.FlowRun) { r.RunCount = 3 })},
		{`,"run_count":"3"`, with(func(r *prefect.FlowRun) { r.RunCount = 3 })},
		{`,"run_count":null`, &bare},
		{`,"run_count":3.5`, nil},
		{`,"run_count":1e99`, nil},
		{`,"tags":null`, &bare},
		{`,"tags":"a"`, &bare},
		{`,"tags":["a",1,null,"b"]`, with(func(r *prefect.FlowRun) { r.Tags = []string{"a", "b"} })},
		{`,"parameters":[1]`, &bare},
		{`,"job_variables":"x"`, &bare},
		{`,"created_by":"me"`, with(func(r *prefect.FlowRun) { r.CreatedBy = &prefect.Creator{} })},
		{`,"created_by":{"id":"x","type":"AUTOMATION","display_value":5}`, with(func(r *prefect.FlowRun) {
			r.CreatedBy = &prefect.Creator{Type: new("AUTOMATION"), DisplayValue: new("5")}
		})},
		{`,"deployment_version":1.5`, with(func(r *prefect.FlowRun) { r.DeploymentVersion = new("1.5") })},
		{`,"work_pool_name":null,"work_queue_name":"q"`, with(func(r *prefect.FlowRun) { r.WorkQueueName = new("q") })},
		{`,"state":null,"start_time":null`, &bare},
		{`,"state":{"type":"DREAMING","name":null,"timestamp":"2026-05-01T12:00:00Z","message":7}`, with(func(r *prefect.FlowRun) {
			r.State = &prefect.State{Type: "DREAMING", Timestamp: moment("2026-05-01T12:00:00Z"), Message: new("7")}
		})},
		{`,"state":{"type":"RUNNING"}`, nil},
		{`,"state":{"timestamp":"2026-05-01T12:00:00Z"}`, nil},
		{`,"state":"RUNNING"`, nil},
		{`,"deployment_id":"x"`, nil},
		{`,"created":"x"`, nil},
	} {
		var got prefect.FlowRun
		err := json.Unmarshal([]byte("{"+id+test.fields+"}"), &got)
		if test.want == nil {
			if err == nil {
				t.Errorf("%s passed: %+v", test.fields, got)
			}
			continue
		}
		if diff := cmp.Diff(*test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", test.fields, err, diff)
		}
	}
}

func TestLenientTaskRuns(t *testing.T) {
	t.Parallel()
	const raw = `{"id":"11111111111111111111111111111111","task_key":"k","dynamic_key":0,"task_inputs":{
		"a":[{"input_type":"task_run","id":"22222222-2222-2222-2222-222222222222"},{"input_type":"constant","type":"int"}],
		"b":[{"input_type":"task_run","id":"nonsense"},7,{"colour":"red"}],"c":"none","d":[]}}`
	var got prefect.TaskRun
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		t.Fatal(err)
	}
	want := prefect.TaskRun{
		ID: uuid.MustParse("11111111-1111-1111-1111-111111111111"), TaskKey: "k", DynamicKey: "0",
		TaskInputs: map[string][]prefect.TaskInput{
			"a": {{Type: "task_run", ID: new(uuid.MustParse("22222222-2222-2222-2222-222222222222"))}, {Type: "constant"}},
			"b": {{Type: "task_run"}}, "c": {}, "d": {},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("task run (-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`{"id":"11111111-1111-1111-1111-111111111111","task_inputs":7}`), &got); err != nil {
		t.Errorf("inputs of another form: %v", err)
	}
}

// FuzzRows: whatever a server sends, reading never panics, and what was read is the same when it is written and read
// once more.
func FuzzRows(f *testing.F) {
	for _, version := range []string{"3.9.1", "2.20.25"} {
		for _, kind := range []string{"flow_runs", "task_runs", "artifacts", "flows", "deployments"} {
			for _, row := range readCaptured[json.RawMessage](f, version, kind) {
				f.Add([]byte(row))
			}
		}
	}
	f.Add([]byte(`null`))
	f.Add([]byte(`{"id":null,"state":{"type":"\u0000","timestamp":"9999-12-31T23:59:59-10:00"},"run_count":"1e9"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		again[prefect.FlowRun](t, raw)
		again[prefect.TaskRun](t, raw)
		again[prefect.Artifact](t, raw)
		again[prefect.Flow](t, raw)
		again[prefect.Deployment](t, raw)
	})
}

func again[T any](t *testing.T, raw []byte) {
	t.Helper()
	var first, second T
	if json.Unmarshal(raw, &first) != nil {
		return
	}
	written, err := json.Marshal(first)
	if err != nil {
		t.Fatalf("a row that was read can't be written: %v: %s", err, raw)
	}
	if err := json.Unmarshal(written, &second); err != nil {
		t.Fatalf("a row that was written can't be read: %v: %s", err, written)
	}
	rewritten, err := json.Marshal(second)
	if err != nil || string(rewritten) != string(written) {
		t.Fatalf("a row changes when it is read again: %v\n%s\n%s", err, written, rewritten)
	}
}
