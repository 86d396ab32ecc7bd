package differential_test

// variableConfigurations are the variables that begin with OPENLINEAGE__.
func variableConfigurations() []configuration {
	url := []string{"OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__URL=$SINK"}
	env := func(name string, more ...string) configuration {
		return configuration{name: "env: " + name, env: append(append([]string{}, url...), more...)}
	}
	authorized := env("token endpoint without underscores", "OPENLINEAGE__TRANSPORT__AUTH__TYPE=jwt",
		"OPENLINEAGE__TRANSPORT__AUTH__APIKEY=k", "OPENLINEAGE__TRANSPORT__AUTH__TOKENENDPOINT=$SINK/token")
	authorized.script = tokens(`{"token":"t","expires_in":3600}`)
	only := func(name string, variables ...string) configuration {
		return configuration{name: "env: " + name, env: variables}
	}
	return []configuration{
		{name: "nothing is set"},
		env("alone"),
		env("numbers and yes or no", "OPENLINEAGE__TRANSPORT__TIMEOUT=3.5", "OPENLINEAGE__TRANSPORT__VERIFY=true"),
		env("header names are small", "OPENLINEAGE__TRANSPORT__CUSTOM_HEADERS__X_FOO=Bar"),
		env("header names in JSON", `OPENLINEAGE__TRANSPORT__CUSTOM_HEADERS={"X-Foo":"Bar","X-B":"ü"}`),
		env("values keep their case", "OPENLINEAGE__TRANSPORT__ENDPOINT=API/Lineage"),
		env("value in quotes", `OPENLINEAGE__TRANSPORT__ENDPOINT="quoted"`),
		env("value that looks like JSON", "OPENLINEAGE__TRANSPORT__ENDPOINT={broken"),
		env("value is empty", "OPENLINEAGE__TRANSPORT__ENDPOINT="),
		env("value is null", "OPENLINEAGE__TRANSPORT__AUTH=null"),
		env("names of values may be small", "OPENLINEAGE__transport__endpoint=small"),
		env("key", "OPENLINEAGE__TRANSPORT__AUTH__TYPE=api_key", "OPENLINEAGE__TRANSPORT__AUTH__API_KEY=Secret"),
		env("key in JSON", `OPENLINEAGE__TRANSPORT__AUTH={"type":"api_key","apiKey":"Secret"}`),
		env("key without underscores", "OPENLINEAGE__TRANSPORT__AUTH__TYPE=api_key", "OPENLINEAGE__TRANSPORT__AUTH__APIKEY=Secret"),
		env("key that is a number", "OPENLINEAGE__TRANSPORT__AUTH__TYPE=api_key", "OPENLINEAGE__TRANSPORT__AUTH__APIKEY=12345"),
		authorized,
		env("retry in parts", "OPENLINEAGE__TRANSPORT__RETRY__TOTAL=2", "OPENLINEAGE__TRANSPORT__RETRY__STATUS_FORCELIST=[500, 503]"),
		env("gzip", "OPENLINEAGE__TRANSPORT__COMPRESSION=gzip"),
		env("name within three underscores", "OPENLINEAGE__TRANSPORT___ENDPOINT=odd"),
		env("another beginning", "openlineage__TRANSPORT__ENDPOINT=small"),
		only("whole transport", `OPENLINEAGE__TRANSPORT={"type":"http","url":"$SINK","endpoint":"json"}`),
		only("the shorter replaces the longer", `OPENLINEAGE__TRANSPORT={"type":"http","url":"$SINK"}`, "OPENLINEAGE__TRANSPORT__ENDPOINT=lost"),
		only("a word for the transport", "OPENLINEAGE__TRANSPORT=console"),
		only("a word where parts follow", "OPENLINEAGE__TRANSPORT=http", "OPENLINEAGE__TRANSPORT__URL=$SINK"),
		only("without a type", "OPENLINEAGE__TRANSPORT__URL=$SINK"),
		only("file", "OPENLINEAGE__TRANSPORT__TYPE=file", "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH=$OUT/all", "OPENLINEAGE__TRANSPORT__APPEND=true"),
		only("file whose name is a number", "OPENLINEAGE__TRANSPORT__TYPE=file", "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH=1", "OPENLINEAGE__TRANSPORT__APPEND=true"),
	}
}

