package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// pageSize is the most rows that a Prefect server gives at once.
const pageSize = 200

// bare is the least that can read from Prefect: no checks, no retries.
type bare struct {
	url    string
	client *http.Client

	flowRuns, atOnce int // see bareFlowRuns
}

func newBare(api string) *bare {
	return &bare{
		url: api, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 4}},
		flowRuns: bareFlowRuns, atOnce: bareAtOnce,
	}
}

func (r *bare) close() { r.client.CloseIdleConnections() }

// filter is the body of a list request.
type filter map[string]any

func oneOf(values any) filter { return filter{"any_": values} }

// list reads one page.
func (r *bare) list(ctx context.Context, resource string, f filter, rows any) error {
	body, err := json.Marshal(f)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/"+resource+"/filter", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %.300s", resource, answer.Status, text)
	}
	return json.Unmarshal(text, rows)
}

// bareRow is what is needed of a row.
type bareRow struct {
	ID    string     `json:"id"`
	Start *time.Time `json:"start_time"`
	End   *time.Time `json:"end_time"`
	State *struct {
		Type string    `json:"type"`
		Time time.Time `json:"timestamp"`
	} `json:"state"`
}

// bareRead counts what a bareHistory read.
type bareRead struct {
	flowRuns, taskRuns, artifacts, requests int
}

// How the bare loop reads, in the fastest way that was found on a real server: the task runs of so many flow runs in one
// page that is not quite full and needs no second, and so many requests at once.
const (
	bareFlowRuns = 19
	bareAtOnce   = 2
)

// history reads all flow runs with their task runs and the artifacts of those: flow runs page by page, task runs by flow
// run, artifacts by task run.
func (r *bare) history(ctx context.Context, since time.Time) (bareRead, error) {
	var read bareRead
	var mu sync.Mutex
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(r.atOnce) // the pages of flow runs are read beside them, while there is room
	for offset := 0; ; offset += pageSize {
		var page []bareRow
		err := r.list(ctx, "flow_runs", filter{
			"sort": "ID_DESC", "limit": pageSize, "offset": offset,
			"flow_runs": filter{"start_time": filter{"after_": since}},
		}, &page)
		if err != nil {
			return read, errors.Join(err, reading.Wait())
		}
		for some := range slices.Chunk(page, r.flowRuns) {
			reading.Go(func() error {
				found, err := r.tasksOf(ctx, ids(some))
				mu.Lock()
				defer mu.Unlock()
				read.add(found)
				return err
			})
		}
		mu.Lock()
		read.add(bareRead{flowRuns: len(page), requests: 1})
		mu.Unlock()
		if len(page) < pageSize {
			err := reading.Wait()
			return read, err
		}
	}
}

func (r *bareRead) add(more bareRead) {
	r.flowRuns, r.taskRuns = r.flowRuns+more.flowRuns, r.taskRuns+more.taskRuns
	r.artifacts, r.requests = r.artifacts+more.artifacts, r.requests+more.requests
}

func (r *bare) tasksOf(ctx context.Context, flowRuns []string) (bareRead, error) {
	var read bareRead
	for offset := 0; ; offset += pageSize {
		var page []bareRow
		err := r.list(ctx, "task_runs", filter{
			"sort": "ID_DESC", "limit": pageSize, "offset": offset,
			"task_runs": filter{"flow_run_id": oneOf(flowRuns)},
		}, &page)
		if err != nil {
			return read, err
		}
		read.add(bareRead{taskRuns: len(page), requests: 1})
		if len(page) == 0 {
			return read, nil
		}
		var artifacts []struct {
			Data json.RawMessage `json:"data"`
		}
		err = r.list(ctx, "artifacts", filter{
			"sort": "ID_DESC", "limit": pageSize,
			"artifacts": filter{"task_run_id": oneOf(ids(page)), "type": oneOf([]string{"table"})},
		}, &artifacts)
		if err != nil {
			return read, err
		}
		read.add(bareRead{artifacts: len(artifacts), requests: 1})
		if len(page) < pageSize {
			return read, nil
		}
	}
}

func ids(rows []bareRow) []string {
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = row.ID
	}
	return all
}
