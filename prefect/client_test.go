package prefect_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// newClient returns a client of the test server with changed settings.
func newClient(t *testing.T, server *prefecttest.Server, change func(*prefect.Config)) *prefect.Client {
	t.Helper()
	return newObserved(t, server, nil, change)
}

func newObserved(t *testing.T, server *prefecttest.Server, metrics prefect.Observer, change func(*prefect.Config)) *prefect.Client {
	t.Helper()
	cfg := server.Config()
	if change != nil {
		change(&cfg)
	}
	client, err := prefect.NewClient(cfg, zap.NewNop(), metrics)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// results records what the client reports of its requests.
type results struct {
	mu   sync.Mutex
	seen []string
	took []time.Duration
}

func (r *results) ObserveRequest(resource, result string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen, r.took = append(r.seen, resource+" "+result), append(r.took, took)
}

func (r *results) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// faultOf returns the typed error, which every failed request must bring.
func faultOf(t *testing.T, err error) *prefect.Error {
	t.Helper()
	fault, ok := errors.AsType[*prefect.Error](err)
	if !ok {
		t.Fatalf("no *prefect.Error but %v", err)
	}
	return fault
}

func TestListsAndRows(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t, prefecttest.Clock(func() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }))
	flow := server.AddFlow("Load", "team:a")
	variables := map[string]string{"env": `{"OPENLINEAGE_NAMESPACE":"ns"}`}
	deployment := server.AddDeployment(prefect.Deployment{FlowID: flow.ID, JobVariables: rawMap(variables), PullSteps: raws(`{"a":1}`)})
	run := server.AddFlowRun(prefect.FlowRun{FlowID: flow.ID, DeploymentID: &deployment.ID, Tags: []string{"x"}})
	server.SetState(run.ID, prefect.State{Type: prefect.Running})
	upstream := uuid.New()
	task := server.AddTaskRun(prefect.TaskRun{
		FlowRunID: &run.ID, TaskInputs: map[string][]prefect.TaskInput{"x": {{Type: "task_run", ID: &upstream}}},
	})
	artifact := server.AddArtifact(prefect.Artifact{FlowRunID: &run.ID, TaskRunID: &task.ID, Data: raws(`"[{\"a\": null}]"`)[0]})
	client := server.Client(t)
	ctx := t.Context()

	flows, err := client.Flows(ctx, prefect.Filter{Limit: 10})
	check(t, err, flows.Rows, []prefect.Flow{flow})
	deployments, err := client.Deployments(ctx, prefect.Filter{Limit: 10})
	check(t, err, deployments.Rows, []prefect.Deployment{withEmpty(deployment)})
	wantRun := server.FlowRun(run.ID)
	wantRun.Parameters, wantRun.JobVariables = rawMap(nil), rawMap(nil)
	runs, err := client.FlowRuns(ctx, prefect.Filter{Limit: 10})
	check(t, err, runs.Rows, []prefect.FlowRun{wantRun})
	wantTask := server.TaskRun(task.ID)
	wantTask.Tags = []string{}
	tasks, err := client.TaskRuns(ctx, prefect.Filter{Limit: 10})
	check(t, err, tasks.Rows, []prefect.TaskRun{wantTask})
	artifacts, err := client.Artifacts(ctx, prefect.Filter{Limit: 10})
	check(t, err, artifacts.Rows, []prefect.Artifact{artifact})

	oneRun, err := client.FlowRun(ctx, run.ID)
	check(t, err, oneRun, wantRun)
	oneTask, err := client.TaskRun(ctx, task.ID)
	check(t, err, oneTask, wantTask)
	oneFlow, err := client.Flow(ctx, flow.ID)
	check(t, err, oneFlow, flow)
	oneDeployment, err := client.Deployment(ctx, deployment.ID)
	check(t, err, oneDeployment, withEmpty(deployment))

	if want := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC); !runs.Served.Equal(want) {
		t.Errorf("served at %s, want the Date header's %s", runs.Served, want)
	}
	if version, err := client.Version(ctx); err != nil || version != "3.9.1" {
		t.Errorf("version %q, %v", version, err)
	}
	if err := client.Health(ctx); err != nil {
		t.Errorf("health: %v", err)
	}
}

// withEmpty is how a deployment comes back: what is missing is empty.
func withEmpty(d prefect.Deployment) prefect.Deployment {
	d.Tags = []string{}
	return d
}

