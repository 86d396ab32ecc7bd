package prefect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// secretive is a config whose every secret holds the word s3cret.
func secretive(cfg prefect.Config) prefect.Config {
	cfg.URL = strings.Replace(cfg.URL, "//", "//user:s3cret-url@", 1)
	cfg.APIKey = "pnu_s3cret"
	cfg.AuthString = "admin:s3cret/word"
	cfg.Headers = map[string]string{"X-Proxy-Token": "s3cret-token"}
	return cfg
}

// TestConfigPrintsNoSecret holds for every way in which a value gets printed by mistake.
func TestConfigPrintsNoSecret(t *testing.T) {
	t.Parallel()
	cfg := secretive(prefect.Config{URL: "http://h:4200/api", CAFile: "ca.pem"})
	nested := struct{ Prefect prefect.Config }{cfg}
	core, logs := observer.New(zap.DebugLevel)
	zap.New(core).Info("settings", zap.Any("prefect", cfg))
	encoded, err := json.Marshal(nested)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := zapcore.NewJSONEncoder(zapcore.EncoderConfig{}).EncodeEntry(logs.All()[0].Entry, logs.All()[0].Context)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(cfg), fmt.Sprintf("%v %+v %#v %s %q %d", cfg, cfg, cfg, cfg, cfg, cfg), fmt.Sprintf("%+v %#v", nested, &nested),
		string(encoded), entry.String(),
	} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("a secret is in %s", text)
		}
		if !strings.Contains(text, "***") || !strings.Contains(text, "h:4200/api") || !strings.Contains(text, "ca.pem") {
			t.Errorf("what is no secret is not in %s", text)
		}
	}
	cfg.CAFile = ""
	client, err := prefect.NewClient(cfg, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %s %#v", client, client, client, nested); strings.Contains(text, "s3cret") {
		t.Errorf("a secret is in %s", text)
	}
}

// TestErrorsHoldNoSecret: not even when the server's answer repeats what it was sent.
func TestErrorsHoldNoSecret(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	cfg := secretive(server.Config())
	core, logs := observer.New(zap.DebugLevel)
	client, err := prefect.NewClient(cfg, zap.New(core), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	const encoded = "YWRtaW46czNjcmV0L3dvcmQ=" // the auth string as it is sent
	echo := "you sent s3cret-token, pnu_s3cret, s3cret/word, admin:s3cret/word, Basic " + encoded + " and postgres://u:s3cret@h/db" +
		strings.Repeat(" padding", 35) + " and at the cut pnu_s3cret"
	for _, fault := range []prefecttest.Fault{
		prefecttest.Answer(400, "text/plain", echo), prefecttest.Answer(401, "application/json", `{"detail":"`+echo+`"}`),
		prefecttest.Answer(200, "text/html", "<title>"+echo+"</title>"), prefecttest.Answer(404, "text/plain", echo),
		prefecttest.Answer(422, "application/json", `{"exception_message":"`+echo+`"}`), prefecttest.Reset(),
		prefecttest.Redirect(302, "https://u:s3cret@sso.example/x?token=s3cret"), prefecttest.Status(503),
	} {
		server.ClearFaults()
		server.FaultAlways(prefecttest.Any(), fault)
		_, err := client.Flows(t.Context(), one)
		for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprint(errors.Unwrap(err))} {
			if strings.Contains(text, "s3cret") || strings.Contains(text, encoded) {
				t.Errorf("a secret is in %s", text)
			}
		}
	}
	if text := fmt.Sprint(logs.All()); strings.Contains(text, "s3cret") {
		t.Errorf("a secret is in the log: %s", text)
	}
}

func TestDetailIsBounded(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	server.FaultAlways(prefecttest.Any(), prefecttest.Answer(400, "text/plain", strings.Repeat("é\n\x1b[31m", 10_000)))
	_, err := server.Client(t).Flows(t.Context(), one)
	if text := err.Error(); len(text) > 600 || strings.ContainsAny(text, "\n\x1b") {
		t.Errorf("%d bytes: %q", len(text), text)
	}
}
