package prefecttest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

type reply struct {
	status int
	header http.Header
	body   []byte
}

// call asks the server without the client of the product, which other tests are about.
func call(t *testing.T, server *prefecttest.Server, method, path, body string, header http.Header) reply {
	t.Helper()
	transport := &http.Transport{DialContext: server.Config().DialContext, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, raw}
}

func post(t *testing.T, server *prefecttest.Server, path, body string) reply {
	t.Helper()
	return call(t, server, http.MethodPost, path, body, nil)
}

func get(t *testing.T, server *prefecttest.Server, path string) reply {
	t.Helper()
	return call(t, server, http.MethodGet, path, "", nil)
}

// names are the names of the rows in an answer.
func names(t *testing.T, r reply) []string {
	t.Helper()
	var rows []struct{ Name string }
	if err := json.Unmarshal(r.body, &rows); err != nil {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	found := []string{}
	for _, row := range rows {
		found = append(found, row.Name)
	}
	return found
}

func TestSingleRows(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	story(server)
	id := prefecttest.ID("flow-run-1")
	if got := get(t, server, "/flow_runs/"+id.String()); got.status != 200 || !strings.Contains(string(got.body), `"early"`) {
		t.Errorf("a flow run by its id: %d %s", got.status, got.body)
	}
	server.Delete(id)
	for path, says := range map[string]string{
		"/flow_runs/" + id.String():   "Flow run not found",
		"/task_runs/" + id.String():   "Task not found",
		"/flows/" + id.String():       "Flow not found",
		"/deployments/" + id.String(): "Deployment not found",
		"/flow_runs/nonsense":         "Not Found",
		"/nowhere":                    "Not Found",
	} {
		if got := get(t, server, path); got.status != 404 || string(got.body) != `{"detail":"`+says+`"}` {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := get(t, server, "/flow_runs/filter"); got.status != 405 {
		t.Errorf("a list by GET: %d", got.status)
	}
	if got := get(t, server, "/health"); got.status != 200 || string(got.body) != "true" {
		t.Errorf("health: %d %s", got.status, got.body)
	}
	if got := get(t, server, "/admin/version"); string(got.body) != `"3.9.1"` {
		t.Errorf("version: %s", got.body)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	server := prefecttest.New(t, prefecttest.BasicAuth("user:pass"), prefecttest.CSRF(time.Minute),
		prefecttest.Clock(func() time.Time { return now }))
	if got := get(t, server, "/health"); got.status != 200 {
		t.Errorf("health without credentials: %d", got.status)
	}
	if got := get(t, server, "/admin/version"); got.status != 401 || !strings.Contains(string(got.body), "Unauthorized") {
		t.Errorf("version without credentials: %d %s", got.status, got.body)
	}
	who := http.Header{"Authorization": {"Basic dXNlcjpwYXNz"}, "Prefect-Csrf-Client": {"me"}}
	if got := call(t, server, "POST", "/flows/filter", "{}", who); string(got.body) != `{"detail":"Missing CSRF token."}` {
		t.Errorf("a list without a token: %d %s", got.status, got.body)
	}
	var given struct{ Token string }
	got := call(t, server, "GET", "/csrf-token?client=me", "", who)
	if err := json.Unmarshal(got.body, &given); err != nil {
		t.Fatal(err)
	}
	who.Set("Prefect-Csrf-Token", given.Token)
	if got := call(t, server, "POST", "/flows/filter", "{}", who); got.status != 200 {
		t.Errorf("a list with a token: %d %s", got.status, got.body)
	}
	now = now.Add(time.Minute)
	if got := call(t, server, "POST", "/flows/filter", "{}", who); got.status != 403 {
		t.Errorf("a list with an expired token: %d %s", got.status, got.body)
	}
	open := prefecttest.New(t)
	if got := get(t, open, "/csrf-token?client=me"); got.status != 422 || !strings.Contains(string(got.body), "disabled") {
		t.Errorf("a token of a server without the protection: %d %s", got.status, got.body)
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	now := *at(0)
	server := prefecttest.New(t, prefecttest.Clock(func() time.Time { return now }))
	flow := server.AddFlow("Load")
	run := server.AddFlowRun(prefect.FlowRun{FlowID: flow.ID})
	step := func(minute int, state prefect.StateType) prefect.FlowRun {
		now = *at(minute)
		server.SetState(run.ID, prefect.State{Type: state})
		return server.FlowRun(run.ID)
	}
	if got := step(1, prefect.Pending); got.StartTime != nil || got.RunCount != 0 {
		t.Errorf("pending: %+v", got)
	}
	if got := step(2, prefect.Running); !got.StartTime.Equal(*at(2)) || got.RunCount != 1 || got.State.Name != "Running" {
		t.Errorf("running: %+v", got)
	}
	if got := step(3, prefect.Failed); !got.EndTime.Equal(*at(3)) {
		t.Errorf("failed: %+v", got)
	}
	if got := step(4, prefect.Scheduled); got.EndTime != nil {
		t.Errorf("alive again: %+v", got)
	}
	if got := step(5, prefect.Running); !got.StartTime.Equal(*at(2)) || got.RunCount != 2 {
		t.Errorf("running again: %+v", got)
	}
	if got := step(6, prefect.Completed); !got.EndTime.Equal(*at(6)) || !got.StartTime.Equal(*at(2)) {
		t.Errorf("completed: %+v", got)
	}
	never := server.AddTaskRun(prefect.TaskRun{})
	server.SetState(never.ID, prefect.State{Type: prefect.Cancelled, Timestamp: *at(7)})
	if got := server.TaskRun(never.ID); got.RunCount != 0 || !got.StartTime.Equal(*at(7)) || !got.EndTime.Equal(*at(7)) {
		t.Errorf("never ran: %+v", got)
	}
	got := names(t, post(t, server, "/flow_runs/filter", `{"flow_runs":{"state":{"type":{"any_":["COMPLETED"]}}}}`))
	if len(got) != 1 {
		t.Errorf("the filters don't see the new state: %v", got)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t)
		server.AddFlow("One")
		lists := prefecttest.Path("/flows/")
		server.Fault(lists, prefecttest.Status(503), prefecttest.Pass(), prefecttest.HalfJSON(), prefecttest.LoginPage(),
			prefecttest.RetryAfter(429, "7"), prefecttest.NoDate(), prefecttest.Slow(time.Minute))
		list := func() reply { return post(t, server, "/flows/filter", "{}") }
		if got := list(); got.status != 503 {
			t.Errorf("status: %d", got.status)
		}
		if got := get(t, server, "/health"); got.status != 200 {
			t.Errorf("a fault hit another path: %d", got.status)
		}
		if got := list(); got.status != 200 || got.header.Get("Date") == "" {
			t.Errorf("pass: %d, date %q", got.status, got.header.Get("Date"))
		}
		if got := list(); json.Valid(got.body) || !strings.HasPrefix(string(got.body), `[{"created"`) {
			t.Errorf("half: %s", got.body)
		}
		if got := list(); got.status != 200 || !strings.Contains(string(got.body), "Sign in") {
			t.Errorf("login page: %d %s", got.status, got.body)
		}
		if got := list(); got.status != 429 || got.header.Get("Retry-After") != "7" {
			t.Errorf("retry after: %d %q", got.status, got.header.Get("Retry-After"))
		}
		if got := list(); got.status != 200 || got.header.Get("Date") != "" {
			t.Errorf("no date: %d %q", got.status, got.header.Get("Date"))
		}
		begun := time.Now()
		if got := list(); got.status != 200 || time.Since(begun) != time.Minute {
			t.Errorf("slow: %d after %s", got.status, time.Since(begun))
		}
		if got := list(); got.status != 200 {
			t.Errorf("after the script: %d", got.status)
		}
		server.FaultAlways(prefecttest.Any(), prefecttest.Status(500))
		list()
		if got := list(); got.status != 500 {
			t.Errorf("always: %d", got.status)
		}
		server.ClearFaults()
		if got := list(); got.status != 200 {
			t.Errorf("cleared: %d", got.status)
		}
	})
}

func TestRequestsAreKept(t *testing.T) {
	t.Parallel()
	server := prefecttest.NewTCP(t)
	hooked := 0
	server.OnRequest(func(prefecttest.Request) { hooked++; server.AddFlow(fmt.Sprint("Flow ", hooked)) })
	if got := names(t, post(t, server, "/flows/filter", `{"limit":5}`)); !slices.Equal(got, []string{"Flow 1"}) {
		t.Errorf("the hook's row is not in the answer: %v", got)
	}
	get(t, server, "/health")
	if got := server.Count("/flows/filter"); got != 1 || server.Count("") != 2 {
		t.Errorf("counted %d lists of %d requests", got, server.Count(""))
	}
	if got := server.Requests()[0]; string(got.Body) != `{"limit":5}` || got.Length != 11 || got.Method != "POST" {
		t.Errorf("kept: %+v", got)
	}
	server.ForgetRequests()
	if got := server.Count(""); got != 0 {
		t.Errorf("%d requests after they were forgotten", got)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	ids := server.AddHistory(prefecttest.History{
		Flows: 3, FlowRuns: 250, Tasks: 20, Tables: true, From: *at(0), Every: time.Second, Lasts: time.Minute,
	})
	begun := time.Now()
	seen := 0
	for offset := 0; ; offset += 200 {
		got := names(t, post(t, server, "/task_runs/filter", fmt.Sprintf(`{"limit":200,"offset":%d,"sort":"END_TIME_DESC"}`, offset)))
		seen += len(got)
		if len(got) < 200 {
			break
		}
	}
	if seen != 5_000 {
		t.Errorf("%d task runs of 5,000", seen)
	}
	t.Logf("%d task runs in %s", seen, time.Since(begun))
	body := fmt.Sprintf(`{"artifacts":{"flow_run_id":{"any_":[%q]}}}`, ids[7])
	if got := len(names(t, post(t, server, "/artifacts/filter", body))); got != 20 {
		t.Errorf("%d artifacts of a flow run, want 20", got)
	}
	again := prefecttest.NewServer()
	if got := again.AddHistory(prefecttest.History{FlowRuns: 8, From: *at(0)}); got[7] != ids[7] {
		t.Errorf("the ids differ from one server to the next: %s, %s", got[7], ids[7])
	}
}
