package datazone

import (
	"context"
	"fmt"
	"net/http"
)

// Probe asks DataZone about the domain (GetDomain). Credentials that may not ask are good credentials all the same: what
// they may do otherwise only an event shows.
func (t *Transport) Probe(ctx context.Context) (string, error) {
	answer, e := t.http.Ask(ctx, http.MethodGet, t.about)
	where := fmt.Sprintf("the domain %s in %s", t.config.Domain, t.config.Region)
	if e == nil {
		return where + " is there, and AWS takes the credentials", nil
	}
	if said, ok := parse(answer); ok && said.kind == "AccessDeniedException" {
		return "AWS takes the credentials, which may not ask about " + where +
			" (datazone:GetDomain): only an event can show whether they may post events", nil
	}
	return "", e
}
