// Package ingest moves what changed in Prefect into the store: it takes the portions that the poller or a history read
// yields, finds what must be known beside them (ancestors, upstreams, artifacts), lets the adapter make the events,
// and commits ledger, cursor and outbox in one transaction.
package ingest
