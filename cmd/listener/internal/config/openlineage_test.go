package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/transport"
)

// refused is a transport's refusal of what stands at a path below transport.
func refused(path string) error {
	return fmt.Errorf("building: %w", errors.Join(&transport.ConfigError{Path: "transport." + path, Problem: "is refused", Hint: "change it"}))
}

func yml(content string) map[string]string {
	return map[string]string{workDir + "/openlineage.yml": content}
}

// A transport's refusal is told in the terms of what the user wrote.
func TestExplain(t *testing.T) {
	t.Parallel()
	const kafka = "transport:\n  type: kafka\n  topic: t\n  config:\n    bootstrap.servers: h:1\n    sasl.password: hunter2\n"
	const composite = "transport:\n  type: composite\n  transports:\n    b:\n      type: http\n    a:\n      type: http\n      url: http://h\n"
	for _, test := range []struct {
		name, path string
		s          system
		want       string
	}{
		{"variable", "url", system{env: []string{"OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__URL=ftp://u:p@h"}}, `OPENLINEAGE__TRANSPORT__URL="ftp://***@h"`},
		{"missing beside variables", "url", system{env: []string{"OPENLINEAGE__TRANSPORT__TYPE=http"}}, "OPENLINEAGE__TRANSPORT__URL"},
		{"missing below variables", "auth.apiKey", system{env: []string{"OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__AUTH__TYPE=jwt"}}, "OPENLINEAGE__TRANSPORT__AUTH__APIKEY"},
		{"another spelling", "auth.tokenEndpoint", system{env: []string{"OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__AUTH__TOKEN_ENDPOINT=x"}}, "OPENLINEAGE__TRANSPORT__AUTH__TOKEN_ENDPOINT=x"},
		{"inside JSON", "retry.total", system{env: []string{`OPENLINEAGE__TRANSPORT={"type":"http","retry":{"total":"many"}}`}}, "OPENLINEAGE__TRANSPORT: retry.total=many"},
		{"missing inside JSON", "url", system{env: []string{`OPENLINEAGE__TRANSPORT={"type":"http"}`}}, "OPENLINEAGE__TRANSPORT: url"},
		{"missing inside a list in JSON", "transports[1].url", system{env: []string{`OPENLINEAGE__TRANSPORT={"type":"composite","transports":[{"type":"console"},{"type":"http"}]}`}}, "OPENLINEAGE__TRANSPORT: transports[1].url"},
		{"legacy", "url", system{env: []string{"OPENLINEAGE_URL=nowhere"}}, "OPENLINEAGE_URL=nowhere"},
		{"legacy endpoint", "endpoint", system{env: []string{"OPENLINEAGE_URL=http://h", "OPENLINEAGE_ENDPOINT=::"}}, `OPENLINEAGE_ENDPOINT="::"`},
		{"legacy key", "auth.api_key", system{env: []string{"OPENLINEAGE_URL=http://h", "OPENLINEAGE_API_KEY=hunter2"}}, "OPENLINEAGE_API_KEY"},
		{"legacy child", "transports.default_http.url", system{env: []string{"OPENLINEAGE_URL=nowhere", "OPENLINEAGE__TRANSPORT__TYPE=composite"}}, "OPENLINEAGE_URL=nowhere"},
		{"file", "type", system{files: yml("# ours\ntransport:\n  type: htp\n")}, "/srv/app/openlineage.yml:3: transport.type=htp"},
		{"missing in a file", "url", system{files: yml("# ours\ntransport:\n  type: http\n")}, "/srv/app/openlineage.yml:2: transport.url"},
		{"file over variable", "url", system{files: yml("transport:\n  url: yours\n"), env: []string{"OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__URL=mine"}}, "/srv/app/openlineage.yml:2: transport.url=yours"},
		{"variable beside a file", "timeout", system{files: yml("transport:\n  type: http\n"), env: []string{"OPENLINEAGE__TRANSPORT__TIMEOUT=x"}}, "OPENLINEAGE__TRANSPORT__TIMEOUT=x"},
		{"a key with dots", "config.bootstrap.servers", system{files: yml(kafka)}, `/srv/app/openlineage.yml:5: transport.config.bootstrap.servers="h:1"`},
		{"a secret key with dots", "config.sasl.password", system{files: yml(kafka)}, "/srv/app/openlineage.yml:6: transport.config.sasl.password"},
		{"a map", "config", system{files: yml(kafka)}, "/srv/app/openlineage.yml:4: transport.config"},
		{"a child by name", "transports.a.url", system{files: yml(composite)}, `/srv/app/openlineage.yml:8: transport.transports.a.url="http://h"`},
		{"a child by place", "transports[1].url", system{files: yml(composite)}, `/srv/app/openlineage.yml:8: transport.transports.a.url="http://h"`},
		{"missing in a child", "transports.b.url", system{files: yml(composite)}, "/srv/app/openlineage.yml:4: transport.transports.b.url"},
		{"no such child", "transports.c.url", system{files: yml(composite)}, "/srv/app/openlineage.yml:3: transport.transports.c.url"},
		{"inside a transform", "transport.url", system{files: yml("transport:\n  type: transform\n  transport:\n    type: http\n    url: x\n")}, "/srv/app/openlineage.yml:5: transport.transport.url=x"},
		{"nothing set", "url", system{}, "OPENLINEAGE__TRANSPORT__URL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg, _ := mustLoad(t, test.s)
			equal(t, test.want+": is refused; change it", cfg.OpenLineage.Explain(refused(test.path)).Error())
		})
	}
}

