package versions

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/test/rig"
)

// client asks a server for everything that the client can ask for. Each row must be understood.
func client(t *testing.T, p *rig.Prefect, version string) {
	client, err := prefect.NewClient(prefect.Config{URL: p.URL}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ctx := t.Context()
	if err := client.Health(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Version(ctx); err != nil || got != version {
		t.Errorf("version %q, %v, want %s", got, err, version)
	}
	full := prefect.Filter{Limit: prefect.MaxPage}
	runs, err := client.FlowRuns(ctx, full)
	seen(t, "flow runs", runs, err)
	tasks, err := client.TaskRuns(ctx, full)
	seen(t, "task runs", tasks, err)
	artifacts, err := client.Artifacts(ctx, full)
	seen(t, "artifacts", artifacts, err)
	flows, err := client.Flows(ctx, full)
	seen(t, "flows", flows, err)
	deployments, err := client.Deployments(ctx, full)
	seen(t, "deployments", deployments, err)
	for what, n := range map[string]int{
		"flow runs": len(runs.Rows), "task runs": len(tasks.Rows), "artifacts": len(artifacts.Rows), "flows": len(flows.Rows), "deployments": len(deployments.Rows),
	} {
		if n == 0 {
			t.Errorf("there are no %s", what)
		}
	}
	for _, run := range runs.Rows[:min(len(runs.Rows), 3)] {
		one, err := client.FlowRun(ctx, run.ID)
		if err != nil || one.ID != run.ID {
			t.Errorf("flow run %s by its id: %s, %v", run.ID, one.ID, err)
		}
	}
	if _, err := client.FlowRun(ctx, uuid.New()); !errors.Is(err, prefect.ErrNotFound) {
		t.Errorf("a flow run that is not there: %v", err)
	}
	if _, err := client.TaskRun(ctx, uuid.New()); !errors.Is(err, prefect.ErrNotFound) {
		t.Errorf("a task run that is not there: %v", err)
	}
	unknown := prefect.Filter{Limit: 1, Sort: "START_TIME_ASC"} // no version knows it for task runs
	fault, _ := errors.AsType[*prefect.Error](second(client.TaskRuns(ctx, unknown)))
	if fault == nil || !errors.Is(fault, prefect.ErrUnknownField) || len(fault.Fields) != 1 || fault.Fields[0] != "sort" {
		t.Errorf("an unknown sort order: %v", fault)
	}
}

func second[T any](_ T, err error) error { return err }

// seen checks that every row of a page was understood and that the server told its clock.
func seen[T any](t *testing.T, what string, page prefect.Page[T], err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for _, bad := range page.Bad {
		t.Errorf("%s: row %s was not understood: %s", what, bad.ID, bad.Reason)
	}
	if err == nil && (page.Served.IsZero() || time.Since(page.Served).Abs() > 24*time.Hour) {
		t.Errorf("%s: served at %s", what, page.Served)
	}
}
