package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

// clock is a clock that sleeping moves. Its start is that of the recordings.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	sleeps []float64
}

func newClock() *clock { return &clock{now: time.UnixMilli(1700000000000)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.sleeps = append(c.sleeps, d.Seconds())
	return nil
}

func (c *clock) Slept() []float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sleeps)
}

// sentRequest is what the replaying server saw.
type sentRequest struct {
	method, path string
	header       http.Header
	body         string
}

// replay sends the proposals of the recording given, answered as want has it, and returns how what was done differs from
// want.
func replay(t *testing.T, given, want recording) []string {
	t.Helper()
	var mu sync.Mutex
	var sent []sentRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		i := len(sent)
		sent = append(sent, sentRequest{r.Method, r.RequestURI, r.Header.Clone(), string(body)})
		mu.Unlock()
		if i >= len(want.Requests) {
			w.WriteHeader(http.StatusTeapot) // nothing is recorded: the comparison will say so
			return
		}
		answerAs(w, want, i)
	}))
	defer server.Close()
	time := newClock()
	problems := emitRecorded(t, server.URL, given, want, time)
	mu.Lock()
	defer mu.Unlock()
	return append(problems, compare(want, sent, time.Slept())...)
}

// answerAs answers as recorded.
func answerAs(w http.ResponseWriter, r recording, i int) {
	q := r.Requests[i]
	if q.Body == nil {
		answerShort(w, r, i)
		return
	}
	for _, h := range q.Response.Headers {
		w.Header().Set(h[0], h[1])
	}
	w.WriteHeader(q.Response.Status)
	fmt.Fprint(w, q.Response.Body)
}

// answerShort answers where a recording has no bodies: it is of a failure that is tried again, of large batches, or of a
// long wait whose last poll is good. What the server said is then in the recorded error.
func answerShort(w http.ResponseWriter, r recording, i int) {
	q := r.Requests[i]
	switch {
	case q.Status >= 300:
		if strings.HasSuffix(r.Name, "-retry-after") {
			w.Header().Set("Retry-After", fmt.Sprint(r.Sleeps[0]))
		}
		w.WriteHeader(q.Status)
		if r.Result.Error != nil && !strings.Contains(r.Result.Error.Text, " for url: ") {
			fmt.Fprintf(w, `{"message":%q}`, r.Result.Error.Info["message"])
		}
	case q.Path == "/config":
		fmt.Fprint(w, newServer)
	case strings.HasPrefix(q.Path, "/openapi/v1/trace/"):
		status := "PENDING"
		if i == len(r.Requests)-1 {
			status = "ACTIVE_STATE"
		}
		fmt.Fprintf(w, `{%q:{"datasetProperties":{"success":true,"primaryStorage":{"writeStatus":%q}}}}`, goldenTable, status)
	default:
		w.Header().Set("Traceparent", traceHeader)
		w.WriteHeader(q.Status)
		fmt.Fprint(w, `[]`)
	}
}

// emitRecorded does what the recorded caller did, and returns how the results differ.
func emitRecorded(t *testing.T, url string, given, want recording, time *clock) []string {
	t.Helper()
	emitter, err := rest.New(configOf(given, url, time))
	if err != nil {
		t.Fatal(err)
	}
	defer emitter.Close()
	if given.CallsTestConnection {
		if _, err := emitter.TestConnection(t.Context()); err != nil {
			return compareError(want, err)
		}
	}
	proposals := proposalsOf(t, given)
	if len(proposals) == 0 {
		return compareError(want, nil)
	}
	if !isBatch(given) {
		_, err = emitter.Emit(t.Context(), proposals[0], optionsOf(given)...)
		return compareError(want, err)
	}
	results, err := emitter.EmitAll(t.Context(), proposals, optionsOf(given)...)
	problems := compareError(want, err)
	if len(results) != len(proposals) {
		problems = append(problems, fmt.Sprintf("%d results for %d proposals", len(results), len(proposals)))
	}
	if len(want.Result.Returned) > 0 {
		for _, r := range results {
			if r.TraceID != want.Result.Returned[0].TraceID {
				problems = append(problems, fmt.Sprintf("the trace is %q", r.TraceID))
			}
		}
	}
	return problems
}

// compareError says how an error differs from the recorded one.
func compareError(want recording, err error) []string {
	switch e := want.Result.Error; {
	case want.Expect != "":
		if err == nil || !strings.Contains(err.Error(), want.Expect) {
			return []string{fmt.Sprintf("the error is %v, want %q in it", err, want.Expect)}
		}
	case want.Result.OK && err != nil:
		return []string{fmt.Sprintf("the error is %v, want none", err)}
	case want.Result.OK:
	case err == nil:
		return []string{fmt.Sprintf("no error, want %s", e.Text)}
	case strings.HasSuffix(e.Type, "TraceTimeoutError"):
		if _, ok := errors.AsType[*rest.WaitTimeoutError](err); !ok {
			return []string{fmt.Sprintf("the error is %v, want a WaitTimeoutError", err)}
		}
	default:
		return compareAnswerError(want, err)
	}
	return nil
}