func TestExplainOtherErrors(t *testing.T) {
	t.Parallel()
	cfg, _ := mustLoad(t, system{env: []string{"OPENLINEAGE_URL=nowhere"}})
	other := errors.New("other")
	if got := cfg.OpenLineage.Explain(other); got != other { //nolint:errorlint // the very same
		t.Errorf("Explain(other) = %v", got)
	}
	two := errors.Join(refused("url"), refused("endpoint"))
	equal(t, "OPENLINEAGE_URL=nowhere: is refused; change it\nOPENLINEAGE_URL: endpoint: is refused; change it", cfg.OpenLineage.Explain(two).Error())
	equal(t, "OPENLINEAGE_URL: has no effect", cfg.OpenLineage.ExplainWarning("transport.url: has no effect").String())
	equal(t, "transport: something: odd", cfg.OpenLineage.ExplainWarning("something: odd").String())
}

func TestConfigFile(t *testing.T) {
	t.Parallel()
	const noop = "transport: {type: noop}\n"
	for _, test := range []struct {
		name  string
		env   []string
		files map[string]string
		file  string // that was read
	}{
		{"none", nil, nil, ""},
		{"in the working folder", nil, map[string]string{"/srv/app/openlineage.yml": noop, "/home/ann/.openlineage/openlineage.yml": noop}, "/srv/app/openlineage.yml"},
		{"in the user's folder", nil, map[string]string{"/home/ann/.openlineage/openlineage.yml": noop}, "/home/ann/.openlineage/openlineage.yml"},
		{"named", []string{"OPENLINEAGE_CONFIG=/etc/ol.yml"}, map[string]string{"/etc/ol.yml": noop, "/srv/app/openlineage.yml": noop}, "/etc/ol.yml"},
		{"named relative", []string{"OPENLINEAGE_CONFIG=conf/ol.yml"}, map[string]string{"/srv/app/conf/ol.yml": noop}, "/srv/app/conf/ol.yml"},
		{"named from home", []string{"OPENLINEAGE_CONFIG=~/ol.yml"}, map[string]string{"/home/ann/ol.yml": noop}, "/home/ann/ol.yml"},
		{"another ending is not tried", nil, map[string]string{"/srv/app/openlineage.yaml": noop}, ""},
		{"a folder of that name is passed over", nil, map[string]string{"/srv/app/openlineage.yml/x": noop, "/home/ann/.openlineage/openlineage.yml": noop}, "/home/ann/.openlineage/openlineage.yml"},
		{"empty", nil, map[string]string{"/srv/app/openlineage.yml": "", "/home/ann/.openlineage/openlineage.yml": noop}, "/srv/app/openlineage.yml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg, _ := mustLoad(t, system{env: test.env, files: test.files})
			equal(t, test.file, cfg.OpenLineage.File)
			want := "noop"
			if test.file == "" || test.name == "empty" {
				want = "console"
			}
			equal(t, any(want), cfg.OpenLineage.Transport["type"])
		})
	}
}

