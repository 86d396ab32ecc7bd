package prefect_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

const tokenPath = "/csrf-token"

// TestCSRF follows a token through its life: fetched when it is wanted, kept, replaced when it has expired or the
// server has forgotten it.
func TestCSRF(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// The server's clock is an hour ahead: only the token's lifetime may count.
		server := prefecttest.New(t, prefecttest.CSRF(time.Minute), prefecttest.BasicAuth("admin:pass"),
			prefecttest.Clock(func() time.Time { return time.Now().Add(time.Hour) }))
		client := newClient(t, server, func(cfg *prefect.Config) { cfg.AuthString = "admin:pass" })
		list := func(tokens, lists int, when string) {
			t.Helper()
			server.ForgetRequests()
			if _, err := client.Flows(t.Context(), one); err != nil {
				t.Errorf("%s: %v", when, err)
			}
			if got := server.Count(tokenPath); got != tokens {
				t.Errorf("%s: %d tokens were fetched, want %d", when, got, tokens)
			}
			if got := server.Count("/flows/filter"); got != lists {
				t.Errorf("%s: %d lists, want %d", when, got, lists)
			}
		}
		list(1, 2, "first")
		list(0, 1, "with a token")
		time.Sleep(59 * time.Second)
		list(0, 1, "shortly before it expires")
		time.Sleep(2 * time.Second)
		list(1, 1, "after it expired")
		server.ForgetTokens()
		list(1, 2, "after the server forgot it")
		if _, err := client.Version(t.Context()); err != nil || server.Count(tokenPath) != 1 {
			t.Errorf("a GET needs none: %v", err)
		}
	})
}

func TestCSRFTogether(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t, prefecttest.CSRF(time.Minute))
	client := server.Client(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := client.Flows(t.Context(), one); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := server.Count(tokenPath); got != 1 {
		t.Errorf("%d tokens were fetched for requests that were refused together, want 1", got)
	}
}

// TestCSRFRefusals: what stands in the way of a token is what the caller learns.
func TestCSRFRefusals(t *testing.T) {
	t.Parallel()
	wants := prefecttest.Answer(403, "application/json", `{"detail":"Missing CSRF token."}`)
	for _, test := range []struct {
		name  string
		token prefecttest.Fault
		kind  error
		says  string
	}{
		{"protection off", prefecttest.Pass(), prefect.ErrUnauthorized, "Missing CSRF token"},
		{"no such page", prefecttest.Answer(404, "application/json", `{"detail":"Not Found"}`), prefect.ErrUnauthorized, "Missing CSRF token"},
		{"server in trouble", prefecttest.Status(500), prefect.ErrUnavailable, "asking for a CSRF token: GET /csrf-token: "},
		{"wrong credentials", prefecttest.Status(401), prefect.ErrUnauthorized, "asking for a CSRF token: "},
		{"another form", prefecttest.Answer(200, "application/json", `[]`), prefect.ErrNotPrefect, "asking for a CSRF token: "},
		{"a token that does not help", prefecttest.Answer(200, "application/json", `{"token":"t","expiration":"2099-01-01T00:00:00Z"}`), prefect.ErrUnauthorized, "Missing CSRF token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := prefecttest.New(t)
				server.FaultAlways(prefecttest.Path("/flows/"), wants)
				server.FaultAlways(prefecttest.Path(tokenPath), test.token)
				_, err := server.Client(t).Flows(t.Context(), one)
				if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%v, want %v that says %s", err, test.kind, test.says)
				}
			})
		})
	}
}

func TestCSRFCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t, prefecttest.CSRF(time.Minute))
		server.FaultAlways(prefecttest.Path(tokenPath), prefecttest.Hang())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := server.Client(t).Flows(ctx, one); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}
