package differential_test

import (
	"net/http"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// viaDatadog is an openlineage.yml with a datadog transport that posts to the consumer, and further keys of it.
func viaDatadog(keys string) string { return viaKind("datadog", "site: $SINK, apiKey: Secret, "+keys) }

// datadogConfigurations are the transport's keys, in the file and in variables, and what Datadog's own variables add.
func datadogConfigurations() []configuration {
	of := func(name, yaml string, env ...string) configuration {
		return configuration{name: "datadog: " + name, yaml: yaml, env: env}
	}
	answers := func(name string, keys string, script func() transporttest.Script) configuration {
		c := of(name, viaDatadog(keys))
		c.script = script
		return c
	}
	refuses := answers("401", "", always(transporttest.Reply{Status: http.StatusUnauthorized}))
	refuses.waits = true
	denies := answers("403", "", always(transporttest.Reply{Status: http.StatusForbidden, Body: `{"errors":["Forbidden"]}`}))
	denies.waits = true
	missing := answers("404", "", always(transporttest.Reply{Status: http.StatusNotFound}))
	missing.waits = true
	kind := "OPENLINEAGE__TRANSPORT__TYPE=datadog"
	return []configuration{
		of("alone", viaDatadog("")),
		of("key in small letters", viaKind("datadog", "site: $SINK, apikey: Secret")),
		of("key with an underscore", viaKind("datadog", "site: $SINK, api_key: Secret")),
		of("key that is a number", viaKind("datadog", "site: $SINK, apiKey: '12345'")),
		of("no key", viaKind("datadog", "site: $SINK")),
		of("key is empty", viaKind("datadog", "site: $SINK, apiKey: ''")),
		of("key of DD_API_KEY", viaKind("datadog", "site: $SINK"), "DD_API_KEY=Other"),
		of("key is empty, DD_API_KEY is not", viaKind("datadog", "site: $SINK, apiKey: ''"), "DD_API_KEY=Other"),
		of("key before DD_API_KEY", viaDatadog(""), "DD_API_KEY=Other"),
		of("site of DD_SITE", viaKind("datadog", "apiKey: Secret"), "DD_SITE=$SINK"),
		of("site before DD_SITE", viaDatadog(""), "DD_SITE=http://127.0.0.1:1"),
		of("site that there is not", viaKind("datadog", "site: us1.datadoghq.com, apiKey: Secret")),
		of("site of DD_SITE that there is not", viaKind("datadog", "apiKey: Secret"), "DD_SITE=example.com"),
		of("site in capitals", viaKind("datadog", "site: DATADOGHQ.COM, apiKey: Secret")),
		of("site for ftp", viaKind("datadog", "site: 'ftp://$HOST', apiKey: Secret")),
		of("site without a host", viaKind("datadog", "site: 'http://', apiKey: Secret")),
		of("site with a path", viaKind("datadog", "site: $SINK/base, apiKey: Secret")),
		of("site with a folder", viaKind("datadog", "site: $SINK/base/, apiKey: Secret")),
		of("site in capital letters of an address", viaKind("datadog", "site: 'HTTP://$HOST', apiKey: Secret")),
		of("all by variables", "", kind, "OPENLINEAGE__TRANSPORT__SITE=$SINK", "OPENLINEAGE__TRANSPORT__APIKEY=Secret"),
		of("variables with an underscore", "", kind, "OPENLINEAGE__TRANSPORT__SITE=$SINK", "OPENLINEAGE__TRANSPORT__API_KEY=Secret"),
		of("all by Datadog's variables", "", kind, "DD_SITE=$SINK", "DD_API_KEY=Secret"),
		of("all in JSON", "", `OPENLINEAGE__TRANSPORT={"type":"datadog","site":"$SINK","apiKey":"Secret"}`),
		of("key that is a number by variable", "", kind, "DD_SITE=$SINK", "OPENLINEAGE__TRANSPORT__APIKEY=12345"),
		of("file before variables", viaDatadog(""), kind, "OPENLINEAGE__TRANSPORT__APIKEY=Other"),
		of("in a composite of variables", "", "OPENLINEAGE__TRANSPORT__TYPE=composite", "DD_SITE=$SINK", "DD_API_KEY=Secret",
			"OPENLINEAGE__TRANSPORT__TRANSPORTS__DOG__TYPE=datadog",
			"OPENLINEAGE__TRANSPORT__TRANSPORTS__DISK__TYPE=file", "OPENLINEAGE__TRANSPORT__TRANSPORTS__DISK__LOG_FILE_PATH=$OUT/all",
			"OPENLINEAGE__TRANSPORT__TRANSPORTS__DISK__APPEND=true"),
		of("timeout", viaDatadog("timeout: 2.5")),
		of("timeout is zero", viaDatadog("timeout: 0")),
		of("keys of http", viaDatadog("endpoint: other, compression: null, custom_headers: {X-A: b}, verify: true, auth: {type: jwt}")),
		of("sizes of the queue", viaDatadog("max_queue_size: 3, max_concurrent_requests: 2")),
		of("env and service of Datadog's variables", viaDatadog(""), "DD_ENV=prod", "DD_SERVICE=flows"),
		of("rules: everything", viaDatadog("async_transport_rules: {'*': {'*': true}}")),
		of("rules: Prefect", viaDatadog("async_transport_rules: {prefect: {'*': true}}")),
		of("rules: flows in capitals", viaDatadog("async_transport_rules: {PREFECT: {FLOW: true}}")),
		of("rules: the first that fits says no", viaDatadog("async_transport_rules: {'*': {flow: false}, prefect: {'*': true}}")),
		of("rules: none", viaDatadog("async_transport_rules: {}")),
		of("rules: without types", viaDatadog("async_transport_rules: {prefect: {}}")),
		of("rules by variables", "", kind, "DD_SITE=$SINK", "DD_API_KEY=k", "OPENLINEAGE__TRANSPORT__ASYNC_TRANSPORT_RULES__PREFECT__FLOW=true"),
		of("rules in JSON", "", kind, "DD_SITE=$SINK", "DD_API_KEY=k", `OPENLINEAGE__TRANSPORT__ASYNC_TRANSPORT_RULES={"prefect":{"*":true}}`),
		of("rules are a list", viaDatadog("async_transport_rules: [prefect]")),
		answers("202", "", always(transporttest.Reply{Status: http.StatusAccepted})),
		answers("503 once", "", replies(transporttest.Reply{Status: http.StatusServiceUnavailable})),
		answers("503 once, async", "async_transport_rules: {'*': {'*': true}}", replies(transporttest.Reply{Status: http.StatusServiceUnavailable})),
		answers("429 with a time", "", replies(transporttest.After(http.StatusTooManyRequests, "1"))),
		answers("429 without a time", "", replies(transporttest.Reply{Status: http.StatusTooManyRequests})),
		answers("no retry", "retry: {total: 0}", replies(transporttest.Reply{Status: http.StatusServiceUnavailable})),
		answers("400", "", always(transporttest.Reply{Status: http.StatusBadRequest})),
		refuses, denies, missing,
	}
}
