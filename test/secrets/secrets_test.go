package secrets_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// apiKey is the listener's own credential for Prefect, which also stands in texts that come from there.
var apiKey = "pnu_" + secret("prefect-key")

// TestSecretsGoNowhere runs the binary with secrets in every setting, on a Prefect with secrets in every text, and with
// a consumer whose answers repeat them. What the listener sends, logs, shows, prints and stores holds none.
func TestSecretsGoNowhere(t *testing.T) {
	t.Parallel()
	server := prefecttest.NewTCP(t, prefecttest.BearerAuth(apiKey))
	fill(server)
	sink := transporttest.NewSink(t)
	sink.Script(func(r transporttest.Request) transporttest.Reply {
		reply := transporttest.OK()
		switch {
		case r.N == 1:
			reply = transporttest.Status(503)
		case r.RunID == refusedRun.String() && r.Type == "START":
			reply = transporttest.Status(400)
		}
		reply.Body = "you sent " + r.Header.Get("Authorization") + " and " + r.Header.Get("X-Team-Key") + " to " + r.URL.String()
		return reply
	})
	listener := rig.NewListener(t, server.URL, settings(t, sink.URL())...)
	listener.Start()
	var outputs []output
	see := func(name, text string) { outputs = append(outputs, output{name, text}) }

	address := ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(listener.Log())
		}
	})
	rig.Eventually(t, 30*time.Second, "the listener's address stands in its log", func() bool {
		address = listener.Addr()
		return address != ""
	})
	metric := func(text string) bool { return strings.Contains(get(t, address, "/metrics"), text) }
	rig.Eventually(t, 60*time.Second, "there is a dead letter, a row in quarantine, and all else is delivered", func() bool {
		return metric(`outbox_dead_letters{transport="lineage"} 1`) && metric(`outbox_pending{transport="lineage"} 0`) &&
			metric(`source_errors_total{resource="flow_runs"} 1`) && taken(sink, refusedRun.String(), "COMPLETE")
	})
	for _, path := range []string{"/metrics", "/readyz?verbose", "/livez", "/"} {
		see(path, get(t, address, path))
	}
	for _, args := range [][]string{
		{"status"}, {"status", "-o", "json"}, {"destinations", "list", "-o", "json"}, {"deadletters", "list", "-o", "json"},
		{"deadletters", "show", "1"}, {"deadletters", "show", "1", "-o", "json"}, {"check"}, {"check", "-o", "json"},
		{"preview", "--since", "1h", "--explain"}, {"backfill", "--since", "1h", "--resend"},
	} {
		_, stdout, stderr := listener.Run(args...)
		see("listener "+strings.Join(args, " "), stdout+stderr)
	}
	if code := listener.Stop(); code != 0 {
		t.Errorf("the listener ended with %d", code)
	}
	see("the log", listener.Log())
	for _, r := range sink.Requests() {
		if len(r.Body) > 0 { // check asks without a body
			see("an event", string(r.Body))
		}
	}
	search(t, outputs)
	if values := searchStore(t, listener.State); values < 100 {
		t.Errorf("only %d values in the store", values)
	}
	searchFiles(t, filepath.Dir(listener.State))
}

