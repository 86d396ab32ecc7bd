package config_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// Every variable that takes a value of a certain form, with values that pass and what they come to be shown as.
func TestLoadTakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, value, shown string }{
		{"PREFECT_API_URL", "http://prefect:4200/api/", "http://prefect:4200/api"},
		{"PREFECT_API_URL", "https://u:p@prefect/api", "https://***@prefect/api"},
		{"PREFECT_API_TLS_INSECURE_SKIP_VERIFY", "True", "true"},
		{"PREFECT_API_TLS_INSECURE_SKIP_VERIFY", "0", "false"},
		{"PREFECT_API_REQUEST_TIMEOUT", "60.0", "60"},
		{"PREFECT_API_REQUEST_TIMEOUT", "2.5", "2.5"},
		{"PREFECT_UI_URL", "https://ui.example/", "https://ui.example"},
		{"PREFECT_API_KEY", "pnu_1", config.Redacted},
		{"PREFECT_API_KEY", "pnu_1\r\n", config.Redacted},
		{"PREFECT_API_AUTH_STRING", "a:b", config.Redacted},
		{"PREFECT_CLIENT_CUSTOM_HEADERS", `{"X-A": "b"}`, config.Redacted},
		{"OPENLINEAGE_NAMESPACE", " prod ", "prod"},
		{"OPENLINEAGE_NAMESPACE", strings.Repeat("é", 1024), strings.Repeat("é", 1024)},
		{"OPENLINEAGE_DISABLED", " TRUE ", "true"},
		{"OPENLINEAGE_DISABLED", "1", "false"},
		{"LISTENER_STATE", "sqlite:///var/lib/x/listener.db", "sqlite:///var/lib/x/listener.db"},
		{"LISTENER_STATE", "sqlite:///var//lib/a%20b.db", "sqlite:///var/lib/a%20b.db"},
		{"LISTENER_POLL_INTERVAL", "500ms", "500ms"},
		{"LISTENER_POLL_INTERVAL", "1m", "1m"},
		{"LISTENER_LOOKBACK", "0s", "0s"},
		{"LISTENER_LOOKBACK", "48h", "48h"},
		{"LISTENER_GRACE", "1h30m", "1h30m"},
		{"LISTENER_RETENTION", "25h", "25h"},
		{"LISTENER_OUTBOX_MAX_BYTES", "64MiB", "64MiB"},
		{"LISTENER_OUTBOX_MAX_BYTES", "1.5 gib", "1536MiB"},
		{"LISTENER_OUTBOX_MAX_BYTES", "2000000", "2000000B"},
		{"LISTENER_OUTBOX_MAX_BYTES", "5MB", "5000000B"},
		{"LISTENER_MAX_REQUESTS_PER_SECOND", "0.5", "0.5"},
		{"LISTENER_HTTP_ADDR", ":8080", ":8080"},
		{"LISTENER_HTTP_ADDR", "127.0.0.1:0", "127.0.0.1:0"},
		{"LISTENER_HTTP_ADDR", "[::1]:9", "[::1]:9"},
		{"LISTENER_HTTP_ADDR", "Off", "off"},
		{"LISTENER_HTTP_AUTH", "ann:s:e", config.Redacted},
		{"LISTENER_HEARTBEAT_URL", "https://hc.example/hunter2?a=b", config.Redacted},
		{"LISTENER_LOG_LEVEL", "WARN", "warn"},
		{"LISTENER_LOG_FORMAT", "console", "console"},
		{"LISTENER_PRODUCER", "https://example.com/l", "https://example.com/l"},
		{"LISTENER_PRODUCER", "urn:ours", "urn:ours"},
		{"LISTENER_PARAMETERS", "true", "true"},
		{"TASK_NAME_TYPE", "base", "base"},
		{"FLOW_NAME_TYPE", "flow-run", "flow-run"},
		{"RUN_ID_TYPE", "openlineage-prefect", "openlineage-prefect"},
		{"DATASET_NAMING", "verbatim", "verbatim"},
		{"DATASETS_ON_FAILURE", "observed", "observed"},
		{"FLOW_DATASETS", "none", "none"},
	} {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			t.Parallel()
			cfg, _ := mustLoad(t, system{env: []string{test.name + "=" + test.value}})
			value, origin := setting(t, cfg, test.name)
			equal(t, []string{test.shown, "environment " + test.name}, []string{value, origin})
		})
	}
}

