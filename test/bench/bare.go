package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// pageSize is the most rows that a Prefect server gives at once.
const pageSize = 200

// bare is the least that can read from Prefect: one connection, no checks, no retries.
type bare struct {
	url    string
	client *http.Client
}

func newBare(api string) *bare {
	return &bare{url: api, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
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

// history reads all flow runs with their task runs and the artifacts of those, in the fastest way known: flow runs
// page by page, task runs by 20 flow runs, artifacts by 200 task runs. One request at a time: a server works on one at
// a time, and decoding an answer this little takes a small part of the time that making it took.
func (r *bare) history(ctx context.Context, since time.Time) (bareRead, error) {
	var read bareRead
	for offset := 0; ; offset += pageSize {
		var page []bareRow
		err := r.list(ctx, "flow_runs", filter{
			"sort": "ID_DESC", "limit": pageSize, "offset": offset,
			"flow_runs": filter{"start_time": filter{"after_": since}},
		}, &page)
		if err != nil {
			return read, err
		}
		read.flowRuns, read.requests = read.flowRuns+len(page), read.requests+1
		for len(page) > 0 {
			some := page[:min(20, len(page))]
			page = page[len(some):]
			if err := r.tasksOf(ctx, ids(some), &read); err != nil {
				return read, err
			}
		}
		if read.flowRuns < offset+pageSize {
			return read, nil
		}
	}
}

func (r *bare) tasksOf(ctx context.Context, flowRuns []string, read *bareRead) error {
	for offset := 0; ; offset += pageSize {
		var page []bareRow
		err := r.list(ctx, "task_runs", filter{
			"sort": "ID_DESC", "limit": pageSize, "offset": offset,
			"task_runs": filter{"flow_run_id": oneOf(flowRuns)},
		}, &page)
		if err != nil {
			return err
		}
		read.taskRuns, read.requests = read.taskRuns+len(page), read.requests+1
		if len(page) == 0 {
			return nil
		}
		var artifacts []struct {
			Data json.RawMessage `json:"data"`
		}
		err = r.list(ctx, "artifacts", filter{
			"sort": "ID_DESC", "limit": pageSize,
			"artifacts": filter{"task_run_id": oneOf(ids(page)), "type": oneOf([]string{"table"})},
		}, &artifacts)
		if err != nil {
			return err
		}
		read.artifacts, read.requests = read.artifacts+len(artifacts), read.requests+1
		if len(page) < pageSize {
			return nil
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
