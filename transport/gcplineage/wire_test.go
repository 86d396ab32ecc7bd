package gcplineage_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// The request is that of the REST form of ProcessOpenLineageRunEvent.
func TestRequest(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := to(t, sink, map[string]any{"location": "europe-west1", "quota_project": "payer"}, static("secret-token"))
	event := transporttest.Event(1, 1)
	for range 2 {
		if err := tr.Emit(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	event.Body = []byte(strings.Replace(string(event.Body), `"inputs":[]`, `"inputs":[{"name":"a","namespace":"bigquery"}]`, 1))
	if err := tr.Emit(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range sink.Requests() {
		id := r.URL.Query().Get("requestId")
		if _, err := uuid.Parse(id); err != nil || len(id) != 36 || len(r.URL.Query()) != 1 {
			t.Errorf("the query is %s", r.URL.RawQuery)
		}
		ids = append(ids, id)
		got := map[string]string{"path": r.Method + " " + r.URL.Path}
		for _, name := range []string{"Authorization", "Content-Type", "X-Goog-User-Project", "User-Agent", "Content-Encoding"} {
			got[name] = r.Header.Get(name)
		}
		want := map[string]string{
			"path":          "POST /v1/projects/demo/locations/europe-west1:processOpenLineageRunEvent",
			"Authorization": "Bearer secret-token", "Content-Type": "application/json", "X-Goog-User-Project": "payer",
			"User-Agent": "listener/1.2.3", "Content-Encoding": "",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if ids[0] != ids[1] || ids[0] == ids[2] {
		t.Errorf("a copy has to keep its id, and another message needs another: %v", ids)
	}
}

// Google's copy has a facet more, and nothing else is written otherwise.
func TestFacet(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := to(t, sink, nil, static("x"))
	event := transporttest.Event(1, 1)
	if err := tr.Emit(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	body := string(sink.Taken()[0].Body)
	const facet = `"gcp_lineage":{"_producer":"https://example.com/producer",` +
		`"_schemaURL":"https://openlineage.io/spec/facets/1-0-0/GcpLineageJobFacet.json#/$defs/GcpLineageJobFacet",` +
		`"displayName":"Prefect flow-1.load _é_ & 数据","origin":{"name":"prefect","sourceType":"CUSTOM"}}`
	if diff := cmp.Diff(strings.Replace(string(event.Body), `"job":{"facets":{}`, `"job":{"facets":{`+facet+`}`, 1), body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	event.Body = []byte(strings.Replace(string(event.Body), `"job":{"facets":{}`, `"job":{"facets":{"gcp_lineage":{"displayName":"mine"}}`, 1))
	if err := tr.Emit(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if got := string(sink.Taken()[1].Body); got != string(event.Body) {
		t.Errorf("a facet that is there already was replaced: %s", got)
	}
}

// What is no run event goes as it is, for Google to refuse: nothing panics, and nothing is lost by it.
func TestOddBodies(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `[]`, `{"job":null}`, `{"job":[]}`, `{"job":{"facets":{}},"inputs":{}}`, `{"job":{"facets":1}}`, `{"job":{"facets":null}}`, `{"job":{},"inputs":[null]}`, `nothing`} {
		sink := transporttest.NewSink(t)
		tr := to(t, sink, nil, static("x"))
		event := transporttest.Event(1, 1)
		event.Body = []byte(body)
		err := tr.Emit(t.Context(), event)
		switch taken := sink.Taken(); {
		case err != nil && len(taken) == 0:
			transporttest.RequireError(t, err)
		case len(taken) != 1 || (string(taken[0].Body) != body && !json.Valid(taken[0].Body)):
			t.Errorf("%s: %v", body, taken)
		}
		tr.Review(event)
	}
}

// An answer that a token is not good any more fetches another, once.
func TestRefusedToken(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Sequence(transporttest.Reply{Status: http.StatusUnauthorized, Body: said("UNAUTHENTICATED", "")}))
	fetched := 0
	tr := to(t, sink, nil, counting(&fetched))
	if err := tr.Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Fatal(err)
	}
	if fetched != 2 || sink.Taken()[0].Header.Get("Authorization") != "Bearer token-2" {
		t.Errorf("%d tokens, %v", fetched, sink.Taken()[0].Header)
	}
}
