package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/transport"
)

func TestAdvice(t *testing.T) {
	t.Parallel()
	asked := func(reason string, status int) error {
		return fmt.Errorf("asking: %w", &prefect.Error{Kind: prefect.ErrUnavailable, Reason: reason, Status: status})
	}
	sent := func(reason string, status int) error {
		return &transport.Error{Reason: reason, Status: status, Err: errors.New("x")}
	}
	for _, test := range []struct {
		name, target string
		err          error
		says         string // empty: nothing
	}{
		{"refused here", "http://127.0.0.1:4200/api", asked("connection", 0), "In a container, 127.0.0.1 is the container itself"},
		{"refused by name", "http://localhost:5000", sent("connection", 0), "In a container, localhost is the container itself"},
		{"refused elsewhere", "http://prefect:4200/api", asked("connection", 0), "Is it up, and are host and port right?"},
		{"no such name", "http://nowhere", sent("dns", 0), "Nobody here knows that name"},
		{"no answer", "http://h", sent("timeout", 0), "HTTPS_PROXY"},
		{"a certificate", "https://h", sent("tls", 0), "SSL_CERT_FILE"},
		{"plain http", "https://h/api", &prefect.Error{Kind: prefect.ErrUnavailable, Reason: "tls", Hint: "the server speaks plain http"}, "write http://"},
		{"a proxy", "https://h", sent("proxy", 407), "NO_PROXY"},
		{"a key", "https://h", sent("auth", 403), "not enough for writing lineage"},
		{"led on", "https://h", sent("redirect", 302), "leads on"},
		{"a page", "https://h", sent("not-an-api", 200), "A web page answers"},
		{"Prefect without its path", "http://h:4200", asked("status-404", 404), "ends in /api"},
		{"Prefect with its path", "http://h:4200/api", asked("status-404", 404), ""},
		{"a path that is none", "http://h/x", sent("status-404", 404), "docs/transports.md"},
		{"too many", "http://h/api", asked("status-429", 429), "LISTENER_MAX_REQUESTS_PER_SECOND"},
		{"its own trouble", "http://h/api", asked("status-503", 503), "on the other side"},
		{"something else", "", errors.New("x"), ""},
	} {
		got := advice(test.target, test.err)
		if got == "" && test.says != "" || !strings.Contains(got, test.says) || test.says == "" && got != "" {
			t.Errorf("%s: %q, want %q", test.name, got, test.says)
		}
	}
}

// Advice stands behind the problem, for people and for scripts.
func TestCheckAdvises(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.input.Environ = []string{"OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__URL=http://127.0.0.1:9"}
	r.api.err = &prefect.Error{Kind: prefect.ErrUnavailable, Reason: "connection", Err: errors.New("connection refused")}
	r.want(t, exitError, "check")
	if n := strings.Count(r.stdout.String(), "\n  to do: Is it up, "); n != 2 {
		t.Errorf("advice is given %d times:\n%s", n, r.stdout.String())
	}
	r.want(t, exitError, "check", "-o", "json")
	if n := strings.Count(r.stdout.String(), `"to_do": "Is it up, `); n != 2 {
		t.Errorf("advice is given %d times:\n%s", n, r.stdout.String())
	}
}