func check[T any](t *testing.T, err error, got, want T) {
	t.Helper()
	if err != nil {
		t.Error(err)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestNoDateIsZero(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	server.Fault(prefecttest.Any(), prefecttest.NoDate())
	page, err := server.Client(t).Flows(t.Context(), prefect.Filter{Limit: 1})
	if err != nil || !page.Served.IsZero() {
		t.Errorf("served at %s, %v", page.Served, err)
	}
}

// TestRequestForm: the length is always given (Prefect Cloud refuses chunked requests), JSON is named as such, and the
// filter goes as the API wants it.
func TestRequestForm(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	client := newClient(t, server, func(cfg *prefect.Config) { cfg.UserAgent = "listener/1.2.3" })
	after := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	running := &prefect.StateFilter{}
	running.Type.Any = []prefect.StateType{prefect.Running}
	_, err := client.TaskRuns(t.Context(), prefect.Filter{
		Limit: 7, Offset: 14, Sort: "END_TIME_DESC",
		TaskRuns: &prefect.RunFilter{State: running, EndTime: &prefect.Window{After: &after}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sent := server.Requests()[0]
	const want = `{"limit":7,"offset":14,"sort":"END_TIME_DESC","task_runs":{"state":{"type":{"any_":["RUNNING"]}},` +
		`"end_time":{"after_":"2026-05-01T12:00:00Z"}}}`
	if string(sent.Body) != want || sent.Length != int64(len(want)) || sent.Method != "POST" || sent.Path != "/task_runs/filter" {
		t.Errorf("sent %s %s of %d bytes: %s", sent.Method, sent.Path, sent.Length, sent.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "listener/1.2.3",
		"X-Prefect-Api-Version": "", "X-Idempotency-Key": "", "Authorization": "", "Prefect-Csrf-Token": "",
	} {
		if got := sent.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", "/", "//"} {
		server := prefecttest.New(t)
		client := newClient(t, server, func(cfg *prefect.Config) { cfg.URL += suffix })
		if err := client.Health(t.Context()); err != nil {
			t.Errorf("with %q behind the address: %v", suffix, err)
		}
	}
	// A prefix before /api, as behind a proxy that serves several things.
	server := prefecttest.NewServer()
	proxied := handlerClient(t, http.StripPrefix("/tools/prefect", server), "/tools/prefect/api/")
	if err := proxied.Health(t.Context()); err != nil {
		t.Errorf("behind a prefix: %v", err)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		option prefecttest.Option
		change func(*prefect.Config)
		asked  string // what the error tells to check; empty: no error
	}{
		{"key", prefecttest.BearerAuth("pnu_key"), func(c *prefect.Config) { c.APIKey = "pnu_key" }, ""},
		{"key with a line break, as files have it", prefecttest.BearerAuth("pnu_key"), func(c *prefect.Config) { c.APIKey = "pnu_key\n" }, ""},
		{"auth string", prefecttest.BasicAuth("admin:pa:ss"), func(c *prefect.Config) { c.AuthString = "admin:pa:ss" }, ""},
		{"auth string wins over the key", prefecttest.BasicAuth("admin:pass"), func(c *prefect.Config) { c.AuthString, c.APIKey = "admin:pass", "pnu" }, ""},
		{"user in the address", prefecttest.BasicAuth("admin:p@ss"), func(c *prefect.Config) { c.URL = strings.Replace(c.URL, "//", "//admin:p%40ss@", 1) }, ""},
		{"custom header wins", prefecttest.BearerAuth("other"), func(c *prefect.Config) {
			c.APIKey, c.Headers = "pnu", map[string]string{"authorization": "Bearer other"}
		}, ""},
		{"none", prefecttest.BasicAuth("admin:pass"), func(*prefect.Config) {}, "set PREFECT_API_AUTH_STRING"},
		{"wrong key", prefecttest.BearerAuth("pnu_key"), func(c *prefect.Config) { c.APIKey = "pnu_wrong" }, "check PREFECT_API_KEY"},
		{"wrong auth string", prefecttest.BasicAuth("admin:pass"), func(c *prefect.Config) { c.AuthString = "admin:wrong" }, "check PREFECT_API_AUTH_STRING"},
		{"wrong custom header", prefecttest.BearerAuth("pnu_key"), func(c *prefect.Config) {
			c.Headers = map[string]string{"Authorization": "Bearer wrong"}
		}, "check PREFECT_CLIENT_CUSTOM_HEADERS"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := prefecttest.New(t, test.option)
			_, err := newClient(t, server, test.change).Flows(t.Context(), prefect.Filter{Limit: 1})
			switch {
			case test.asked == "" && err != nil:
				t.Error(err)
			case test.asked != "" && (!errors.Is(err, prefect.ErrUnauthorized) || !strings.Contains(err.Error(), test.asked)):
				t.Errorf("%v, want one that says %s", err, test.asked)
			case server.Count("/flows/filter") != 1:
				t.Errorf("%d requests: a refusal was tried again", server.Count("/flows/filter"))
			}
		})
	}
}

func TestSetCredentials(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t, prefecttest.BearerAuth("new_key"))
	client := newClient(t, server, func(cfg *prefect.Config) { cfg.APIKey = "old_key" })
	if _, err := client.Version(t.Context()); !errors.Is(err, prefect.ErrUnauthorized) {
		t.Errorf("with the old key: %v", err)
	}
	if err := client.SetCredentials("new_key", "", map[string]string{"bad name": "x"}); err == nil {
		t.Error("a header that HTTP does not allow was taken")
	}
	if err := client.SetCredentials("new_key", "", map[string]string{"X-Team": "data"}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Version(t.Context()); err != nil {
		t.Errorf("with the new key: %v", err)
	}
}

func TestCustomHeaders(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	core, logs := observer.New(zap.WarnLevel)
	cfg := server.Config()
	cfg.Headers = map[string]string{
		"cf-access-token": "secret-token", "User-Agent": "mine", "prefect-csrf-token": "x", "Transfer-Encoding": "chunked",
	}
	client, err := prefect.NewClient(cfg, zap.New(core), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if _, err := client.Flows(t.Context(), prefect.Filter{Limit: 1}); err != nil {
		t.Fatal(err)
	}
	sent := server.Requests()[0].Header
	if sent.Get("Cf-Access-Token") != "secret-token" || sent.Get("User-Agent") != prefect.DefaultUserAgent || sent.Get("Prefect-Csrf-Token") != "" {
		t.Errorf("sent %v", sent)
	}
	if logs.Len() != 3 {
		t.Errorf("%d warnings about headers that are left out, want 3: %v", logs.Len(), logs.All())
	}
	if text := fmt.Sprint(logs.All()); strings.Contains(text, "secret-token") {
		t.Errorf("a header's value is in the log: %s", text)
	}
}

func TestHostHeader(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	client := handlerClientWith(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Host
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "true")
	}), "/api", func(cfg *prefect.Config) { cfg.Headers = map[string]string{"Host": "prefect.example"} })
	if err := client.Health(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != "prefect.example" {
		t.Errorf("asked for host %q", got)
	}
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*prefect.Config)
		says   string
	}{
		{"no scheme", func(c *prefect.Config) { c.URL = "127.0.0.1:4200/api" }, "PREFECT_API_URL"},
		{"no scheme but a name", func(c *prefect.Config) { c.URL = "localhost:4200/api" }, "PREFECT_API_URL must begin with http"},
		{"other scheme", func(c *prefect.Config) { c.URL = "ftp://h/api" }, "PREFECT_API_URL must begin with http"},
		{"no host", func(c *prefect.Config) { c.URL = "http:///api" }, "PREFECT_API_URL names no host"},
		{"query", func(c *prefect.Config) { c.URL = "http://h/api?key=s3cret" }, "PREFECT_API_URL must end with its path"},
		{"no URL", func(c *prefect.Config) { c.URL = "http://u:s3cret@h:port/api" }, "PREFECT_API_URL is not a URL"},
		{"empty", func(c *prefect.Config) { c.URL = "" }, "PREFECT_API_URL must begin"},
		{"header name", func(c *prefect.Config) { c.Headers = map[string]string{"a b": "s3cret"} }, `PREFECT_CLIENT_CUSTOM_HEADERS: "a b"`},
		{"no header name", func(c *prefect.Config) { c.Headers = map[string]string{"": "s3cret"} }, "PREFECT_CLIENT_CUSTOM_HEADERS"},
		{"header value", func(c *prefect.Config) { c.Headers = map[string]string{"A": "s3cret\r\nB: c"} }, `PREFECT_CLIENT_CUSTOM_HEADERS: "A"`},
		{"no CA file", func(c *prefect.Config) { c.CAFile = "testdata/none.pem" }, "PREFECT_API_SSL_CERT_FILE"},
		{"CA file without a certificate", func(c *prefect.Config) { c.CAFile = "client_test.go" }, "holds no PEM certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := prefect.Config{URL: "http://127.0.0.1:4200/api"}
			test.change(&cfg)
			_, err := prefect.NewClient(cfg, nil, nil)
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v, want one that says %s and no secret", err, test.says)
			}
		})
	}
}