// compareAnswerError compares what an error says of the last answer.
func compareAnswerError(want recording, err error) []string {
	problem, ok := errors.AsType[*rest.Error](err)
	if !ok {
		return []string{fmt.Sprintf("the error is %v, want an Error", err)}
	}
	var problems []string
	last := want.Requests[len(want.Requests)-1]
	if problem.Status != max(last.Response.Status, last.Status) || problem.Attempts != len(want.Requests) {
		problems = append(problems, fmt.Sprintf("status %d after %d tries, want %d after %d",
			problem.Status, problem.Attempts, max(last.Response.Status, last.Status), len(want.Requests)))
	}
	if strings.Contains(want.Result.Error.Text, "frontend service") && !errors.Is(err, rest.ErrNotGMS) {
		problems = append(problems, "the error does not say that this is not GMS: "+err.Error())
	}
	if message, ok := want.Result.Error.Info["message"].(string); ok {
		if strings.Contains(message, " for url: ") {
			message = "" // Python's words for the status, where DataHub said nothing
		}
		if problem.Message != message {
			problems = append(problems, fmt.Sprintf("the message is %q, want %q", problem.Message, message))
		}
	}
	if strings.Contains(want.Result.Error.Message, "too old") != strings.Contains(problem.Hint, "older") {
		problems = append(problems, fmt.Sprintf("the hint is %q", problem.Hint))
	}
	return problems
}

// compare says how the requests and sleeps differ.
func compare(want recording, sent []sentRequest, slept []float64) []string {
	var problems []string
	if diff := cmp.Diff(want.Sleeps, slept); diff != "" && len(want.Sleeps)+len(slept) > 0 {
		problems = append(problems, "sleeps (-want +got):\n"+diff)
	}
	if len(sent) != len(want.Requests) {
		problems = append(problems, fmt.Sprintf("%d requests, want %d", len(sent), len(want.Requests)))
	}
	for i, got := range sent[:min(len(sent), len(want.Requests))] {
		q := want.Requests[i]
		if got.method != q.Method || got.path != q.Path {
			problems = append(problems, fmt.Sprintf("request %d is %s %s, want %s %s", i, got.method, got.path, q.Method, q.Path))
		}
		problems = append(problems, compareHeaders(i, q, got.header)...)
		problems = append(problems, compareBody(i, q, got)...)
	}
	return problems
}

// compareHeaders compares what is not of HTTP or of the client's own name.
func compareHeaders(i int, q recordedRequest, got http.Header) []string {
	var problems []string
	for _, h := range q.Headers {
		switch http.CanonicalHeaderKey(h[0]) {
		case "Host", "Accept-Encoding", "Connection", "Content-Length", "X-Datahub-Py-Cli-Version":
			continue
		case "User-Agent":
			if mode, _, ok := strings.Cut(h[1], "; "); ok {
				if !strings.HasPrefix(got.Get(h[0]), mode+"; ") {
					problems = append(problems, fmt.Sprintf("request %d: user agent %q does not begin as %q", i, got.Get(h[0]), h[1]))
				}
				continue
			}
		}
		if got.Get(h[0]) != h[1] {
			problems = append(problems, fmt.Sprintf("request %d: header %s is %q, want %q", i, h[0], got.Get(h[0]), h[1]))
		}
	}
	return problems
}

// compareBody compares what the bodies mean.
func compareBody(i int, q recordedRequest, got sentRequest) []string {
	if q.Body == nil {
		if n := countItems(got.body); q.Items != 0 && n != q.Items {
			return []string{fmt.Sprintf("request %d holds %d items, want %d", i, n, q.Items)}
		}
		return nil
	}
	if diff := cmp.Diff(meaning(*q.Body), meaning(got.body)); diff != "" {
		return []string{fmt.Sprintf("request %d body (-want +got):\n%s", i, diff)}
	}
	return nil
}

// countItems returns how many proposals a batch holds.
func countItems(body string) int {
	var restli struct{ Proposals []json.RawMessage }
	if json.Unmarshal([]byte(body), &restli) == nil {
		return len(restli.Proposals)
	}
	var openAPI []json.RawMessage
	if json.Unmarshal([]byte(body), &openAPI) == nil {
		return len(openAPI)
	}
	return 0
}

// meaning is a body as a tree, with Rest.li's aspects parsed and with our name for Python's.
func meaning(body string) any {
	body = strings.ReplaceAll(body, "acryl-datahub", goldenClient)
	body = strings.ReplaceAll(body, `"1.7.0.17"`, `"`+goldenVersion+`"`)
	var tree any
	if json.Unmarshal([]byte(body), &tree) != nil {
		return body
	}
	return parseAspects(tree)
}

func parseAspects(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = parseAspects(v[i])
		}
	case map[string]any:
		for name, value := range v {
			var inner any
			if text, ok := value.(string); ok && name == "value" && json.Unmarshal([]byte(text), &inner) == nil {
				v[name] = inner
				continue
			}
			v[name] = parseAspects(value)
		}
	}
	return v
}