// TestWrongSettingsShowNoSecret looks at what a start says that fails because of its settings.
func TestWrongSettingsShowNoSecret(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"a header with a line break": {"PREFECT_CLIENT_CUSTOM_HEADERS={\"X\": \"" + secret("broken-header") + "\\n\"}"},
		"headers that are no JSON":   {"PREFECT_CLIENT_CUSTOM_HEADERS={\"X\": \"" + secret("no-json") + "\""},
		"a key with a control":       {"PREFECT_API_KEY=" + secret("key") + "\x01"},
		"an auth string without a :": {"LISTENER_HTTP_AUTH=" + secret("no-colon")},
		"a heartbeat to nowhere":     {"LISTENER_HEARTBEAT_URL=" + secret("heartbeat-nowhere")},
		"an address with a password": {"PREFECT_API_URL=ftp://u:" + secret("address") + "@h/api"},
		"a transport of no kind":     {`OPENLINEAGE__TRANSPORT={"type": "pigeon", "auth": {"apiKey": "` + secret("pigeon") + `"}}`},
		"a broken transport":         {`OPENLINEAGE__TRANSPORT={"type": "http", "auth": {"apiKey": "` + secret("cut")},
		"a wrong kind of auth":       {`OPENLINEAGE__TRANSPORT={"type": "http", "url": "http://h", "auth": "` + secret("text") + `"}`},
		"a secret as a key":          {`OPENLINEAGE__TRANSPORT={"type": "http", "url": "http://h", "auth": {"type": "nothing", "` + secret("as-key") + `": 1}}`},
		"an oauth2 without its id":   {`OPENLINEAGE__TRANSPORT={"type": "http", "url": "http://h", "auth": {"type": "oauth2", "clientSecret": "` + secret("client") + `", "tokenEndpoint": "http://h/t?x=` + secret("query") + `"}}`},
		"a wrong token endpoint":     {`OPENLINEAGE__TRANSPORT={"type": "http", "url": "http://h", "auth": {"type": "jwt", "apiKey": "` + secret("jwt") + `", "tokenEndpoint": "u:` + secret("endpoint") + `@h/t"}}`},
		"a key in place of a path":   {`OPENLINEAGE__TRANSPORT={"type": "http", "url": "https://h", "sslContext": {"clientKeyPath": "-----BEGIN PRIVATE KEY-----\n` + secret("pem-path") + `"}}`},
		"a certificate that is none": {"OPENLINEAGE__TRANSPORT=" + pem(t)},
		"a filter that is broken":    {`OPENLINEAGE__FILTERS=[{"type": "regex", "regex": "postgresql://u:` + secret("filter") + `@h/(db"}]`},
		"a filter with a token":      {`OPENLINEAGE__FILTERS=[{"type": "regex", "regex": "(?<=x)token=` + secret("filter-token") + `"}]`},
		"a filter of no type":        {`OPENLINEAGE__FILTERS=[{"type": "https://u:` + secret("filter-type") + `@h"}]`},
		"a secret for a tag's map":   {`OPENLINEAGE__TAGS__RUN__TOKEN={"x": "` + secret("tag") + `"}`},
		"a repository for a switch":  {"OPENLINEAGE__FACETS__SOURCE_CODE_LOCATION__DISABLED=https://u:" + secret("switch") + "@h"},
		"a trimmer with a password":  {"OPENLINEAGE__DATASET={\"reducing_enabled\": true, \"extra_trimmers\": \"https://u:" + secret("trimmer") + "@h\"}"},
		"a wrong url":                {"OPENLINEAGE_URL=http://u:" + secret("url") + "@h:port"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener := rig.NewListener(t, "http://127.0.0.1:9/api", env...)
			for _, args := range [][]string{{"run"}, {"check"}} {
				code, stdout, stderr := listener.Run(args...)
				if code == 0 || stderr+stdout == "" {
					t.Errorf("listener %v: exit code %d, %q", args, code, stderr)
				}
				search(t, []output{{strings.Join(args, " "), stdout + stderr}})
			}
		})
	}
}

// pem is a transport whose client certificate is a file with something else in it.
func pem(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "client.pem")
	if err := os.WriteFile(path, []byte("-----BEGIN "+secret("pem")+" KEY-----\n"+secret("pem-body")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return `{"type": "http", "url": "https://h", "sslContext": {"clientCertPath": "` + path + `", "clientKeyPath": "` + path + `"}}`
}

type output struct{ name, text string }

func search(t *testing.T, outputs []output) {
	t.Helper()
	for _, o := range outputs {
		for _, f := range findings([]byte(o.text)) {
			t.Errorf("%s shows %s", o.name, f)
		}
		if o.text == "" {
			t.Errorf("%s is empty", o.name)
		}
	}
}

// settings has a secret in every setting that can hold one.
func settings(t *testing.T, url string) []string {
	t.Helper()
	transport, err := json.Marshal(map[string]any{
		"type": "http", "name": "lineage", "url": strings.Replace(url, "://", "://ann:"+secret("userinfo")+"@", 1),
		"endpoint": "api/v1/lineage?token=" + secret("endpoint"), "auth": map[string]any{"type": "api_key", "apiKey": secret("lineage-key")},
		"custom_headers": map[string]any{"X-Team-Key": secret("custom-header")},
	})
	if err != nil {
		t.Fatal(err)
	}
	headers, err := json.Marshal(map[string]string{"X-Prefect-Team": secret("prefect-header")})
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"PREFECT_API_KEY=" + apiKey, "PREFECT_CLIENT_CUSTOM_HEADERS=" + string(headers), "OPENLINEAGE__TRANSPORT=" + string(transport),
		"LISTENER_HTTP_AUTH=ops:" + secret("ops"), "LISTENER_PARAMETERS=true", "LISTENER_LOG_LEVEL=debug", "LISTENER_POLL_INTERVAL=200ms",
		"LISTENER_HEARTBEAT_URL=http://127.0.0.1:9/" + secret("heartbeat") + "?key=" + secret("heartbeat-query"),
		"DB_PASSWORD=" + secret("environment"), "OPENLINEAGE__FACETS__ENVIRONMENT_VARIABLES=[\"DB_PASSWORD\"]",
	}
}

func get(t *testing.T, address, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("ops", secret("ops"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return string(body)
}

// taken says whether the sink has an event.
func taken(sink *transporttest.Sink, run, kind string) bool {
	for _, r := range sink.Taken() {
		if r.RunID == run && r.Type == kind {
			return true
		}
	}
	return false
}
