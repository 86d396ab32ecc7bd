package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/prefect"
)

// countRuns says what runs there are, so that a person sees whether this is the Prefect that was meant.
func countRuns(ctx context.Context, client prefectAPI, lookback time.Duration) (string, error) {
	var running prefect.StateFilter
	running.Type.Any = []prefect.StateType{prefect.Running}
	active := &prefect.RunFilter{State: &running}
	flows, err := client.FlowRuns(ctx, prefect.Filter{Limit: prefect.MaxPage, FlowRuns: active})
	if err != nil {
		return "", err
	}
	tasks, err := client.TaskRuns(ctx, prefect.Filter{Limit: prefect.MaxPage, TaskRuns: active})
	if err != nil {
		return "", err
	}
	says := fmt.Sprintf("%s and %s running", atMost(len(flows.Rows), "flow run", "flow runs"), atMost(len(tasks.Rows), "task run", "task runs"))
	if lookback <= 0 || flows.Served.IsZero() {
		return says, nil
	}
	since := flows.Served.Add(-lookback)
	recent, err := client.FlowRuns(ctx, prefect.Filter{
		Limit: prefect.MaxPage, FlowRuns: &prefect.RunFilter{StartTime: &prefect.Window{After: &since}},
	})
	if err != nil {
		return "", err
	}
	says = fmt.Sprintf("%s; %s started in the last %s", says, atMost(len(recent.Rows), "flow run", "flow runs"), config.Brief(lookback))
	if len(recent.Rows) < tellingRuns {
		return says, nil
	}
	tasked, err := client.TaskRuns(ctx, prefect.Filter{Limit: 1, TaskRuns: &prefect.RunFilter{StartTime: &prefect.Window{After: &since}}})
	if err != nil {
		return "", err
	}
	if len(tasked.Rows) == 0 {
		says += " and no task run: unless these flows have no tasks, Prefect does not write task runs down " +
			"(see PrefectOpenLineageTaskRunsMissing in docs/operations.md)"
	}
	return says, nil
}

// tellingRuns are so many flow runs that it is strange when none of them had a task.
const tellingRuns = 5

// atMost names a number of rows of which one page holds at most MaxPage.
func atMost(n int, one, many string) string {
	if n >= prefect.MaxPage {
		return fmt.Sprintf("%d or more %s", prefect.MaxPage, many)
	}
	return count(int64(n), one, many)
}