func TestConfigFileProblems(t *testing.T) {
	t.Parallel()
	const file = "/srv/app/openlineage.yml"
	for _, test := range []struct{ name, content, want string }{
		{"no YAML", "transport:\n  type: http\n url: x\n", file + ":3: takes YAML: "},
		{"a tab", "transport:\n\ttype: http\n", file + ":2: takes YAML: "},
		{"Latin-1", "# a\ntransport: {type: noop, name: \"\xe9\"}\n", file + ":2: takes YAML: here stands a sign that is not UTF-8"},
		{"a zero byte", "transport: {type: no\x00op}\n", file + ":1: takes YAML: here stands a control character"},
		{"a list", "# a\n- transport\n", file + ":2: takes keys with values, such as transport:"},
		{"text", "transport\n", file + ":1: takes keys with values"},
		{"two documents", "transport: {type: noop}\n---\ntransport: {type: http}\n", file + ":2: takes one YAML document"},
		{"transport is text", "transport: http\n", file + ":1: transport=http: takes a map with a type"},
		{"type is a number", "transport:\n  type: 1\n", file + ":2: transport.type=1: takes the transport's type as text"},
		{"no type", "transport:\n  url: http://h\n", file + ":1: transport.type: is not set: takes the transport's type"},
		{"facets", "transport: {type: noop}\nfacets: {nope: 1}\n", file + ":2: facets.nope: is no such key here: takes environment_variables, source_code_location"},
		{"facets is text", "transport: {type: noop}\nfacets: nope\n", file + ":2: facets: takes keys with values"},
		{"dataset", "transport: {type: noop}\ndataset: {nope: 1}\n", file + ":2: dataset.nope: is no such key here"},
		{"an alias inside itself", "transport: &a\n  type: noop\n  x: *a\n", file + ":1: takes at most"},
		{"aliases that blow up", bomb(), file + ":"},
		{"a bad merge key", "transport:\n  <<: 1\n", file + ":2: takes a map, or a list of maps, after <<"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := problems(system{files: yml(test.content)})
			if len(got) == 0 || !strings.HasPrefix(got[0], test.want) {
				t.Errorf("problems %q, want one that begins with %s", got, test.want)
			}
		})
	}
	equal(t, []string{"OPENLINEAGE_CONFIG=/none.yml: takes an openlineage.yml: file does not exist"},
		problems(system{env: []string{"OPENLINEAGE_CONFIG=/none.yml"}, files: yml("transport: {type: noop}")}))
}

// A file that can't be read says nothing of a transport, so nothing is said of there being none.
func TestBrokenConfigFileIsAllThatIsSaid(t *testing.T) {
	t.Parallel()
	_, warnings, err := system{files: yml("transport:\n\ttype: http\n")}.load()
	if len(warnings) > 0 || err == nil {
		t.Errorf("warnings %v and %v", warnings, err)
	}
}

func bomb() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		item := fmt.Sprintf("*a%d, ", i)
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(item, 10), ", "))
	}
	return text
}

