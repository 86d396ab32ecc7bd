package prefect_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// flowNames are the names of a page's rows.
func flowNames(page prefect.Page[prefect.Flow]) []string {
	names := []string{}
	for _, row := range page.Rows {
		names = append(names, row.Name)
	}
	return names
}

func addFlows(server *prefecttest.Server, count int) (names []string) {
	for i := range count {
		names = append(names, server.AddFlow(fmt.Sprintf("Flow %03d", i)).Name)
	}
	return names
}

// TestSmallerPages: whatever a server allows, the caller gets the page that was asked for.
func TestSmallerPages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit, offset, rows, serverLimit int
		lists                            int // requests, the one that learns the limit included
	}{
		{limit: 200, rows: 130, serverLimit: 200, lists: 1},
		{limit: 200, rows: 130, serverLimit: 50, lists: 4},            // refused, 50, 50, 30
		{limit: 200, rows: 100, serverLimit: 50, lists: 4},            // refused, 50, 50, 0
		{limit: 100, rows: 230, serverLimit: 50, lists: 3},            // refused, 50, 50: the page is full
		{limit: 70, offset: 40, rows: 230, serverLimit: 50, lists: 3}, // refused, 50, 20
		{limit: 50, rows: 230, serverLimit: 50, lists: 1},
		{limit: 10, rows: 0, serverLimit: 1, lists: 2},
	} {
		t.Run(fmt.Sprint(test.limit, test.offset, test.rows, test.serverLimit), func(t *testing.T) {
			t.Parallel()
			server := prefecttest.New(t, prefecttest.PageLimit(test.serverLimit))
			names := addFlows(server, test.rows)
			client := server.Client(t)
			page, err := client.Flows(t.Context(), prefect.Filter{Limit: test.limit, Offset: test.offset})
			want := append([]string{}, names[min(test.offset, len(names)):min(test.offset+test.limit, len(names))]...)
			check(t, err, flowNames(page), want)
			if got := server.Count("/flows/filter"); got != test.lists {
				t.Errorf("%d lists, want %d", got, test.lists)
			}
			if want := len(want) == test.limit; page.Full(test.limit) != want {
				t.Errorf("full: %v, want %v", page.Full(test.limit), want)
			}
			if want := min(test.serverLimit, prefect.MaxPage); test.limit > test.serverLimit && client.PageLimit() != want {
				t.Errorf("the page limit is taken for %d, want %d", client.PageLimit(), want)
			}
		})
	}
}

func TestLimitIsLearntOnce(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t, prefecttest.PageLimit(50))
	client := server.Client(t)
	if client.PageLimit() != prefect.MaxPage {
		t.Errorf("a new client takes the limit for %d", client.PageLimit())
	}
	for range 3 {
		if _, err := client.TaskRuns(t.Context(), prefect.Filter{Limit: 200}); err != nil {
			t.Fatal(err)
		}
	}
	if got := server.Count("/task_runs/filter"); got != 4 {
		t.Errorf("%d lists for three pages, want 4", got)
	}
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	for _, limit := range []int{0, -1} {
		if _, err := server.Client(t).Flows(t.Context(), prefect.Filter{Limit: limit}); err == nil {
			t.Errorf("a limit of %d passed", limit)
		}
	}
	if got := server.Count(""); got != 0 {
		t.Errorf("%d requests were sent", got)
	}
	// A server that allows no rows at all is an error and not an endless loop.
	none := prefecttest.New(t, prefecttest.PageLimit(0))
	if _, err := none.Client(t).Flows(t.Context(), prefect.Filter{Limit: 1}); !errors.Is(err, prefect.ErrRefused) {
		t.Errorf("no rows allowed: %v", err)
	}
}

