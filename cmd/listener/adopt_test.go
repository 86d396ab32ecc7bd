package main

import (
	"errors"
	"testing"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
)

func TestAdopt(t *testing.T) {
	t.Parallel()
	const store = "/home/ann/.local/state/prefect-openlineage-listener/listener.db"
	r := newRig()
	r.adoption = app.Adoption{Before: "http://old/api", Now: "http://new/api"}
	r.want(t, exitOK, "adopt")
	equal(t, "the store "+store+" belongs to http://new/api from now on (it was filled from http://old/api)\n", r.stdout.String())
	equal(t, store, r.options.Config.StatePath)
	r.want(t, exitOK, "adopt", "-o", "json")
	equal(t, "{\n  \"before\": \"http://old/api\",\n  \"now\": \"http://new/api\"\n}\n", r.stdout.String())
	r.adoption = app.Adoption{Before: "http://new/api", Now: "http://new/api"}
	r.want(t, exitOK, "adopt")
	equal(t, "the store "+store+" belongs to http://new/api from now on\n", r.stdout.String())
	r.err = &app.StartError{Err: errors.New("no store there")}
	r.want(t, exitStart, "adopt")
	equal(t, "listener: no store there\n", r.stderr.String())
}
