package prefect

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// captured adds the lists that real servers gave, whole and cut short.
func captured(f *testing.F, kinds ...string) {
	f.Helper()
	for _, kind := range kinds {
		files, err := filepath.Glob(filepath.Join("testdata", "captured", "*", kind+".json"))
		if err != nil || len(files) == 0 {
			f.Fatalf("no captured %s: %v", kind, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
			f.Add(data[:len(data)/2])
		}
	}
}

// FuzzList gives any answer to a list call: each row of it is read, or kept as it came, and none is lost.
func FuzzList(f *testing.F) {
	captured(f, "flow_runs", "task_runs", "artifacts")
	for _, list := range []string{`[]`, `[null]`, `[1,"x",{}]`, `{}`, `[{"id":"x"}]`, `[{"id":`, `[[[`, ``} {
		f.Add([]byte(list))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			t.Skip("an answer that is no JSON comes no further")
		}
		var want []json.RawMessage
		valid := json.Unmarshal(data, &want) == nil && !bytes.Equal(bytes.TrimSpace(data), []byte("null"))
		checkList[FlowRun](t, data, valid, len(want))
		checkList[TaskRun](t, data, valid, len(want))
		checkList[Artifact](t, data, valid, len(want))
		checkList[Flow](t, data, valid, len(want))
		checkList[Deployment](t, data, valid, len(want))
	})
}

func checkList[T any](t *testing.T, data []byte, valid bool, want int) {
	t.Helper()
	var page Page[T]
	count, err := decodeRows(&answer{data: data, asked: request{resource: "rows"}}, &page)
	switch {
	case valid && (err != nil || count != want || len(page.Rows)+len(page.Bad) != want):
		t.Fatalf("of %d rows %d were read and %d kept, %v", want, len(page.Rows), len(page.Bad), err)
	case err == nil && len(page.Rows)+len(page.Bad) != count:
		t.Fatalf("of %d rows %d were read and %d kept", count, len(page.Rows), len(page.Bad))
	}
	for _, row := range page.Bad {
		if row.Reason == "" || len(row.Raw) == 0 {
			t.Fatalf("a row is kept without a reason or without itself: %+v", row)
		}
	}
}

// FuzzEvents gives any answer to a query for events.
func FuzzEvents(f *testing.F) {
	captured(f, "events")
	for _, list := range []string{`{"events":[],"next_page":null}`, `{"events":[null,{"id":1}],"next_page":"x"}`, `{"events":7}`, `[]`} {
		f.Add([]byte(list))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		page, err := decodeEvents(&answer{data: data})
		var said struct {
			Events []json.RawMessage `json:"events"`
		}
		if err != nil || json.Unmarshal(data, &said) != nil {
			return
		}
		if len(page.Events)+len(page.Bad) != len(said.Events) {
			t.Fatalf("of %d events %d were read and %d kept", len(said.Events), len(page.Events), len(page.Bad))
		}
	})
}

// FuzzRefusal gives any refusal: it is classed, said in one short line, and shows no credential.
func FuzzRefusal(f *testing.F) {
	for _, said := range []string{
		`{"detail":"Invalid limit: must be less than or equal to 50."}`, `{"detail":"Flow run not found"}`, `{"detail":"Missing CSRF token."}`,
		`{"exception_message":"Invalid request received.","exception_detail":[{"type":"extra_forbidden","loc":["body","task_runs","end_time"],"msg":"no"}]}`,
		`{"exception_message":"x","exception_detail":[{"type":"value_error.extra","loc":["body",1,null],"msg":"extra fields not permitted"}]}`,
		"<html><head><title>Sign in s3cr3t-key</title></head></html>", `{"detail":[{"a":1}]}`, "", "s3cr3t-key",
	} {
		for _, status := range []int{302, 400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 503} {
			f.Add(status, "text/html", said)
		}
	}
	base := &url.URL{Scheme: "http", Host: "prefect", Path: "/api"}
	x := &exchange{base: base, creds: newCredentials(Config{APIKey: "s3cr3t-key"}, http.Header{})}
	f.Fuzz(func(t *testing.T, status int, contentType, body string) {
		if status < 100 || status > 999 {
			return
		}
		request := &http.Request{Method: http.MethodPost, URL: base.JoinPath("task_runs", "filter")}
		response := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Request: request}
		fault := x.refusal(request, response, []byte(body))
		text := fault.Error()
		if fault.Kind == nil || fault.Reason == "" || strings.ContainsAny(text, "\n\r") || len(text) > 4096 {
			t.Fatalf("a refusal of kind %v, reason %q: %q", fault.Kind, fault.Reason, text)
		}
		if strings.Contains(text, "s3cr3t-key") {
			t.Fatalf("it shows a credential: %q", text)
		}
	})
}
