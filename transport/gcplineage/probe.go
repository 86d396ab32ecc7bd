package gcplineage

import (
	"context"
	"net/http"

	"github.com/prefect-openlineage/listener/transport"
)

// nobody is the id of a process that there is not.
const nobody = "prefect-openlineage-listener.check"

// Probe gets a token and asks for a process that there is not. Google's own "not found" says that the API is enabled, and
// that the credentials may look at processes, which roles/datalineage.producer may. Whether they may send events is only
// proved by an event.
func (t *Transport) Probe(ctx context.Context) (string, error) {
	to := t.config.at("/v1/" + t.config.parent() + "/processes/" + nobody)
	answer, e := t.http.Ask(ctx, http.MethodGet, to)
	if e == nil {
		return t.config.Target() + " answered " + transport.StatusLine(answer.Status), nil
	}
	if said, ok := parse(e.Answer); ok && said.Error.Status == "NOT_FOUND" {
		return t.config.Target() + " is reached, and the credentials may look at processes there", nil
	}
	return "", e
}
