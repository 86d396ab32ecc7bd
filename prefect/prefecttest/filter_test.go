package prefecttest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

func at(minute int) *time.Time {
	t := time.Date(2026, 5, 1, 12, minute, 0, 0, time.UTC)
	return &t
}

// story fills a server with a few runs whose names say what they are.
func story(s *prefecttest.Server) {
	done := func(minute int) *prefect.State {
		return &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: *at(minute)}
	}
	one, two := s.AddFlow("One", "a"), s.AddFlow("Two")
	deployment := s.AddDeployment(prefect.Deployment{Name: "nightly", FlowID: two.ID})
	early := s.AddFlowRun(prefect.FlowRun{
		Name: "early", FlowID: one.ID, State: done(10), StartTime: at(1), EndTime: at(10), ExpectedStartTime: at(0), RunCount: 1,
	})
	s.AddFlowRun(prefect.FlowRun{
		Name: "late", FlowID: two.ID, DeploymentID: &deployment.ID, State: done(20), StartTime: at(2), EndTime: at(20),
		ExpectedStartTime: at(2), RunCount: 1,
	})
	s.AddFlowRun(prefect.FlowRun{
		Name: "running", FlowID: one.ID, State: &prefect.State{Type: prefect.Running, Name: "Running", Timestamp: *at(3)},
		StartTime: at(3), ExpectedStartTime: at(3), RunCount: 1,
	})
	s.AddFlowRun(prefect.FlowRun{
		Name: "waiting", FlowID: one.ID, State: &prefect.State{Type: prefect.Scheduled, Name: "Late", Timestamp: *at(0)},
		ExpectedStartTime: at(4),
	})
	task := s.AddTaskRun(prefect.TaskRun{
		Name: "load-abc", FlowRunID: &early.ID, State: done(5), StartTime: at(1), EndTime: at(5), RunCount: 1,
	})
	s.AddTaskRun(prefect.TaskRun{Name: "alone", State: done(6), StartTime: at(5), EndTime: at(6), RunCount: 1})
	s.AddArtifact(prefect.Artifact{FlowRunID: &early.ID, TaskRunID: &task.ID})
	progress := "progress"
	s.AddArtifact(prefect.Artifact{FlowRunID: &early.ID, Type: &progress})
}

