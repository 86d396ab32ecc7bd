package kafka_test

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// silent takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func basicOf(a asked) (user, password string, ok bool) {
	return (&http.Request{Header: a.header}).BasicAuth()
}

// registrySettings are settings with some of the registry's.
func registrySettings(broker string, values map[string]any) map[string]any {
	all := connection(broker, "http://unused.invalid")
	all["connection"].(map[string]any)["schema_registry_config"] = values
	return all
}

func deliverOne(t *testing.T, e *kafka.Emitter) {
	t.Helper()
	for _, err := range e.EmitAll(t.Context(), []mcp.Proposal{proposal(0)}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoggingIn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("user:from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broker := newBroker(t)
	for name, c := range map[string]struct {
		settings map[string]any
		want     string
	}{
		"nothing":        {map[string]any{}, ""},
		"user":           {map[string]any{"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "me:pass:word"}, "Basic bWU6cGFzczp3b3Jk"},
		"user in a file": {map[string]any{"basic.auth.user.infoFile": file}, "Basic dXNlcjpmcm9tLWEtZmlsZQ=="},
		"token":          {map[string]any{"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "t0ken"}, "Bearer t0ken"},
		"token file":     {map[string]any{"bearer.auth.tokenFile": file}, "Bearer user:from-a-file"},
		"own header":     {map[string]any{"headers": map[string]any{"Authorization": "Bearer mine"}}, "Bearer mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := newRegistry(t)
			settings := map[string]any{"url": answers.URL + "/prefix/"}
			maps.Copy(settings, c.settings)
			deliverOne(t, newEmitter(t, registrySettings(addr(broker), settings)))
			got := answers.requests()[0]
			if got.header.Get("Authorization") != c.want {
				t.Errorf("%q, want %q", got.header.Get("Authorization"), c.want)
			}
			if want := "/prefix/subjects/MetadataChangeProposal_v1-value/versions?normalize=False"; got.target != want {
				t.Errorf("%s, want %s", got.target, want)
			}
		})
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer   string
		settings map[string]any
		want     []byte
		asked    int
	}{
		"zero is an id":  {`{"id": 0}`, nil, []byte{0, 0, 0, 0, 0}, 1},
		"all four bytes": {`{"id": 2147483647, "version": 3}`, nil, []byte{0, 0x7f, 0xff, 0xff, 0xff}, 1},
		"given":          {`{"id": 9}`, map[string]any{"schema_id": 16}, []byte{0, 0, 0, 0, 16}, 0},
		"given as zero":  {`{"id": 9}`, map[string]any{"schema_id": 0}, []byte{0, 0, 0, 0, 0}, 0},
		"looked up":      {`{"subject": "x", "id": 7, "version": 1}`, map[string]any{"auto.register.schemas": false}, []byte{0, 0, 0, 0, 7}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broker, answers := newBroker(t), newRegistry(t)
			answers.answer(200, c.answer)
			settings := map[string]any{"url": answers.URL}
			maps.Copy(settings, c.settings)
			deliverOne(t, newEmitter(t, registrySettings(addr(broker), settings)))
			if diff := cmp.Diff(c.want, written(t, addr(broker), 1)[0].Value[:5]); diff != "" {
				t.Error(diff)
			}
			requests := answers.requests()
			if len(requests) != c.asked {
				t.Errorf("asked %d times", len(requests))
			}
			if c.settings["auto.register.schemas"] == false && requests[0].target != "/subjects/MetadataChangeProposal_v1-value" {
				t.Errorf("asked %s", requests[0].target)
			}
		})
	}
}

func TestTheNextAddressIsAsked(t *testing.T) {
	t.Parallel()
	broken, answers := newRegistry(t), newRegistry(t)
	broken.answer(500, "")
	e := newEmitter(t, connection(addr(newBroker(t)), broken.URL+","+answers.URL))
	deliverOne(t, e)
	if len(broken.requests()) != 1 || len(answers.requests()) != 1 {
		t.Errorf("%d and %d questions", len(broken.requests()), len(answers.requests()))
	}
}

func TestWhichAnswersAreWorthAnotherQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status, code int
		want         bool
	}{
		{0, 0, true}, {200, 0, true}, {301, 0, false}, {400, 0, false}, {401, 0, false}, {403, 0, false}, {404, 0, true},
		{404, 404, true}, {404, 40401, false}, {404, 40403, false}, {405, 0, false}, {408, 0, true}, {409, 409, false},
		{422, 42201, false}, {425, 0, true}, {429, 0, true}, {500, 50001, true}, {502, 0, true}, {503, 0, true}, {504, 0, true},
	} {
		e := &kafka.RegistryError{StatusCode: c.status, Code: c.code}
		if got := e.Temporary(); got != c.want {
			t.Errorf("%d with code %d: %t", c.status, c.code, got)
		}
	}
}

func TestAnswersAreShownShortAndOnOneLine(t *testing.T) {
	t.Parallel()
	answers := newRegistry(t)
	message, _ := json.Marshal(map[string]any{"error_code": 409, "message": "not\ncompatible " + strings.Repeat("é", 10_000)})
	answers.answer(409, string(message))
	e := newEmitter(t, connection(addr(newBroker(t)), answers.URL))
	for _, err := range e.EmitAll(t.Context(), []mcp.Proposal{proposal(0)}) {
		if text := err.Error(); len(text) > 1000 || strings.Contains(text, "\n") || !strings.Contains(text, "409: not compatible é") {
			t.Errorf("%d bytes: %.100s", len(text), text)
		}
	}
}

func TestTestConnection(t *testing.T) {
	t.Parallel()
	broker, answers := newBroker(t), newRegistry(t)
	e := newEmitter(t, connection(addr(broker), answers.URL))
	if err := e.TestConnection(t.Context()); err != nil {
		t.Error(err)
	}
	answers.answer(403, `{"error_code": 40301, "message": "may not write"}`)
	if err := e.TestConnection(t.Context()); err == nil || !strings.Contains(err.Error(), "403: may not write") {
		t.Errorf("%v", err)
	}
	answers.answer(200, `{"id": 42}`)
	values := connection(addr(broker), answers.URL)
	values["topic_routes"] = map[string]any{"MetadataChangeProposal": "elsewhere"}
	if err := newEmitter(t, values).TestConnection(t.Context()); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("%v", err)
	}
	away := connection(nobody, answers.URL)
	away["connection"].(map[string]any)["client_timeout_seconds"] = 0.2
	if err := newEmitter(t, away).TestConnection(context.Background()); err == nil || !strings.Contains(err.Error(), "asking the broker") {
		t.Errorf("%v", err)
	}
}
