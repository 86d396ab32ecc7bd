package main

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/transport"
)

// advice is what to do about a try that failed, in plain words; empty where the error says all that can be said.
func advice(target string, err error) string {
	reason, status, ofPrefect := told(err)
	switch reason {
	case transport.ReasonConnection:
		return "Is it up, and are host and port right? Does a firewall stand between?" + fromHere(target)
	case transport.ReasonDNS:
		return "Nobody here knows that name. Is it spelt right? Names within a container network or a cluster differ from those outside."
	case transport.ReasonTimeout:
		return "No answer came: a firewall, a proxy (HTTPS_PROXY, NO_PROXY), or a server that is busy or hangs." + fromHere(target)
	case transport.ReasonTLS:
		if strings.Contains(err.Error(), "first record") || strings.Contains(err.Error(), "plain http") {
			return "The address begins with https:// and the server speaks plain http: write http://, or mend the server."
		}
		return "The certificate is not trusted, has run out, or is for another name. Name the authority's PEM file in the settings, or in SSL_CERT_FILE."
	case transport.ReasonProxy:
		return "The proxy on the way out refuses or is down: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY."
	case transport.ReasonAuth:
		return "The credentials are missing, wrong, run out, or not enough for writing lineage."
	case transport.ReasonRedirect:
		return "The address leads on to another one: use that one, or give the credentials that a login page before it wants."
	case transport.ReasonNotAPI:
		return "A web page answers in place of an API: check host, port and path."
	}
	switch {
	case status == http.StatusNotFound && ofPrefect && !isAPI(target):
		return "The address of Prefect's API ends in /api, that of Prefect Cloud in /workspaces/ID."
	case status == http.StatusNotFound && !ofPrefect:
		return "The path is not that of a lineage API: compare it with docs/transports.md."
	case status == http.StatusTooManyRequests:
		return "It takes no more requests for now. Wait; if that comes again, lower LISTENER_MAX_REQUESTS_PER_SECOND."
	case status >= http.StatusInternalServerError:
		return "The trouble is on the other side; its own log says more. The listener waits and tries again."
	default:
		return ""
	}
}

// told is what an error says of the answer: a bounded word, the HTTP status (0: none), and whether it is Prefect's.
func told(err error) (reason string, status int, ofPrefect bool) {
	if answer, ok := errors.AsType[*prefect.Error](err); ok {
		return answer.Reason, answer.Status, true
	}
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		return answer.Reason, answer.Status, false
	}
	return "", 0, false
}

// isAPI says whether an address looks like that of Prefect's API.
func isAPI(target string) bool {
	return strings.HasSuffix(target, "/api") || strings.Contains(target, "/workspaces/")
}

// fromHere warns of an address that means another machine within a container.
func fromHere(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return " In a container, " + host + " is the container itself."
	}
	return ""
}
