package main

import (
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/state"
)

func TestDestinations(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.want(t, exitOK, "destinations", "list")
	equal(t, "no destinations yet: the listener notes them when it starts\n", r.stdout.String())
	r.want(t, exitOK, "destinations", "list", "-o", "json")
	equal(t, "[]\n", r.stdout.String())

	r.store.destinations = []state.DestinationStatus{
		{Destination: state.Destination{Name: "marquez", Kind: "http"}, Pending: 12, Dead: 1, OldestPending: today.Add(-3 * time.Minute), LastDelivered: today.Add(-time.Second)},
		{
			Destination: state.Destination{Name: "datadog", Kind: "http"}, Pending: 3, OldestPending: today.Add(-5 * time.Minute),
			Trouble: state.Trouble{Destination: "datadog", State: "held", Reason: "auth", Since: today.Add(-4 * time.Minute)},
		},
		{Destination: state.Destination{Name: "lake", Kind: "file", Parked: true}, ParkedSince: today.Add(-24 * time.Hour)},
		{Destination: state.Destination{Name: "old", Kind: "http", Parked: true}, Gone: true},
	}
	r.want(t, exitOK, "destinations", "list")
	golden(t, "testdata/destinations.txt", r.stdout.String())
	r.want(t, exitOK, "destinations")
	golden(t, "testdata/destinations.txt", r.stdout.String())
	r.want(t, exitOK, "destinations", "list", "-o", "json")
	golden(t, "testdata/destinations.json", r.stdout.String())

	r.want(t, exitOK, "destinations", "park", "marquez")
	equal(t, "parked marquez: its events wait until listener destinations resume marquez\n", r.stdout.String())
	r.want(t, exitOK, "destinations", "resume", "lake")
	equal(t, "resumed lake; events since it was parked are not in its outbox, this brings them:\n"+
		"listener backfill --since 2026-11-29T12:00:00Z --destination lake\n", r.stdout.String())
	r.want(t, exitOK, "destinations", "resume", "marquez")
	equal(t, "marquez was not parked\n", r.stdout.String())
	for _, verb := range []string{"park", "resume"} {
		r.want(t, exitError, "destinations", verb, "nowhere")
		equal(t, "listener: of that name: not in the store: listener destinations shows the names\n", r.stderr.String())
		r.want(t, exitUsage, "destinations", verb)
	}
	equal(t, r.store.opened, r.store.closed)
}