func TestFilters(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	story(server)
	early := prefecttest.ID("flow-run-1").String()
	for _, test := range []struct {
		name, path, body string
		want             []string
	}{
		{"by state", "flow_runs", `{"flow_runs":{"state":{"type":{"any_":["RUNNING","SCHEDULED"]}}},"sort":"NAME_ASC"}`, []string{"running", "waiting"}},
		{"ended after, the moment itself included", "flow_runs", `{"flow_runs":{"end_time":{"after_":"2026-05-01T12:20:00Z"}}}`, []string{"late"}},
		{"ended before, the moment itself included", "flow_runs", `{"flow_runs":{"end_time":{"before_":"2026-05-01T12:10:00Z"}}}`, []string{"early"}},
		{"not ended", "flow_runs", `{"flow_runs":{"end_time":{"is_null_":true}},"sort":"NAME_ASC"}`, []string{"running", "waiting"}},
		{"started after, a run that waits by its expected time", "flow_runs", `{"flow_runs":{"start_time":{"after_":"2026-05-01T12:03:00Z"}},"sort":"NAME_ASC"}`, []string{"running", "waiting"}},
		{"never started", "flow_runs", `{"flow_runs":{"start_time":{"is_null_":true}}}`, []string{"waiting"}},
		{"by id", "flow_runs", `{"flow_runs":{"id":{"any_":["` + early + `"]}}}`, []string{"early"}},
		{"by no id", "flow_runs", `{"flow_runs":{"id":{"any_":[]}}}`, []string{}},
		{"by flow", "flow_runs", `{"flows":{"name":{"any_":["Two"]}}}`, []string{"late"}},
		{"by deployment", "flow_runs", `{"deployments":{"name":{"any_":["nightly"]}}}`, []string{"late"}},
		{"by task run", "flow_runs", `{"task_runs":{"name":{"any_":["load-abc"]}}}`, []string{"early"}},
		{"task runs of a flow run", "task_runs", `{"task_runs":{"flow_run_id":{"any_":["` + early + `"]}}}`, []string{"load-abc"}},
		{"task runs by flow run filter", "task_runs", `{"flow_runs":{"id":{"any_":["` + early + `"]}}}`, []string{"load-abc"}},
		{"task runs of a flow", "task_runs", `{"flows":{"name":{"any_":["One"]}}}`, []string{"load-abc"}},
		{"task runs without a flow run", "task_runs", `{"task_runs":{"flow_run_id":{"is_null_":true}}}`, []string{"alone"}},
		{"task runs by end", "task_runs", `{"task_runs":{"end_time":{"after_":"2026-05-01T12:05:30+00:00"}}}`, []string{"alone"}},
		{"flows of runs", "flows", `{"flow_runs":{"state":{"type":{"any_":["RUNNING"]}}}}`, []string{"One"}},
		{"deployments of flows", "deployments", `{"flows":{"name":{"any_":["Two"]}}}`, []string{"nightly"}},
		{"page", "flow_runs", `{"limit":2,"offset":1,"sort":"NAME_ASC"}`, []string{"late", "running"}},
		{"past the end", "flow_runs", `{"offset":9}`, []string{}},
		{"latest end first, none at last", "flow_runs", `{"sort":"END_TIME_DESC","limit":3}`, []string{"late", "early", "running"}},
		{"first start first", "flow_runs", `{"sort":"START_TIME_ASC"}`, []string{"early", "late", "running", "waiting"}},
		{"last expected first", "flow_runs", `{"sort":"EXPECTED_START_TIME_DESC"}`, []string{"waiting", "running", "late", "early"}},
		{"unknown keys beside the filters are nothing", "flow_runs", `{"colour":"red","limit":1,"sort":"NAME_ASC"}`, []string{"early"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := names(t, post(t, server, "/"+test.path+"/filter", test.body))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestArtifactFilters(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	story(server)
	for body, want := range map[string]int{
		`{}`: 2,
		`{"artifacts":{"type":{"any_":["table"]}}}`:                                                          1,
		`{"artifacts":{"task_run_id":{"any_":["` + prefecttest.ID("task-run-1").String() + `"]}}}`:           1,
		`{"artifacts":{"flow_run_id":{"any_":["` + prefecttest.ID("flow-run-1").String() + `"]}}}`:           2,
		`{"flow_runs":{"id":{"any_":["` + prefecttest.ID("flow-run-2").String() + `"]}}}`:                    0,
		`{"task_runs":{"id":{"any_":["` + prefecttest.ID("task-run-1").String() + `"]}},"artifacts":{}}`:     1,
		`{"flows":{"name":{"any_":["One"]}},"artifacts":{"type":{"any_":["progress"]}}}`:                     1,
		`{"deployments":{"name":{"any_":["nightly"]}},"artifacts":{"type":{"any_":["progress","table"]}}}  `: 0,
	} {
		if got := len(names(t, post(t, server, "/artifacts/filter", body))); got != want {
			t.Errorf("%s: %d rows, want %d", body, got, want)
		}
	}
}

// TestPostgreSQLOrder: there a missing end time is the greatest.
func TestPostgreSQLOrder(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t, prefecttest.PostgreSQL())
	story(server)
	got := names(t, post(t, server, "/flow_runs/filter", `{"sort":"END_TIME_DESC"}`))
	if diff := cmp.Diff([]string{"running", "waiting", "late", "early"}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const taskEnd = `{"task_runs":{"end_time":{"after_":"2026-05-01T00:00:00Z"}}}`
	const flowEnd = `{"flow_runs":{"end_time":{"after_":"2026-05-01T00:00:00Z"}}}`
	for _, test := range []struct {
		version, path, body string
		status              int
		says                string
	}{
		{prefecttest.V3_9, "/task_runs/filter", taskEnd, 200, "["},
		{prefecttest.V3_6, "/task_runs/filter", taskEnd, 422, `"type":"extra_forbidden"`},
		{prefecttest.V3_6, "/flow_runs/filter", flowEnd, 200, "["},
		{prefecttest.V2_20, "/flow_runs/filter", flowEnd, 422, `"type":"value_error.extra"`},
		{prefecttest.V3_9, "/task_runs/filter", `{"sort":"START_TIME_ASC"}`, 422, `"type":"enum"`},
		{prefecttest.V2_20, "/task_runs/filter", `{"sort":"START_TIME_ASC"}`, 422, `"type":"type_error.enum"`},
		{prefecttest.V3_9, "/flow_runs/filter", `{"limit":201}`, 422, "Invalid limit: must be less than or equal to 200."},
		{prefecttest.V3_9, "/flow_runs/filter", `{"limit":-1}`, 422, "must be greater than or equal to 0."},
		{prefecttest.V3_9, "/flow_runs/filter", `{"limit":"x"}`, 422, "int_parsing"},
		{prefecttest.V3_9, "/flow_runs/filter", `nonsense`, 422, "json_invalid"},
		{prefecttest.V3_9, "/flow_runs/filter", `{"flow_runs":[]}`, 422, "model_attributes_type"},
		{prefecttest.V3_9, "/flow_runs/filter", `{"flow_runs":{"id":{"any_":["x"]}}}`, 422, "uuid_parsing"},
		{prefecttest.V3_9, "/flow_runs/filter", `{"flow_runs":{"state":{"type":{"any_":["ODD"]}}}}`, 422, `"any_",0]`},
		{prefecttest.V3_9, "/flow_runs/filter", `{"flow_runs":{"end_time":{"after_":"soon"}}}`, 422, "datetime"},
		{prefecttest.V3_9, "/flow_runs/filter", `{"flow_runs":{"tags":{"all_":["a"]}}}`, 501, "flow_runs.tags"},
		{prefecttest.V3_9, "/flow_runs/filter", `{"artifacts":{"type":{"any_":["a"]}}}`, 501, "flow_runs by artifacts"},
		{prefecttest.V3_9, "/flow_runs/filter", `{"flows":{"name":{"like_":"a"}}}`, 501, "like_"},
		{prefecttest.V3_9, "/colours/filter", `{}`, 404, "Not Found"},
	} {
		server := prefecttest.New(t, prefecttest.Version(test.version))
		got := post(t, server, test.path, test.body)
		if got.status != test.status || !strings.Contains(string(got.body), test.says) {
			t.Errorf("%s %s %s: %d %s, want %d with %s", test.version, test.path, test.body, got.status, got.body, test.status, test.says)
		}
	}
}
