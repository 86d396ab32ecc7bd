package prefect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-retryablehttp"
	"go.uber.org/zap"
)

// Observer is told of every request that was sent, each try by itself.
type Observer interface {
	// ObserveRequest gets the resource (flow_runs, task_runs, artifacts, flows, deployments, events, version, health, csrf),
	// the result as a bounded word (ok, canceled, or an Error's Reason) and how long the server took.
	ObserveRequest(resource, result string, took time.Duration)
}

// Client reads one Prefect API. Its methods may be called from several goroutines. An error is an *Error, a *RowError
// or the context's own.
type Client struct {
	base      *url.URL // without user, query and trailing slash
	userAgent string
	creds     *credentials
	csrf      *csrf
	http      *retryablehttp.Client
	exchange  *exchange
	sockets   *http.Transport // for websockets
	pageLimit atomic.Int64
	log       *zap.Logger
}

// NewClient returns a client for the API that cfg names. It sends nothing yet. The error names the
// setting that is wrong and shows no secret. log and metrics may be nil.
func NewClient(cfg Config, log *zap.Logger, metrics Observer) (*Client, error) {
	if log == nil {
		log = zap.NewNop()
	}
	cfg = cfg.withDefaults()
	base, inURL, err := cfg.endpoint()
	if err != nil {
		return nil, err
	}
	if cfg.AuthString == "" {
		cfg.AuthString = inURL
	}
	headers, err := cfg.headers(log)
	if err != nil {
		return nil, err
	}
	tlsSettings, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	if cfg.InsecureSkipVerify {
		log.Warn("the certificate of the Prefect server is not checked (PREFECT_API_TLS_INSECURE_SKIP_VERIFY)")
	}
	c := &Client{
		base: base, userAgent: cfg.UserAgent, creds: newCredentials(cfg, headers),
		csrf: &csrf{client: uuid.New()}, log: log,
	}
	c.pageLimit.Store(MaxPage)
	c.exchange = &exchange{
		next: newTransport(cfg, tlsSettings), gate: newGate(cfg.MaxInFlight, cfg.MaxRequestsPerSecond),
		timeout: cfg.RequestTimeout, maxBytes: cfg.MaxAnswerBytes, base: base, creds: c.creds, metrics: metrics,
	}
	c.http, c.sockets = newRetrying(c.exchange, log), newSocketTransport(cfg, tlsSettings, base)
	return c, nil
}

// Close releases the client's connections. Requests that are under way finish.
func (c *Client) Close() {
	c.http.HTTPClient.CloseIdleConnections()
	c.sockets.CloseIdleConnections()
}

// SetCredentials replaces the API key, the auth string and the custom headers, for secrets that are read again when
// their file changes. After an error the old ones stand.
func (c *Client) SetCredentials(apiKey, authString string, headers map[string]string) error {
	custom, err := Config{Headers: headers}.headers(c.log)
	if err != nil {
		return err
	}
	c.creds.set(apiKey, authString, custom)
	return nil
}

// String names the client without its secrets.
func (c *Client) String() string { return "prefect.Client(" + c.base.String() + ")" }

// PageLimit returns the most rows that the server gives in one page, as far as it has said. A larger Filter.Limit is
// read in several pages without the caller's doing.
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

// CountArtifacts returns how many artifacts there are of a query.
func (c *Client) CountArtifacts(ctx context.Context, q ArtifactQuery) (int, error) {
	return c.count(ctx, "artifacts", struct {
		Artifacts ArtifactQuery `json:"artifacts"`
	}{q})
}

// CountTaskRuns returns how many task runs a filter matches.
func (c *Client) CountTaskRuns(ctx context.Context, f RunFilter) (int, error) {
	return c.count(ctx, "task_runs", struct {
		TaskRuns RunFilter `json:"task_runs"`
	}{f})
}

func (c *Client) count(ctx context.Context, resource string, filter any) (int, error) {
	body, err := json.Marshal(filter)
	if err != nil {
		return 0, fmt.Errorf("encoding the filter for %s: %w", resource, err)
	}
	answer, err := c.send(ctx, request{method: http.MethodPost, path: "/" + resource + "/count", resource: resource, body: body})
	if err != nil {
		return 0, err
	}
	var n int
	return n, answer.decode(&n)
}

// Flows returns one page of flows.
func (c *Client) Flows(ctx context.Context, f Filter) (Page[Flow], error) {
	return list[Flow](ctx, c, "flows", f)
}

// Deployments returns one page of deployments.
func (c *Client) Deployments(ctx context.Context, f Filter) (Page[Deployment], error) {
	return list[Deployment](ctx, c, "deployments", f)
}

// FlowRun returns one flow run, ErrNotFound when the server has none, or a *RowError when it can't be understood.
func (c *Client) FlowRun(ctx context.Context, id uuid.UUID) (FlowRun, error) {
	return get[FlowRun](ctx, c, "flow_runs", id)
}

// TaskRun returns one task run, with errors as FlowRun.
func (c *Client) TaskRun(ctx context.Context, id uuid.UUID) (TaskRun, error) {
	return get[TaskRun](ctx, c, "task_runs", id)
}

// Flow returns one flow, with errors as FlowRun.
func (c *Client) Flow(ctx context.Context, id uuid.UUID) (Flow, error) {
	return get[Flow](ctx, c, "flows", id)
}

// Deployment returns one deployment, with errors as FlowRun.
func (c *Client) Deployment(ctx context.Context, id uuid.UUID) (Deployment, error) {
	return get[Deployment](ctx, c, "deployments", id)
}

// Version returns the server's version, such as 3.9.1. Empty without an error: the server is Prefect's but has no
// version to tell, as Prefect Cloud.
func (c *Client) Version(ctx context.Context) (string, error) {
	answer, err := c.send(ctx, request{method: http.MethodGet, path: "/admin/version", resource: "version"})
	switch {
	case isCloud(c.base) && (errors.Is(err, ErrNotFound) || errors.Is(err, ErrNotPrefect)):
		return "", nil
	case err != nil:
		return "", err
	}
	var version string
	if err := answer.decode(&version); err != nil {
		return "", err
	}
	return version, nil
}

// Health returns nil when the server says that it is well. Servers answer it without credentials: only a list call
// tells whether those are right.
func (c *Client) Health(ctx context.Context) error {
	answer, err := c.send(ctx, request{method: http.MethodGet, path: "/health", resource: "health"})
	if err != nil {
		return err
	}
	var well bool
	if err := answer.decode(&well); err != nil {
		return err
	}
	if !well {
		return &Error{
			Kind: ErrUnavailable, Method: http.MethodGet, Path: "/health", Status: http.StatusOK, Reason: "unhealthy",
			Detail: "the server says that it is not well",
		}
	}
	return nil
}
