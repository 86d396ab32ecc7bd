package ingest

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/state"
)

// Scrubbed is a ledger that no secret reaches. The adapter has masked what looks like one; this masks the listener's own
// credentials, which may stand in any text that Prefect has of a run, and rows that nobody could read.
type Scrubbed struct {
	Ledger
	// Secrets are the credentials in use. They may change.
	Secrets func() []string
}

// Commit writes the batch without secrets. The caller's batch stays as it is.
func (s Scrubbed) Commit(ctx context.Context, batch state.Batch) (state.Committed, error) {
	secrets := s.Secrets()
	batch.Events = slices.Clone(batch.Events)
	for i := range batch.Events {
		batch.Events[i].Body = openlineage.MaskSecretsJSON(batch.Events[i].Body, secrets)
	}
	batch.Told = slices.Clone(batch.Told)
	for i := range batch.Told {
		batch.Told[i].JobFacets = openlineage.MaskSecretsJSON(batch.Told[i].JobFacets, secrets)
	}
	batch.Edges = withoutSecrets(batch.Edges, secrets)
	batch.Quarantine = slices.Clone(batch.Quarantine)
	for i := range batch.Quarantine {
		row := &batch.Quarantine[i]
		row.Raw = openlineage.MaskSecretsJSON(openlineage.MaskRow(row.Raw), secrets)
		row.Reason = openlineage.MaskSecrets(openlineage.MaskText(row.Reason), secrets)
	}
	return s.Ledger.Commit(ctx, batch)
}

// withoutSecrets masks the names of datasets, and what was said of them.
func withoutSecrets(byRun map[uuid.UUID][]adapter.Edge, secrets []string) map[uuid.UUID][]adapter.Edge {
	masked := make(map[uuid.UUID][]adapter.Edge, len(byRun))
	for run, edges := range byRun {
		edges = slices.Clone(edges)
		for i := range edges {
			edges[i].Namespace = openlineage.MaskSecrets(edges[i].Namespace, secrets)
			edges[i].Name = openlineage.MaskSecrets(edges[i].Name, secrets)
			if edges[i].Facets != "" {
				edges[i].Facets = string(openlineage.MaskSecretsJSON([]byte(edges[i].Facets), secrets))
			}
		}
		masked[run] = edges
	}
	return masked
}
