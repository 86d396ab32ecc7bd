package prefect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// Observer is told of every request that was sent, tries included.
type Observer interface {
	// ObserveRequest gets the resource (flow_runs, task_runs, artifacts, flows, deployments, version, health, csrf),
	// the result as a bounded word (ok, or an Error's Reason) and how long it took.
	ObserveRequest(resource, result string, took time.Duration)
}

// Client reads one Prefect API. Its methods may be called from several goroutines.
type Client struct {
	cfg       Config
	base      string
	http      *http.Client
	log       *zap.Logger
	pageLimit atomic.Int64
}

// NewClient returns a client for the API that cfg names. It sends nothing yet. metrics may be nil.
func NewClient(cfg Config, log *zap.Logger, metrics Observer) (*Client, error) {
	cfg = cfg.withDefaults()
	c := &Client{cfg: cfg, base: strings.TrimRight(cfg.URL, "/"), http: &http.Client{Timeout: cfg.RequestTimeout}, log: log}
	c.pageLimit.Store(MaxPage)
	return c, nil
}

// Close releases the client's connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// PageLimit returns the most rows that the server gives in one page, as far as it has said. A larger Filter.Limit is
// read in several pages.
func (c *Client) PageLimit() int { return int(c.pageLimit.Load()) }

// FlowRuns returns one page of flow runs.
func (c *Client) FlowRuns(ctx context.Context, f Filter) (Page[FlowRun], error) {
	return list[FlowRun](ctx, c, "flow_runs", f)
}

// TaskRuns returns one page of task runs.
func (c *Client) TaskRuns(ctx context.Context, f Filter) (Page[TaskRun], error) {
	return list[TaskRun](ctx, c, "task_runs", f)
}

// Artifacts returns one page of artifacts.
func (c *Client) Artifacts(ctx context.Context, f Filter) (Page[Artifact], error) {
	return list[Artifact](ctx, c, "artifacts", f)
}

// Flows returns one page of flows.
func (c *Client) Flows(ctx context.Context, f Filter) (Page[Flow], error) {
	return list[Flow](ctx, c, "flows", f)
}

// Deployments returns one page of deployments.
func (c *Client) Deployments(ctx context.Context, f Filter) (Page[Deployment], error) {
	return list[Deployment](ctx, c, "deployments", f)
}

// FlowRun returns one flow run, or ErrNotFound.
func (c *Client) FlowRun(ctx context.Context, id uuid.UUID) (FlowRun, error) {
	return get[FlowRun](ctx, c, "/flow_runs/"+id.String())
}

// TaskRun returns one task run, or ErrNotFound.
func (c *Client) TaskRun(ctx context.Context, id uuid.UUID) (TaskRun, error) {
	return get[TaskRun](ctx, c, "/task_runs/"+id.String())
}

// Flow returns one flow, or ErrNotFound.
func (c *Client) Flow(ctx context.Context, id uuid.UUID) (Flow, error) {
	return get[Flow](ctx, c, "/flows/"+id.String())
}

// Deployment returns one deployment, or ErrNotFound.
func (c *Client) Deployment(ctx context.Context, id uuid.UUID) (Deployment, error) {
	return get[Deployment](ctx, c, "/deployments/"+id.String())
}

// Version returns the server's version, such as 3.9.1. It is empty for Prefect Cloud, which has none.
func (c *Client) Version(ctx context.Context) (string, error) {
	return get[string](ctx, c, "/admin/version")
}

// Health returns nil when the server says that it is well. Servers answer it without credentials.
func (c *Client) Health(ctx context.Context) error {
	_, err := get[bool](ctx, c, "/health")
	return err
}

var userinfo = regexp.MustCompile(`://[^/\s@]*@`)

// maskURLs replaces the user and password of every URL in a text.
func maskURLs(text string) string { return userinfo.ReplaceAllString(text, "://"+redacted+"@") }

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var row T
	_, raw, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return row, err
	}
	if err := json.Unmarshal(raw, &row); err != nil {
		return row, fmt.Errorf("reading %s: %w", path, err)
	}
	return row, nil
}

func list[T any](ctx context.Context, c *Client, resource string, f Filter) (Page[T], error) {
	var page Page[T]
	body, err := json.Marshal(f)
	if err != nil {
		return page, fmt.Errorf("encoding the filter: %w", err)
	}
	header, raw, err := c.send(ctx, http.MethodPost, "/"+resource+"/filter", body)
	if err != nil {
		return page, err
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil {
		return page, fmt.Errorf("reading %s: %w", resource, err)
	}
	page.Served, _ = http.ParseTime(header.Get("Date"))
	for _, row := range rows {
		var one T
		if err := json.Unmarshal(row, &one); err != nil {
			page.Bad = append(page.Bad, BadRow{Resource: resource, Reason: err.Error(), Raw: row})
			continue
		}
		page.Rows = append(page.Rows, one)
	}
	return page, nil
}

func (c *Client) send(ctx context.Context, method, path string, body []byte) (http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, nil, &Error{Kind: ErrUnavailable, Method: method, Path: path, Err: err}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, &Error{Kind: ErrUnavailable, Method: method, Path: path, Err: err}
	}
	if resp.StatusCode != http.StatusOK {
		kind := ErrRefused
		switch {
		case resp.StatusCode == http.StatusNotFound:
			kind = ErrNotFound
		case resp.StatusCode >= 500:
			kind = ErrUnavailable
		}
		return nil, nil, &Error{Kind: kind, Method: method, Path: path, Status: resp.StatusCode, Detail: string(raw[:min(len(raw), 300)])}
	}
	return resp.Header, raw, nil
}