// yamlConfigurations are openlineage.yml: where it is looked for, what it may hold, and the variables beside it.
func yamlConfigurations() []configuration {
	const there = "transport: {type: http, url: $SINK, endpoint: "
	url := []string{"OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__URL=$SINK"}
	return []configuration{
		{name: "file wins over env", yaml: there + "yaml}\n", env: append([]string{"OPENLINEAGE__TRANSPORT__ENDPOINT=env"}, url...)},
		{
			name: "file and env are merged", yaml: "transport: {url: $SINK, custom_headers: {X-A: yaml}}\n",
			env: []string{
				"OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__URL=http://127.0.0.1:1",
				`OPENLINEAGE__TRANSPORT__CUSTOM_HEADERS={"X-A":"env","X-B":"env"}`, "OPENLINEAGE__TRANSPORT__COMPRESSION=gzip",
			},
		},
		{name: "lists are replaced", yaml: viaKind("composite", "transports: [{type: http, url: $SINK, endpoint: a}]"), env: []string{
			`OPENLINEAGE__TRANSPORT__TRANSPORTS=[{"type":"http","url":"$SINK","endpoint":"b"},{"type":"http","url":"$SINK","endpoint":"c"}]`,
		}},
		{name: "file in the home folder", files: map[string]string{"home/.openlineage/openlineage.yml": there + "home}\n"}},
		{name: "working folder before home folder", yaml: there + "work}\n", files: map[string]string{
			"home/.openlineage/openlineage.yml": there + "home}\n",
		}},
		{
			name: "OPENLINEAGE_CONFIG before working folder", yaml: there + "work}\n",
			env: []string{"OPENLINEAGE_CONFIG=$WORK/other.yaml"}, files: map[string]string{"work/other.yaml": there + "config}\n"},
		},
		{name: "OPENLINEAGE_CONFIG that is relative", env: []string{"OPENLINEAGE_CONFIG=other.yml"}, files: map[string]string{"work/other.yml": there + "config}\n"}},
		{name: "OPENLINEAGE_CONFIG that is not there", yaml: there + "work}\n", env: []string{"OPENLINEAGE_CONFIG=$WORK/none.yml"}},
		{name: "OPENLINEAGE_CONFIG is empty", yaml: there + "work}\n", env: []string{"OPENLINEAGE_CONFIG="}},
		{name: "file with another ending", files: map[string]string{"work/openlineage.yaml": there + "work}\n"}, env: url},
		{name: "file is empty", files: map[string]string{"work/openlineage.yml": ""}, env: url},
		{name: "file with a remark only", yaml: "# nothing yet\n", env: url},
		{name: "file that is broken", yaml: "transport: {type: http\n  url: [\n", env: url},
		{name: "file that is a list", yaml: "- transport\n"},
		{name: "file with a variable", yaml: there + "'$${HOME}/$$HOME'}\n"},
		{name: "file with words for yes and no", yaml: viaKind("file", "log_file_path: $OUT/all, append: yes, debug_mode: off")},
		{name: "file with an anchor", yaml: "base: &base {type: http, url: $SINK}\ntransport: {<<: *base, endpoint: merged}\n"},
		{name: "file with a key twice", yaml: "transport: {type: http, url: $SINK, endpoint: a, endpoint: b}\n"},
		{name: "transport is null", yaml: "transport: null\n"},
		{name: "transport is empty", yaml: "transport: {}\n"},
		{name: "type is empty", yaml: "transport: {type: '', url: $SINK}\n"},
		{name: "key that there is not", yaml: "color: green\n" + viaHTTP("")},
	}
}