// Every variable that takes a value of a certain form, with values that do not pass and the line that says so.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	const (
		address  = "takes an address that begins with http:// or https://"
		unit     = "takes a duration with its unit, such as 30s or 30m"
		above    = "takes a duration above zero, such as 30s or 5m"
		anyTime  = "takes a duration such as 30s, 5m or 1h30m"
		sqlite   = "takes sqlite:///absolute/path"
		hostPort = "takes host:port, such as 127.0.0.1:4280 or :8080, or off"
		secs     = "takes seconds above zero as a bare number, such as 60 or 2.5"
		anySize  = "takes a size such as 64MiB or 1GiB"
		oneLine  = ": takes text without line breaks and control characters"
		rate     = "takes a number above zero, such as 5 or 0.5"
	)
	for _, test := range []struct{ name, value, want string }{
		{"PREFECT_API_URL", "prefect:4200", `"prefect:4200": ` + address},
		{"PREFECT_API_URL", "ftp://u:p@h/api", `"ftp://***@h/api": ` + address},
		{"PREFECT_API_URL", "http://u:p%zz@h/api", `"http://***@h/api": ` + address},
		{"PREFECT_API_URL", "http://h/api?token=x", `"http://h/api?***": takes an address without ? and #`},
		{"PREFECT_API_TLS_INSECURE_SKIP_VERIFY", "maybe", "maybe: takes true or false"},
		{"PREFECT_API_SSL_CERT_FILE", "/none.pem", "/none.pem: takes a PEM file of certificates: file does not exist"},
		{"PREFECT_API_REQUEST_TIMEOUT", "30s", "30s: " + secs},
		{"PREFECT_API_REQUEST_TIMEOUT", "0", "0: " + secs},
		{"PREFECT_API_REQUEST_TIMEOUT", "NaN", "NaN: " + secs},
		{"PREFECT_API_REQUEST_TIMEOUT", "1e300", "1e300: " + secs},
		{"PREFECT_UI_URL", "ui", "ui: " + address},
		{"PREFECT_API_AUTH_STRING", "nocolon", ": takes user:password"},
		{"PREFECT_CLIENT_CUSTOM_HEADERS", "X-A: b", `: takes a JSON object of text, such as {"X-Team": "data"}`},
		{"PREFECT_CLIENT_CUSTOM_HEADERS", `{"a b": "c"}`, ": takes names of headers as HTTP allows them"},
		{"PREFECT_CLIENT_CUSTOM_HEADERS", `{"a": "c\r\nd"}`, ": takes values of headers without line breaks"},
		{"OPENLINEAGE_NAMESPACE", "a\tb", `"a\tb": takes a name: the namespace holds a control character`},
		{"OPENLINEAGE_NAMESPACE", strings.Repeat("x", 1025), strings.Repeat("x", 200) + "…: takes a name: the namespace is longer than 1024 characters"},
		{"LISTENER_STATE", "postgres://u:p@h/db", `"postgres://***@h/db": ` + sqlite + ": the store is one SQLite file, never a database server"},
		{"LISTENER_STATE", "/var/lib/x.db", "/var/lib/x.db: " + sqlite + ", so here sqlite:///var/lib/x.db"},
		{"LISTENER_STATE", "sqlite://x.db", `"sqlite://x.db": ` + sqlite + ", with three slashes"},
		{"LISTENER_STATE", "sqlite:x.db", `"sqlite:x.db": ` + sqlite + ", with three slashes"},
		{"LISTENER_STATE", "sqlite:///var/", `"sqlite:///var/": ` + sqlite + ", with three slashes"},
		{"LISTENER_STATE", "sqlite:///x.db?mode=ro", `"sqlite:///x.db?***": ` + sqlite + " without ? and #"},
		{"LISTENER_POLL_INTERVAL", "30", "30: " + unit},
		{"LISTENER_POLL_INTERVAL", "0", "0: " + above},
		{"LISTENER_POLL_INTERVAL", "-5", "-5: " + above},
		{"LISTENER_LOOKBACK", "0", "0: takes a duration with its unit, such as 0s or 0m"},
		{"LISTENER_POLL_INTERVAL", "0s", "0s: " + above},
		{"LISTENER_POLL_INTERVAL", "-5s", "-5s: " + above},
		{"LISTENER_POLL_INTERVAL", "soon", "soon: " + anyTime},
		{"LISTENER_LOOKBACK", "-1h", "-1h: takes a duration of at least 0s"},
		{"LISTENER_LOOKBACK", "2 days", `"2 days": ` + anyTime},
		{"LISTENER_GRACE", "0m", "0m: " + above},
		{"LISTENER_RETENTION", "24h", "24h: takes a duration of at least 25h"},
		{"LISTENER_RETENTION", "0", "0: takes a duration of at least 25h"},
		{"LISTENER_RETENTION", "24", "24: takes a duration of at least 25h"},
		{"LISTENER_RETENTION", "720", "720: takes a duration with its unit, such as 720h"},
		{"LISTENER_OUTBOX_MAX_BYTES", "lots", "lots: " + anySize},
		{"LISTENER_OUTBOX_MAX_BYTES", "64 M", `"64 M": ` + anySize},
		{"LISTENER_OUTBOX_MAX_BYTES", "9999999TiB", "9999999TiB: " + anySize},
		{"LISTENER_OUTBOX_MAX_BYTES", "0", "0: takes a size of at least 1MiB"},
		{"LISTENER_MAX_REQUESTS_PER_SECOND", "0", "0: " + rate},
		{"LISTENER_MAX_REQUESTS_PER_SECOND", "Inf", "Inf: " + rate},
		{"LISTENER_HTTP_ADDR", "8080", "8080: " + hostPort},
		{"LISTENER_HTTP_ADDR", "localhost:99999", `"localhost:99999": ` + hostPort},
		{"LISTENER_HTTP_ADDR", "http://x:1", `"http://x:1": ` + hostPort},
		{"LISTENER_HTTP_AUTH", "hunter2", ": takes user:password"},
		{"LISTENER_HTTP_AUTH", "ann:hun\nter2", oneLine},
		{"LISTENER_HEARTBEAT_URL", "hc.example/hunter2", ": takes an address that begins with http:// or https://"},
		{"PREFECT_API_KEY", "hun\nter2", oneLine},
		{"PREFECT_API_KEY", "hun\x00ter2", oneLine},
		{"PREFECT_API_AUTH_STRING", "ann:hun\r\nter2", oneLine},
		{"OPENLINEAGE_API_KEY", "hun\x1bter2", oneLine},
		{"LISTENER_LOG_LEVEL", "loud", "loud: takes debug, info, warn or error"},
		{"LISTENER_LOG_FORMAT", "xml", "xml: takes json or console"},
		{"LISTENER_PRODUCER", "ours", "ours: takes a URI, such as https://example.com/lineage"},
		{"LISTENER_PARAMETERS", "some", "some: takes true or false"},
		{"LISTENER_POLICY", "x", ": takes rules as JSON, or a file that holds them: /srv/app/x: file does not exist"},
		{"TASK_NAME_TYPE", "long", "long: takes qualified, base or full"},
		{"JOB_NAME_TYPE", "long", "long: takes qualified, base or full"},
		{"FLOW_NAME_TYPE", "task", "task: takes flow, flow-run or path"},
		{"RUN_ID_TYPE", "random", "random: takes prefect or openlineage-prefect"},
		{"DATASET_NAMING", "mine", "mine: takes spec or verbatim"},
		{"DATASETS_ON_FAILURE", "never", "never: takes observed or last"},
		{"FLOW_DATASETS", "all", "all: takes none or rollup"},
	} {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			t.Parallel()
			want := test.name + "=" + test.want
			if strings.HasPrefix(test.want, ": ") { // secrets and refused settings are not repeated
				want = test.name + test.want
			}
			equal(t, []string{want}, problems(system{env: []string{test.name + "=" + test.value}}))
		})
	}
}

func TestLoadReportsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	equal(t, []string{
		"PREFECT_API_REQUEST_TIMEOUT=x: takes seconds above zero as a bare number, such as 60 or 2.5",
		`OPENLINEAGE__TRANSPORT=console: takes a JSON object with a type, such as {"type": "console"}`,
		"TASK_NAME_TYPE=y: takes qualified, base or full",
		"LISTENER_GRACE=10: takes a duration with its unit, such as 10s or 10m",
	}, problems(system{env: []string{
		"LISTENER_GRACE=10", "TASK_NAME_TYPE=y", "PREFECT_API_REQUEST_TIMEOUT=x", "OPENLINEAGE__TRANSPORT=console",
	}}))
}

func TestLoadDefaults(t *testing.T) {
	t.Parallel()
	cfg, warnings := mustLoad(t, system{})
	for _, s := range cfg.Settings {
		if s.Origin != "default" {
			t.Errorf("%s comes from %s, want default", s.Name, s.Origin)
		}
	}
	var shown strings.Builder
	for _, s := range cfg.Settings {
		fmt.Fprintf(&shown, "%s=%s\n", s.Name, s.Value)
	}
	golden(t, "testdata/defaults.txt", shown.String())
	equal(t, []string{"OPENLINEAGE_URL: is not set, nor is another transport: events go to standard output"}, lines(warnings))
	equal(t, map[string]any{"type": "console"}, cfg.OpenLineage.Transport)
}