func TestOpenLineageWarnings(t *testing.T) {
	t.Parallel()
	const file = "/srv/app/openlineage.yml"
	const http = "OPENLINEAGE__TRANSPORT__TYPE=http"
	for _, test := range []struct {
		name string
		s    system
		want []string
	}{
		{"nothing odd", system{env: []string{http}, files: yml("facets: {environment_variables: [], source_code_location: {disabled: true}}\ntags: {run: {}}\ndataset: {reducing_enabled: false}\nfilters: []\n")}, nil},
		{"file over variable", system{env: []string{http, "OPENLINEAGE__TRANSPORT__URL=x"}, files: yml("transport:\n  url: y\n")},
			[]string{"OPENLINEAGE__TRANSPORT__URL: does not count: " + file + ":2: transport.url wins over the environment"}},
		{"file over several variables", system{env: []string{http, "OPENLINEAGE__TRANSPORT__URL=x"}, files: yml("transport:\n")},
			[]string{
				"OPENLINEAGE__TRANSPORT__URL: does not count: " + file + ":1: transport wins over the environment",
				"OPENLINEAGE__TRANSPORT__TYPE: does not count: " + file + ":1: transport wins over the environment",
				"OPENLINEAGE_URL: is not set, nor is another transport: events go to standard output",
			}},
		{"a shorter name", system{env: []string{`OPENLINEAGE__TRANSPORT={"type":"noop"}`, "OPENLINEAGE__TRANSPORT__URL=x"}},
			[]string{"OPENLINEAGE__TRANSPORT__URL: does not count: OPENLINEAGE__TRANSPORT replaces it"}},
		{"URL beside a transport", system{env: []string{http, "OPENLINEAGE_URL=http://h"}},
			[]string{"OPENLINEAGE_URL: does not count: OPENLINEAGE__TRANSPORT__TYPE sets another transport"}},
		{"URL beside keys without a type", system{env: []string{"OPENLINEAGE__TRANSPORT__TIMEOUT=3", "OPENLINEAGE_URL=http://h"}},
			[]string{"OPENLINEAGE__TRANSPORT__TIMEOUT: does not count: there is no transport type, so OPENLINEAGE_URL does"}},
		{"URL for async_http", system{env: []string{"OPENLINEAGE__TRANSPORT__TYPE=async_http", "OPENLINEAGE_URL=http://h"}}, nil},
		{"URL for a composite", system{env: []string{"OPENLINEAGE__TRANSPORT__TYPE=composite", "OPENLINEAGE_URL=http://h"}}, nil},
		{"a key without URL", system{env: []string{http, "OPENLINEAGE_API_KEY=k", "OPENLINEAGE_ENDPOINT=e"}},
			[]string{"OPENLINEAGE_ENDPOINT: does not count without OPENLINEAGE_URL", "OPENLINEAGE_API_KEY: does not count without OPENLINEAGE_URL"}},
		{"broken JSON", system{env: []string{http, "OPENLINEAGE__TRANSPORT__AUTH={hunter2"}},
			[]string{"OPENLINEAGE__TRANSPORT__AUTH: looks like JSON and is not: taken as plain text"}},
		{"disabled by 1", system{env: []string{http, "OPENLINEAGE_DISABLED=1"}}, []string{"OPENLINEAGE_DISABLED: =1 does not disable anything: only true does"}},
		{"disabled by false", system{env: []string{http, "OPENLINEAGE_DISABLED=False"}}, nil},
		{"disabled", system{env: []string{"OPENLINEAGE_DISABLED=true"}}, nil},
		{"client logging", system{env: []string{http, "OPENLINEAGE_CLIENT_LOGGING=DEBUG"}}, []string{"OPENLINEAGE_CLIENT_LOGGING: has no effect here: set LISTENER_LOG_LEVEL"}},
		{"unknown section", system{env: []string{http}, files: yml("transports: {}\n")}, []string{file + ":1: transports: is no setting of OpenLineage and does not count; did you mean transport?"}},
		{"a key twice", system{env: []string{http}, files: yml("transport:\n  url: a\n  url: b\n")}, []string{file + ":3: url stands twice, the last one counts"}},
		{"an empty file", system{env: []string{http}, files: yml("# nothing\n")}, []string{file + ": is empty"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, warnings := mustLoad(t, test.s)
			equal(t, test.want, lines(warnings))
		})
	}
}

func TestDynamicVariableProblems(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		env  []string
		want string
	}{
		{[]string{"OPENLINEAGE__TRANSPORT=console"}, `OPENLINEAGE__TRANSPORT=console: takes a JSON object with a type, such as {"type": "console"}`},
		{[]string{`OPENLINEAGE__TRANSPORT={"type":`}, `OPENLINEAGE__TRANSPORT: takes a JSON object with a type, such as {"type": "console"}`},
		{[]string{"OPENLINEAGE__TRANSPORT=[1]"}, `OPENLINEAGE__TRANSPORT: takes a JSON object with a type, such as {"type": "console"}`},
		{[]string{"OPENLINEAGE__transport=console", "OPENLINEAGE__TRANSPORT__TYPE=http"}, "OPENLINEAGE__TRANSPORT__TYPE: can't be set beside OPENLINEAGE__transport, which is no map"},
		{[]string{"OPENLINEAGE__TRANSPORT__URL=http://h"}, "OPENLINEAGE__TRANSPORT__TYPE: is not set: takes the transport's type, such as http"},
		{[]string{"OPENLINEAGE__TRANSPORT__TYPE=1"}, "OPENLINEAGE__TRANSPORT__TYPE=1: takes the transport's type as text, such as http"},
	} {
		got := problems(system{env: test.env})
		if len(got) == 0 || got[0] != test.want {
			t.Errorf("%v: problems %q, want %s", test.env, got, test.want)
		}
	}
}

func TestCompositeChildren(t *testing.T) {
	t.Parallel()
	cfg, _ := mustLoad(t, system{files: yml(`
transport:
  type: composite
  transports:
    second: {type: console}
    off: {}
    also_off:
    first:
      type: composite
      transports: {inner: {type: noop}}
    changed:
      type: transform
      transport: {type: composite, transports: {deep: {type: noop}}}
`)})
	noop := func(name string) map[string]any { return map[string]any{"type": "noop", "name": name} }
	equal(t, map[string]any{"type": "composite", "transports": []any{
		map[string]any{"type": "console", "name": "second"},
		map[string]any{"type": "composite", "name": "first", "transports": []any{noop("inner")}},
		map[string]any{"type": "transform", "name": "changed", "transport": map[string]any{"type": "composite", "transports": []any{noop("deep")}}},
	}}, cfg.OpenLineage.Transport)
}

