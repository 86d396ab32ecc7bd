package secrets_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// issuer hands out tokens, and repeats in each answer whatever it was sent. The first two requests of each client are
// refused, once as wrong and once as a failure.
func issuer(t *testing.T) string {
	t.Helper()
	var asked [2]atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said := fmt.Sprintf("you sent %s with %s to %s", body, r.Header.Get("Authorization"), r.URL)
		kind := 0
		if strings.Contains(string(body), "jwt-bearer") {
			kind = 1
		}
		switch n := asked[kind].Add(1); n {
		case 1:
			http.Error(w, said, http.StatusUnauthorized)
		case 2:
			http.Error(w, said, http.StatusInternalServerError)
		default:
			token := secret(fmt.Sprintf("token-%d-%d", kind, n))
			_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token": token, "expires_in": 3600, "said": said})
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestTokensGoNowhere is TestSecretsGoNowhere for what is traded for tokens, and for those tokens: the issuer and the
// consumers repeat them in refusals, and the consumers make the listener fetch new ones.
func TestTokensGoNowhere(t *testing.T) {
	t.Parallel()
	server := prefecttest.NewTCP(t, prefecttest.BearerAuth(apiKey))
	fill(server)
	sinks := []*transporttest.Sink{transporttest.NewSink(t), transporttest.NewSink(t)}
	for _, sink := range sinks {
		sink.Script(func(r transporttest.Request) transporttest.Reply {
			reply := transporttest.OK()
			switch {
			case r.N == 1:
				reply = transporttest.Status(401)
			case r.RunID == refusedRun.String() && r.Type == "START":
				reply = transporttest.Status(422)
			}
			reply.Body = "you sent " + r.Header.Get("Authorization")
			return reply
		})
	}
	tokens := strings.Replace(issuer(t), "://", "://ann:"+secret("issuer")+"@", 1) + "/t?key=" + secret("issuer-query")
	spec, err := json.Marshal(map[string]any{"type": "composite", "transports": []any{
		map[string]any{"type": "http", "name": "oauth", "url": sinks[0].URL(), "auth": map[string]any{
			"type": "oauth2", "clientId": "listener", "clientSecret": secret("client"), "clientAuthMethod": "client_secret_post", "tokenEndpoint": tokens,
		}},
		map[string]any{"type": "async_http", "name": "jwt", "url": sinks[1].URL(), "auth": map[string]any{
			"type": "jwt", "apiKey": secret("jwt-key"), "tokenEndpoint": tokens,
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	listener := rig.NewListener(t, server.URL, "PREFECT_API_KEY="+apiKey, "OPENLINEAGE__TRANSPORT="+string(spec), "LISTENER_LOG_LEVEL=debug",
		"LISTENER_POLL_INTERVAL=200ms", `OPENLINEAGE__FILTERS=[{"type": "exact", "match": "postgresql://u:`+secret("filter")+`@h/db"}]`)
	listener.Start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(listener.Log())
		}
	})
	rig.Eventually(t, 90*time.Second, "both have all that they take", func() bool {
		return taken(sinks[0], refusedRun.String(), "COMPLETE") && taken(sinks[1], refusedRun.String(), "COMPLETE")
	})
	var outputs []output
	for _, args := range [][]string{
		{"status", "-o", "json"}, {"destinations", "list", "-o", "json"}, {"deadletters", "list", "-o", "json"},
		{"deadletters", "show", "1"}, {"deadletters", "show", "2", "-o", "json"}, {"check"}, {"check", "-o", "json"},
	} {
		_, stdout, stderr := listener.Run(args...)
		outputs = append(outputs, output{"listener " + strings.Join(args, " "), stdout + stderr})
	}
	if code := listener.Stop(); code != 0 {
		t.Errorf("the listener ended with %d", code)
	}
	outputs = append(outputs, output{"the log", listener.Log()})
	for _, sink := range sinks {
		for _, r := range sink.Taken() {
			outputs = append(outputs, output{"an event", string(r.Body)})
		}
	}
	search(t, outputs)
	searchStore(t, listener.State)
	searchFiles(t, filepath.Dir(listener.State))
}
