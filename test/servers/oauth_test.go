package servers_test

import (
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// The credentials in oauth.py.
const (
	oauthClient = "lístener:1"
	oauthSecret = "p@ss word%"
)

// tokenLife is how long its tokens live.
const tokenLife = 4 * time.Second

// guarded is a consumer behind an nginx that has each request's token checked by the OAuth 2 server.
type guarded struct {
	sink        *transporttest.Sink
	oauth, port int
}

func newGuarded(t *testing.T) guarded {
	t.Helper()
	python := rig.Python(t)
	command(t, "nginx")
	g := guarded{sink: transporttest.NewSink(t), oauth: rig.FreePort(t)}
	serve(t, g.oauth, python, "oauth.py", strconv.Itoa(g.oauth), strconv.Itoa(int(tokenLife/time.Second)))
	g.port = nginx(t, fmt.Sprintf(`
    listen 127.0.0.1:$PORT;
    location / { auth_request /check; proxy_pass %s; }
    location = /check {
      internal;
      proxy_pass http://%s/check;
      proxy_method GET;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
    }
`, g.sink.URL(), address(g.oauth)))
	return g
}

func (g guarded) config(change map[string]any) map[string]any {
	auth := map[string]any{
		"type": "oauth2", "clientId": oauthClient, "clientSecret": oauthSecret, "scope": "lineage.write",
		"tokenEndpoint": "http://" + address(g.oauth) + "/token",
	}
	maps.Copy(auth, change)
	return map[string]any{"type": "http", "url": "http://" + address(g.port), "auth": auth}
}

func (g guarded) issued(t *testing.T) string {
	t.Helper()
	return get(t, "GET", "http://"+address(g.oauth)+"/issued")
}

// Tokens are replaced before they end, so that no event meets a 401, and are not fetched for each event.
func TestTokensThatEnd(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"client_secret_basic", "client_secret_post"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t)
			via := to(t, g.config(map[string]any{"clientAuthMethod": method}))
			sent := 0
			for end := time.Now().Add(3 * tokenLife); time.Now().Before(end); sent++ {
				if err := via.Emit(t.Context(), transporttest.Event(sent, 0)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tokenLife / 40)
			}
			issued, err := strconv.Atoi(g.issued(t))
			if err != nil || issued < 3 || issued > 8 {
				t.Errorf("%d tokens for %d events in three lives", issued, sent)
			}
			if got := len(g.sink.Taken()); got != sent {
				t.Errorf("%d of %d events have arrived", got, sent)
			}
		})
	}
}

// A token that is refused in the middle of its life is replaced, and the event goes out at once.
func TestATokenThatIsRevoked(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	via := to(t, g.config(nil))
	if err := via.Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Fatal(err)
	}
	get(t, "POST", "http://"+address(g.oauth)+"/revoke")
	if err := via.Emit(t.Context(), transporttest.Event(1, 1)); err != nil {
		t.Fatal(err)
	}
	if issued := g.issued(t); issued != "2" || len(g.sink.Taken()) != 2 {
		t.Errorf("%s tokens, %d events", issued, len(g.sink.Taken()))
	}
}

func TestWrongClientCredentials(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	for name, change := range map[string]map[string]any{
		"secret": {"clientSecret": "wrong"}, "id": {"clientId": "wrong"}, "scope": {"scope": "everything"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held(t, to(t, g.config(change)).Emit(t.Context(), transporttest.Event(1, 0)), transport.ReasonAuth)
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		held(t, to(t, map[string]any{"type": "http", "url": "http://" + address(g.port)}).Emit(t.Context(), transporttest.Event(1, 0)), transport.ReasonAuth)
	})
}