// switchConfigurations are the variables that are no settings of a transport.
func switchConfigurations() []configuration {
	return []configuration{
		{name: "disabled", yaml: viaHTTP(""), env: []string{"OPENLINEAGE_DISABLED=true"}},
		{name: "disabled in capitals and padded", yaml: viaHTTP(""), env: []string{"OPENLINEAGE_DISABLED= TRUE "}},
		{name: "disabled by 1", yaml: viaHTTP(""), env: []string{"OPENLINEAGE_DISABLED=1"}},
		{name: "disabled by false", yaml: viaHTTP(""), env: []string{"OPENLINEAGE_DISABLED=false"}},
		{name: "disabled by another word", yaml: viaHTTP(""), env: []string{"OPENLINEAGE_DISABLED=maybe"}},
		{name: "disabled and wrong", yaml: "transport: {type: nope}\n", env: []string{"OPENLINEAGE_DISABLED=true"}},
		{name: "client's log level", yaml: viaHTTP(""), env: []string{"OPENLINEAGE_CLIENT_LOGGING=ERROR"}},
	}
}

// legacyConfigurations are OPENLINEAGE_URL and what belongs to it.
func legacyConfigurations() []configuration {
	legacy := func(name, yaml string, more ...string) configuration {
		return configuration{name: "legacy: " + name, yaml: yaml, env: append([]string{"OPENLINEAGE_URL=$SINK", "OPENLINEAGE_ENDPOINT=old"}, more...)}
	}
	const (
		key   = "OPENLINEAGE_API_KEY=Secret"
		child = "{type: http, url: $SINK, endpoint: new}"
	)
	return []configuration{
		{name: "legacy: url alone", env: []string{"OPENLINEAGE_URL=$SINK"}},
		{name: "legacy: url with a path", env: []string{"OPENLINEAGE_URL=$SINK/base/"}},
		{name: "legacy: url is empty", env: []string{"OPENLINEAGE_URL=", "OPENLINEAGE_ENDPOINT=old", key}},
		{name: "legacy: endpoint is empty", env: []string{"OPENLINEAGE_URL=$SINK/a/b", "OPENLINEAGE_ENDPOINT="}},
		{name: "legacy: key is empty", env: []string{"OPENLINEAGE_URL=$SINK", "OPENLINEAGE_API_KEY="}},
		{name: "legacy: url is wrong", env: []string{"OPENLINEAGE_URL=localhost"}},
		legacy("all three", "", key),
		legacy("file wins", viaHTTP("endpoint: new"), key),
		legacy("http from env does not take the url", "", "OPENLINEAGE__TRANSPORT__TYPE=http"),
		legacy("async takes all", "", key, "OPENLINEAGE__TRANSPORT__TYPE=async_http"),
		legacy("async keeps its own", "", key, "OPENLINEAGE__TRANSPORT__TYPE=async_http", "OPENLINEAGE__TRANSPORT__ENDPOINT=own"),
		legacy("async from a file does not take the url", "transport: {type: async_http}\n", key),
		legacy("child of a composite from env", "", key, "OPENLINEAGE__TRANSPORT__TYPE=composite",
			`OPENLINEAGE__TRANSPORT__TRANSPORTS__B={"type":"http","url":"$SINK","endpoint":"new"}`),
		legacy("only child", "", key, "OPENLINEAGE__TRANSPORT__TYPE=composite"),
		legacy("child of a composite from a file", viaKind("composite", "transports: {b: "+child+"}"), key),
		legacy("first child of a composite from a file", viaKind("composite", "continue_on_success: false, transports: {b: "+child+"}")),
		legacy("no child in a list", viaKind("composite", "transports: ["+child+"]")),
		legacy("child that is switched off", viaKind("composite", "transports: {b: "+child+"}"), "OPENLINEAGE__TRANSPORT__TRANSPORTS__DEFAULT_HTTP={}"),
		legacy("child that is changed by the file", viaKind("composite", "transports: {default_http: {endpoint: changed}}"), key),
		legacy("child by its own variables", "", "OPENLINEAGE__TRANSPORT__TYPE=composite",
			"OPENLINEAGE__TRANSPORT__TRANSPORTS__DEFAULT_HTTP__TYPE=http", "OPENLINEAGE__TRANSPORT__TRANSPORTS__DEFAULT_HTTP__URL=$SINK/own/"),
		legacy("console from a file", "transport: {type: console}\n", key),
		legacy("disabled", "", "OPENLINEAGE_DISABLED=true"),
	}
}
