package config_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.yaml.in/yaml/v4"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

const hunter2 = "hunter2"

// holders keep a secret where printers can and can't call its methods.
type holder struct {
	Open   config.Secret
	hidden config.Secret
	cred   config.Credential
	list   []config.Secret
	byName map[string]config.Secret
}

func TestSecretNeverPrints(t *testing.T) {
	t.Parallel()
	s := config.NewSecret(hunter2)
	h := holder{s, s, config.NewCredential(hunter2), []config.Secret{s}, map[string]config.Secret{"a": s}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		for _, value := range []any{s, &s, h, &h, []config.Secret{s}, map[string]config.Secret{"a": s}, fmt.Errorf("with %v", s)} {
			noSecret(t, verb, fmt.Sprintf(verb, value))
		}
	}
	encoded, err := json.Marshal(map[string]any{"a": s, "b": h, "c": &s})
	if err != nil {
		t.Fatal(err)
	}
	noSecret(t, "JSON", string(encoded))
	if !strings.Contains(string(encoded), `"Open":"***"`) {
		t.Errorf("JSON does not say that there is a secret: %s", encoded)
	}
	text, err := yaml.Marshal(map[string]any{"a": s, "b": holder{Open: s}})
	if err != nil {
		t.Fatal(err)
	}
	noSecret(t, "YAML", string(text))
	var log strings.Builder
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(&log), zap.DebugLevel)
	zap.New(core).Info("x", zap.Any("any", s), zap.Stringer("stringer", s), zap.Reflect("reflect", h), zap.Any("slice", h.list))
	noSecret(t, "zap", log.String())
}

func noSecret(t *testing.T, how, text string) {
	t.Helper()
	for _, shape := range []string{hunter2, "68756e74657232", "68756E74657232", "104 117 110"} {
		if strings.Contains(text, shape) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
	}
}

func TestSecretZero(t *testing.T) {
	t.Parallel()
	var none config.Secret
	equal(t, []any{"", "", true, true, false}, []any{
		none.String(), none.Reveal(), none.IsZero(), config.NewSecret("").IsZero(), config.NewCredential("").IsSet(),
	})
	equal(t, config.NewSecret("a"), config.NewSecret("a"))
	if config.NewSecret("a").Equal(config.NewSecret("b")) {
		t.Error("two secrets are the same")
	}
}