// TestLargeRows: pages whose rows are large come in smaller answers, and one row that is too large costs no other.
func TestLargeRows(t *testing.T) {
	t.Parallel()
	const most = 20_000
	server := prefecttest.New(t)
	var want []string
	for i := range 40 {
		name := fmt.Sprintf("a%02d", i)
		size := 2_000
		if i == 17 {
			name, size = "huge", 2*most
		}
		artifact := server.AddArtifact(prefect.Artifact{Key: &name, Data: raws(`"` + strings.Repeat("x", size) + `"`)[0]})
		if i != 17 {
			want = append(want, artifact.ID.String())
		}
	}
	client := newClient(t, server, func(cfg *prefect.Config) { cfg.MaxAnswerBytes = most })
	page, err := client.Artifacts(t.Context(), prefect.Filter{Limit: 40})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, row := range page.Rows {
		got[row.ID.String()] = true
	}
	for _, id := range want {
		if !got[id] {
			t.Errorf("artifact %s is missing", id)
		}
	}
	huge := prefecttest.ID("artifact-18").String()
	if len(page.Bad) != 1 || page.Bad[0].ID != huge || page.Bad[0].Resource != "artifacts" || !strings.Contains(page.Bad[0].Reason, "larger than 20000 bytes") || len(page.Bad[0].Raw) > 2048 {
		t.Errorf("set apart: %d rows, want %s: %.300s", len(page.Bad), huge, fmt.Sprint(page.Bad))
	}
	if got := server.Count("/artifacts/filter"); got > 25 {
		t.Errorf("%d requests for 40 rows of which five fit into an answer", got)
	}
	if len(page.Rows) != 39 || !page.Full(40) {
		t.Errorf("%d rows, full: %v", len(page.Rows), page.Full(40))
	}
}

// TestTooLargeRequest: a smaller page would not help, so the caller gets the error.
func TestTooLargeRequest(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	server.FaultAlways(prefecttest.Any(), prefecttest.Status(http.StatusRequestEntityTooLarge))
	_, err := server.Client(t).Flows(t.Context(), prefect.Filter{Limit: 200})
	if !errors.Is(err, prefect.ErrTooLarge) || server.Count("") != 1 {
		t.Errorf("after %d requests: %v", server.Count(""), err)
	}
	_, err = newClient(t, server, func(cfg *prefect.Config) { cfg.MaxAnswerBytes = 10 }).FlowRun(t.Context(), uuid.New())
	if !errors.Is(err, prefect.ErrTooLarge) {
		t.Errorf("one row that is too large: %v", err)
	}
}

// TestOddRows: one odd row is set apart with its id and what it was; the rest is used.
func TestOddRows(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	addFlows(server, 2)
	odd := []string{
		`{"id":"11111111-1111-1111-1111-111111111111","name":7}`,
		`{"id":"nonsense","name":"a"}`,
		`{"name":"no id"}`,
		`{"id":"22222222-2222-2222-2222-222222222222"}`,
		`null`, `[]`, `"text"`, `{}`,
	}
	for _, row := range odd {
		server.AddRaw("flows", row)
	}
	page, err := server.Client(t).Flows(t.Context(), prefect.Filter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Rows) != 2 || len(page.Bad) != len(odd) || !page.Full(10) {
		t.Errorf("%d good and %d odd rows", len(page.Rows), len(page.Bad))
	}
	ids := map[string]bool{}
	for _, bad := range page.Bad {
		ids[bad.ID] = true
		if bad.Resource != "flows" || bad.Reason == "" || len(bad.Raw) == 0 {
			t.Errorf("an odd row without its story: %+v", bad)
		}
	}
	for _, id := range []string{"11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222", "nonsense", ""} {
		if !ids[id] {
			t.Errorf("no odd row has the id %q", id)
		}
	}
}

func TestOddRowByID(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	id := uuid.New()
	raw := `{"id":"` + id.String() + `","state":{"type":"RUNNING","timestamp":"soon"}}`
	server.AddRaw("flow_runs", raw)
	_, err := server.Client(t).FlowRun(t.Context(), id)
	odd, ok := errors.AsType[*prefect.RowError](err)
	if !ok {
		t.Fatalf("no *prefect.RowError but %v", err)
	}
	want := prefect.BadRow{Resource: "flow_runs", ID: id.String(), Reason: odd.Row.Reason, Raw: []byte(raw)}
	if diff := cmp.Diff(want, odd.Row); diff != "" || !strings.Contains(err.Error(), id.String()) {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestHugeAnswer: what is announced as too large is not read to its end.
func TestHugeAnswer(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	id := uuid.New()
	server.FaultAlways(prefecttest.Any(), func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000000000")
		_, _ = fmt.Fprintf(w, `[{"id":%q,"data":"%s`, id, strings.Repeat("x", 10_000))
		<-r.Context().Done()
	})
	page, err := server.Client(t).Artifacts(t.Context(), prefect.Filter{Limit: 1})
	if err != nil || len(page.Bad) != 1 || page.Bad[0].ID != id.String() || !strings.Contains(page.Bad[0].Reason, "larger than 64 MiB") {
		t.Errorf("%v, set apart: %.300s", err, fmt.Sprint(page.Bad))
	}
}
