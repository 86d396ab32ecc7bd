package ingest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/state"
)

// TestScrubbedLedger stores no credential, whatever part of a batch holds it.
func TestScrubbedLedger(t *testing.T) {
	t.Parallel()
	const secret = "Qz7xCanaryOfMine"
	text := []byte(`{"x":"` + secret + `"}`)
	run := uuid.New()
	kept := newLedger()
	scrubbed := ingest.Scrubbed{Ledger: kept, Secrets: func() []string { return []string{secret} }}
	_, err := scrubbed.Commit(t.Context(), state.Batch{
		Events:     []adapter.Event{{Run: run, Body: text}},
		Told:       []adapter.Told{{ID: run, JobFacets: text}},
		Edges:      map[uuid.UUID][]adapter.Edge{run: {{Namespace: "x" + secret, Name: secret, Facets: string(text)}}},
		Quarantine: []state.BadRow{{Raw: text, Reason: "odd: " + secret}},
	})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(struct {
		state.Batch
		Events, Told, Raw string
	}{kept.last(), string(kept.last().Events[0].Body), string(kept.last().Told[0].JobFacets), string(kept.last().Quarantine[0].Raw)})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(stored), secret) {
		t.Errorf("the credential is stored: %s", stored)
	}
}