// Wherever a secret can be put, nothing that Load gives out shows it, whether the value is good or not.
func TestLoadNeverShowsSecrets(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"PREFECT_API_KEY=hunter2",
		"PREFECT_API_AUTH_STRING=hunter2",
		"PREFECT_API_AUTH_STRING=ann:hunter2",
		`PREFECT_CLIENT_CUSTOM_HEADERS={"X-Token": "hunter2"}`,
		"PREFECT_CLIENT_CUSTOM_HEADERS=hunter2",
		`PREFECT_CLIENT_CUSTOM_HEADERS={"hunter2`,
		"PREFECT_API_URL=http://ann:hunter2@h/api",
		"PREFECT_API_URL=http://ann:hunter2@h/a b",
		"PREFECT_API_URL=http://ann:hun/ter2@h:port/hunter2@/api",
		"PREFECT_API_URL=http://h/api?token=hunter2",
		"PREFECT_UI_URL=http://ann:hunter2@h",
		"LISTENER_HTTP_AUTH=hunter2",
		"LISTENER_HEARTBEAT_URL=https://hc.example/hunter2",
		"LISTENER_HEARTBEAT_URL=hunter2",
		"LISTENER_STATE=postgres://ann:hunter2@h/db",
		"OPENLINEAGE_API_KEY=hunter2",
		"OPENLINEAGE_URL=http://ann:hunter2@h",
		"OPENLINEAGE_URL=http://h?api_key=hunter2",
		"OPENLINEAGE__TRANSPORT__AUTH__API_KEY=hunter2",
		`OPENLINEAGE__TRANSPORT={"type":"http","auth":{"apiKey":"hunter2"}}`,
		`OPENLINEAGE__TRANSPORT={"type":"http","auth":{"apiKey":"hunter2"}`,
		"OPENLINEAGE__TRANSPORT__AUTH=Bearer hunter2",
		"OPENLINEAGE__TRANSPORT__BASIC_AUTH=ann:hunter2",
		`OPENLINEAGE__TRANSPORT__AUTH=["hunter2"]`,
		`OPENLINEAGE__TRANSPORT__AUTH={"type":"api_key","apiKey":"hunter2"`,
		`OPENLINEAGE__TRANSPORT__AUTH__API_KEY=["hunter2"]`,
		`OPENLINEAGE__TRANSPORT__AUTH__API_KEY={"a":"hunter2"}`,
		`OPENLINEAGE__TRANSPORT__AUTH__API_KEY={"hunter2":null}`,
		`OPENLINEAGE__TRANSPORT__AUTH={"type":"api_key","hunter2":null,"api_key":{"hunter2":{"hunter2":["a"]}}}`,
		`OPENLINEAGE__TRANSPORT={"type":"composite","transports":[{"type":"http","auth":{"hunter2":""}}]}`,
		`OPENLINEAGE__TRANSPORT__CONFIG={"sasl.password":"hunter2"`,
		`OPENLINEAGE__TRANSPORT__TRANSPORTS=[{"type":"http","auth":{"apiKey":"hunter2"}`,
		`OPENLINEAGE__TRANSPORT={"type":"kafka","config":{"sasl.password":"hunter2","sasl.jaas.config":"hunter2"}}`,
		`OPENLINEAGE__TRANSPORT={"type":"http","custom_headers":{"X-A":"hunter2"}}`,
		`OPENLINEAGE__TRANSPORT={"type":"composite","transports":{"a":{"type":"http","auth":{"clientSecret":"hunter2"}}}}`,
		`OPENLINEAGE__TRANSPORT={"type":"composite","transports":[{"type":"http","url":"http://a:hunter2@h"}]}`,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			cfg, warnings, err := system{env: []string{line, "OPENLINEAGE__TRANSPORT__TYPE=http"}}.load()
			noSecret(t, "problem", fmt.Sprint(err))
			noSecret(t, "warnings", fmt.Sprint(warnings))
			noSecret(t, "settings", fmt.Sprintf("%+v", cfg.Settings))
			for _, path := range []string{"url", "auth", "auth[0]", "auth.api_key[0]", "auth.api_key.a", "basic_auth", "config", "transports", "auth.apiKey", "auth.clientSecret", "config.sasl.password", "custom_headers.X-A", "transports.a.auth.clientSecret", "transports[0].url", "transports[0].auth.client_secret"} {
				noSecret(t, path, cfg.OpenLineage.Explain(refused(path)).Error())
			}
			prefect := cfg.Prefect
			noSecret(t, "prefect", fmt.Sprintf("%+v %#v %v", prefect, prefect, prefect.Headers))
		})
	}
}

// A secret that was not quoted may be an alias, a tag or nothing at all to the parser.
func TestConfigFileNeverShowsSecrets(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"*hunter2", "&hunter2 *hunter2", "!hunter2", "!!hunter2", "!hunter2!x", "!hunter2! x", "!<hunter2", "!%hunter2", "!!int hunter2", "!!float hunter2",
		"%hunter2", "@hunter2", "`hunter2", "|hunter2", ">hunter2", "'hunter2", "\"hunter2", "\"\\qhunter2\"",
		"hunter2: hunter2", "[hunter2", "{hunter2: hunter2", "'a' hunter2", "- hunter2", "? hunter2", "\thunter2", "hunter2\x01", "hunter2\xff",
	} {
		for _, key := range []string{"auth: ", "auth:\n    type: api_key\n    apiKey: "} {
			cfg, warnings, err := system{files: yml("transport:\n  type: http\n  " + key + value + "\n")}.load()
			noSecret(t, value+" problem", fmt.Sprint(err))
			noSecret(t, value+" warnings", fmt.Sprint(warnings))
			noSecret(t, value+" settings", fmt.Sprintf("%+v", cfg.Settings))
			noSecret(t, value, cfg.OpenLineage.Explain(refused("auth")).Error())
		}
	}
	equal(t, []string{"/srv/app/openlineage.yml:1: takes YAML: the anchor that an alias names is missing (a text that begins with * or & wants quotes)"},
		problems(system{files: yml("a: *b\n")}))
	equal(t, []string{"/srv/app/openlineage.yml:1: takes YAML: a tag is not one (a text that begins with ! wants quotes)"},
		problems(system{files: yml("a: !b!c d\n")}))
}