// Children that an anchor repeats are two children, each with its own name.
func TestCompositeChildrenFromAnAnchor(t *testing.T) {
	t.Parallel()
	cfg, _ := mustLoad(t, system{files: yml("transport:\n  type: composite\n  transports:\n    a: &a {type: noop}\n    b: *a\n")})
	equal(t, []any{
		map[string]any{"type": "noop", "name": "a"}, map[string]any{"type": "noop", "name": "b"},
	}, cfg.OpenLineage.Transport["transports"].([]any))
}

// A map's order counts where the first of several that fit decides.
func TestKeysInOrder(t *testing.T) {
	t.Parallel()
	cfg, _ := mustLoad(t, system{files: yml("transport:\n  type: noop\n  rules:\n    z: {b: 1, a: 2}\n    '*': {}\n    a: {}\n")})
	equal(t, []string{"z", "*", "a"}, cfg.OpenLineage.KeysInOrder("transport.rules"))
	equal(t, []string{"b", "a"}, cfg.OpenLineage.KeysInOrder("transport.rules.z"))
	equal(t, []string(nil), cfg.OpenLineage.KeysInOrder("transport.rules.z.b"))
	equal(t, []string(nil), cfg.OpenLineage.KeysInOrder("transport.none"))
	cfg, _ = mustLoad(t, system{env: []string{
		"OPENLINEAGE__TRANSPORT__TYPE=noop", "OPENLINEAGE__TRANSPORT__RULES__A__X=1", "OPENLINEAGE__TRANSPORT__RULES__B__X=1",
	}})
	equal(t, []string{"b", "a"}, cfg.OpenLineage.KeysInOrder("transport.rules")) // as the Python client lays variables down
}

func TestDisabledLeavesTheTransportAlone(t *testing.T) {
	t.Parallel()
	cfg, _ := mustLoad(t, system{env: []string{"OPENLINEAGE_DISABLED=true", "OPENLINEAGE_URL=nowhere"}})
	equal(t, []any{true, map[string]any{"type": "noop"}}, []any{cfg.OpenLineage.Disabled, cfg.OpenLineage.Transport})
}

// Whatever dynamic variables hold, Load ends, says the same twice and shows no value under a secret's key.
func FuzzDynamicVariables(f *testing.F) {
	for _, seed := range []string{"console", `{"type":"http","auth":{"apiKey":"k"}}`, "[1,{}]", "{broken", "NaN", "1e999", "-0", `"\ud800"`, "", "null"} {
		f.Add("TRANSPORT", seed, "TRANSPORT__AUTH__API_KEY", "k")
	}
	f.Add("transport", "x", "TRANSPORT__TYPE", "http")
	f.Add("", "x", "__", "y")
	f.Add("TRANSPORT__TRANSPORTS__A__TYPE", "http", "TRANSPORT__TYPE", "composite")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		s := system{env: []string{"OPENLINEAGE__" + name1 + "=" + value1, "OPENLINEAGE__" + name2 + "=" + value2, "OPENLINEAGE_URL=http://h"}}
		cfg, warnings, err := s.load()
		again, warningsAgain, errAgain := s.load()
		equal(t, fmt.Sprint(err, warnings), fmt.Sprint(errAgain, warningsAgain))
		equal(t, cfg.Settings, again.Settings)
		if err == nil {
			if _, ok := cfg.OpenLineage.Transport["type"].(string); !ok {
				t.Errorf("the transport has no type: %v", cfg.OpenLineage.Transport)
			}
		}
		for _, setting := range cfg.Settings {
			if strings.HasSuffix(setting.Name, "api_key") && setting.Value != config.Redacted {
				t.Errorf("%s shows %s", setting.Name, setting.Value)
			}
		}
	})
}

// Whatever stands in an openlineage.yml, Load ends.
func FuzzConfigFile(f *testing.F) {
	for _, seed := range []string{"transport: {type: http}", "a: &a [*a]", "<<: {a: 1}", "? [a]\n: b", "!!binary x", "x: 1:2:3.4", "--- \n...\n---", "{", bomb()} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		_, _, _ = system{files: yml(content)}.load()
	})
}
