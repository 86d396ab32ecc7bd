package datadog

import (
	"context"
	"net/http"
	"strings"

	"github.com/prefect-openlineage/listener/transport/httptransport"
)

// Probe asks the site whether it knows the API key, and the intake whether it is there. Nothing is sent. Where the key
// can't be asked about (only the intake may be reached, say), that is no error: an event shows it.
func (t *Transport) Probe(ctx context.Context) (string, error) {
	note, err := t.http.Probe(ctx)
	if err != nil || t.config.Validate == nil {
		return note, err
	}
	at := httptransport.Display(t.config.Validate)
	_, e := t.http.Ask(ctx, http.MethodGet, t.config.Validate, ownHeader)
	switch {
	case e == nil:
		return "the API key is valid, " + at + " says; " + note, nil
	case e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized:
		return "", e
	default:
		return "the API key could not be asked about (" + e.Error() + "); " + note, nil
	}
}

// ownHeader puts the key where Datadog's other services look for it.
func ownHeader(req *http.Request) {
	key := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	req.Header.Del("Authorization")
	req.Header.Set("DD-API-KEY", key)
}