func TestLoadEmptyIsUnset(t *testing.T) {
	t.Parallel()
	var env []string
	fields := reflect.TypeFor[config.Variables]()
	for field := range fields.Fields() {
		env = append(env, field.Tag.Get("envconfig")+"=  ")
	}
	blank, _ := mustLoad(t, system{env: env})
	unset, _ := mustLoad(t, system{})
	equal(t, unset.Settings, blank.Settings)
}

func TestLoadDefaultStore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		env  []string
		want string
	}{
		{"home", nil, "/home/ann/.local/state/prefect-openlineage-listener/listener.db"},
		{"state folder", []string{"XDG_STATE_HOME=/x"}, "/x/prefect-openlineage-listener/listener.db"},
		{"relative state folder", []string{"XDG_STATE_HOME=x"}, "/home/ann/.local/state/prefect-openlineage-listener/listener.db"},
		{"systemd", []string{"STATE_DIRECTORY=/var/lib/listener", "XDG_STATE_HOME=/x"}, "/var/lib/listener/listener.db"},
		{"systemd with several", []string{"STATE_DIRECTORY=/var/lib/a:/var/lib/b"}, "/var/lib/a/listener.db"},
		{"named", []string{"STATE_DIRECTORY=/s", "LISTENER_STATE=sqlite:///d/x.db"}, "/d/x.db"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg, _ := mustLoad(t, system{env: test.env})
			equal(t, test.want, cfg.StatePath)
		})
	}
	in := system{}.input()
	in.Home = ""
	_, _, err := config.Load(in)
	if want := "LISTENER_STATE: is not set and there is no home folder: takes sqlite:///absolute/path"; err == nil || err.Error() != want {
		t.Errorf("without a home: %v, want %s", err, want)
	}
}

// A relative folder would be another one wherever the listener is started from.
func TestLoadWarnsOfARelativeStateDirectory(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		env  []string
		want []string
	}{
		{[]string{"STATE_DIRECTORY=state"}, []string{"STATE_DIRECTORY: =state does not count: it takes an absolute path"}},
		{[]string{"STATE_DIRECTORY= /var/lib/listener "}, nil},
		{[]string{"STATE_DIRECTORY="}, nil},
		{[]string{"STATE_DIRECTORY=state", "LISTENER_STATE=sqlite:///d/x.db"}, nil},
	} {
		_, warnings := mustLoad(t, system{env: append(test.env, "OPENLINEAGE_URL=http://h")})
		equal(t, test.want, lines(warnings))
	}
}

