package gcp_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// google is a Google on this machine: it gives tokens at /token and lets a script answer for the API; nil takes all.
func google(t *testing.T, script transporttest.Script) *transporttest.Sink {
	t.Helper()
	sink := transporttest.NewSink(t)
	sink.Script(func(r transporttest.Request) transporttest.Reply {
		switch {
		case r.URL.Path == "/token":
			return transporttest.Reply{
				Status: 200, Header: map[string]string{"Content-Type": "application/json"},
				Body: `{"access_token":"t0ken","token_type":"Bearer","expires_in":3600}`,
			}
		case script != nil:
			return script(r)
		default:
			return transporttest.Reply{
				Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"process":"p","run":"r","lineageEvents":[]}`,
			}
		}
	})
	return sink
}

// key makes one private key for all tests.
var key = sync.OnceValue(func() string {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
})

// keyFile writes a service account's key whose tokens come from an address.
func keyFile(t *testing.T, endpoint string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"type": "service_account", "project_id": "demo", "private_key_id": "1", "private_key": key(),
		"client_email": "listener@demo.iam.gserviceaccount.com", "client_id": "1", "token_uri": endpoint + "/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// eventsIn finds the events in a file of them, whether one after the other or in lists.
func eventsIn(t *testing.T, text []byte) []json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var value json.RawMessage
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, within(value)...)
	}
}

func within(value json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	var fields map[string]json.RawMessage
	var all []json.RawMessage
	switch {
	case json.Unmarshal(value, &list) == nil:
		for _, item := range list {
			all = append(all, within(item)...)
		}
	case json.Unmarshal(value, &fields) != nil:
	case fields["eventType"] != nil:
		all = append(all, value)
	default:
		for _, field := range fields {
			all = append(all, within(field)...)
		}
	}
	return all
}

// decoded reads a body as Google does, for which every number is a double.
func decoded(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var event map[string]any
	if err := json.Unmarshal(body, &event); err != nil {
		t.Fatalf("%v in %.200s", err, body)
	}
	return event
}

// withoutOwn takes the facet gcp_lineage, which every copy has to have, out of a body.
func withoutOwn(t *testing.T, body []byte) map[string]any {
	t.Helper()
	event := decoded(t, body)
	facets, _ := event["job"].(map[string]any)["facets"].(map[string]any)
	if facets["gcp_lineage"] == nil {
		t.Errorf("no gcp_lineage in %.200s", body)
	}
	delete(facets, "gcp_lineage")
	return event
}

func merged(config map[string]any, key string, value any) map[string]any {
	all := maps.Clone(config)
	all[key] = value
	return all
}