func TestVersionOfCloud(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	server.FaultAlways(prefecttest.Path("/admin/version"), prefecttest.Answer(404, "application/json", `{"detail":"Not Found"}`))
	if _, err := server.Client(t).Version(t.Context()); !errors.Is(err, prefect.ErrNotPrefect) {
		t.Errorf("a server of one's own without a version: %v", err)
	}
	cloud := newClient(t, server, func(cfg *prefect.Config) { cfg.URL = "http://api.prefect.cloud/api" })
	if version, err := cloud.Version(t.Context()); err != nil || version != "" {
		t.Errorf("version of Prefect Cloud: %q, %v", version, err)
	}
}

func TestObserver(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	var seen results
	client := newObserved(t, server, &seen, nil)
	server.Fault(prefecttest.Path("/artifacts/"), prefecttest.Status(503))
	ctx := t.Context()
	_, err1 := client.Artifacts(ctx, prefect.Filter{Limit: 1})
	_, err2 := client.Version(ctx)
	err3 := client.Health(ctx)
	_, err4 := client.FlowRun(ctx, uuid.New())
	if err1 != nil || err2 != nil || err3 != nil || !errors.Is(err4, prefect.ErrNotFound) {
		t.Fatal(err1, err2, err3, err4)
	}
	gone, cancel := context.WithCancel(ctx)
	server.Fault(prefecttest.Any(), func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := client.Flows(gone, prefect.Filter{Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	want := []string{"artifacts status-503", "artifacts ok", "version ok", "health ok", "flow_runs status-404", "flows canceled"}
	if diff := cmp.Diff(want, seen.all()); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}