// The old name counts only where the new one is unset: openlineage-prefect reads it first, so that there
// TASK_NAME_TYPE=full alone has no effect.
func TestLoadTaskName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		env      []string
		want     string
		warnings int
	}{
		{"neither", nil, "qualified", 0},
		{"new", []string{"TASK_NAME_TYPE=full"}, "full", 0},
		{"old", []string{"JOB_NAME_TYPE=base"}, "base", 1},
		{"both", []string{"JOB_NAME_TYPE=base", "TASK_NAME_TYPE=full"}, "full", 1},
		{"both the same", []string{"JOB_NAME_TYPE=base", "TASK_NAME_TYPE=base"}, "base", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg, warnings := mustLoad(t, system{env: append(test.env, "OPENLINEAGE_URL=http://h")})
			equal(t, test.want, cfg.Names.TaskName)
			equal(t, test.warnings, len(warnings))
		})
	}
}

func TestLoadWarnsOfUnknownVariables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, want string }{
		{"LISTENER_POLL_INTERVALL", "LISTENER_POLL_INTERVALL: is no setting of the listener and does not count; did you mean LISTENER_POLL_INTERVAL?"},
		{"LISTENER_STATES", "LISTENER_STATES: is no setting of the listener and does not count; did you mean LISTENER_STATE?"},
		{"LISTENER_XYZZY_FROBNICATION_LIMIT", "LISTENER_XYZZY_FROBNICATION_LIMIT: is no setting of the listener and does not count"},
		{"OPENLINEAGE_URI", "OPENLINEAGE_URI: is no setting of the listener and does not count; did you mean OPENLINEAGE_URL?"},
		{"OPENLINEAGE_TRANSPORT__TYPE", "OPENLINEAGE_TRANSPORT__TYPE: is no setting of the listener and does not count; did you mean OPENLINEAGE__TRANSPORT__TYPE?"},
		{"OPENLINEAGE_PARENT_ID", ""},
		{"PREFECT_LOGGING_LEVEL", ""},
		{"listener_state", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, warnings := mustLoad(t, system{env: []string{test.name + "=1", "OPENLINEAGE__TRANSPORT__TYPE=console"}})
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			equal(t, want, lines(warnings))
		})
	}
}

func TestLoadForCloud(t *testing.T) {
	t.Parallel()
	const api = "https://api.prefect.cloud/api/accounts/a1/workspaces/w1"
	cfg, _ := mustLoad(t, system{env: []string{"PREFECT_API_URL=" + api}})
	equal(t, []any{true, 10 * time.Second, 5.0, "https://app.prefect.cloud/account/a1/workspace/w1"},
		[]any{cfg.Prefect.Cloud, cfg.PollInterval, cfg.Prefect.MaxRequestsPerSecond, cfg.Prefect.UIURL})
	cfg, _ = mustLoad(t, system{env: []string{"PREFECT_API_URL=" + api, "LISTENER_POLL_INTERVAL=3s", "LISTENER_MAX_REQUESTS_PER_SECOND=9"}})
	equal(t, []any{3 * time.Second, 9.0}, []any{cfg.PollInterval, cfg.Prefect.MaxRequestsPerSecond})
}

func TestLoadLogFormat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		terminal bool
		env      []string
		want     string
	}{
		{false, nil, "json"},
		{true, nil, "console"},
		{true, []string{"LISTENER_LOG_FORMAT=json"}, "json"},
	} {
		cfg, _ := mustLoad(t, system{terminal: test.terminal, env: test.env})
		equal(t, test.want, cfg.Log.Format)
	}
}

// No word of a variable's tag may say that it has a default: envconfig would fill it in, and its origin be lost.
func TestVariablesHaveNoDefaultTags(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[config.Variables]()
	for field := range fields.Fields() {
		if _, has := field.Tag.Lookup("default"); has || field.Type.Kind() != reflect.String || field.Tag.Get("desc") == "" {
			t.Errorf("%s: want a string with an envconfig and a desc tag and no default tag", field.Name)
		}
	}
}

// envconfig reads every variable from the process into the field that the other tests fill by its tag.
func TestFromProcess(t *testing.T) { // not parallel: it sets the environment
	var env []string
	fields := reflect.TypeFor[config.Variables]()
	for field := range fields.Fields() {
		name := field.Tag.Get("envconfig")
		t.Setenv(name, "value of "+name)
		env = append(env, name+"=value of "+name)
	}
	in, err := config.FromProcess("1", nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, system{env: env}.input().Variables, in.Variables)
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, dir, in.Dir)
}

func TestUsageListsEveryVariable(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	if err := config.Usage(&list); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/usage.txt", list.String())
}
