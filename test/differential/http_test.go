package differential_test

import (
	"net/http"
	"time"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// viaHTTP is an openlineage.yml with an http transport and further keys of it, in YAML's flow style.
func viaHTTP(keys string) string { return viaKind("http", "url: $SINK, "+keys) }

func viaKind(kind, keys string) string { return "transport: {type: " + kind + ", " + keys + "}\n" }

// addressConfigurations are url and endpoint.
func addressConfigurations() []configuration {
	return []configuration{
		{name: "url alone", yaml: viaHTTP("")},
		{name: "url whose path has no end", yaml: viaKind("http", "url: $SINK/base")},
		{name: "url whose path is a folder", yaml: viaKind("http", "url: $SINK/base/")},
		{name: "endpoint from the root", yaml: viaKind("http", "url: $SINK/base/, endpoint: /api/v1/lineage")},
		{name: "url with a query", yaml: viaKind("http", "url: '$SINK/a/b?q=1', endpoint: lineage")},
		{name: "endpoint with a query", yaml: viaHTTP("endpoint: 'lineage?tenant=a&b=c d'")},
		{name: "endpoint that climbs", yaml: viaKind("http", "url: $SINK/a/b/, endpoint: ../x")},
		{name: "endpoint that is a query", yaml: viaKind("http", "url: $SINK/a/b, endpoint: '?tenant=a'")},
		{name: "endpoint that is an address", yaml: viaKind("http", "url: 'http://127.0.0.1:1', endpoint: $SINK/other")},
		{name: "endpoint with signs", yaml: viaHTTP("endpoint: 'a%20b/ü/c d'")},
		{name: "endpoint is empty", yaml: viaKind("http", "url: $SINK/whole/path, endpoint: ''")},
		{name: "endpoint is null", yaml: viaKind("http", "url: '$SINK/whole/path?a=b', endpoint: null")},
		{name: "endpoint with a sign of percent", yaml: viaHTTP("endpoint: a%b")},
		{name: "endpoint ends in a slash", yaml: viaHTTP("endpoint: v1/")},
		{name: "url is padded", yaml: viaKind("http", "url: '  $SINK  '")},
		{name: "url is missing", yaml: viaKind("http", "endpoint: lineage")},
		{name: "url without a scheme", yaml: viaKind("http", "url: localhost/lineage")},
		{name: "url without a host", yaml: viaKind("http", "url: 'http://'")},
		{name: "url for ftp", yaml: viaKind("http", "url: 'ftp://$HOST'")},
		{name: "url with a password", yaml: viaKind("http", "url: 'http://user:p%40ss@$HOST'")},
		{name: "url with a password and a key", yaml: viaKind("http", "url: 'http://user:pass@$HOST', auth: {type: api_key, apiKey: k}")},
		{name: "url in capitals", yaml: viaKind("http", "url: 'HTTP://$HOST'")},
		{name: "unknown key", yaml: viaHTTP("color: green, headers: {X-A: b}")},
	}
}

// requestConfigurations are what requests look like, and which way they take.
func requestConfigurations() []configuration {
	return []configuration{
		{name: "timeout as a fraction", yaml: viaHTTP("timeout: 2.5")},
		{
			name: "timeout that is over before the answer", yaml: viaHTTP("timeout: 1.5"),
			script: replies(transporttest.Late(2500 * time.Millisecond)),
		},
		{name: "timeout as text", yaml: viaHTTP("timeout: '2'")},
		{name: "timeout is null", yaml: viaHTTP("timeout: null")},
		{name: "timeout is zero", yaml: viaHTTP("timeout: 0")},

		{name: "compression", yaml: viaHTTP("compression: gzip")},
		{name: "compression is null", yaml: viaHTTP("compression: null")},
		{name: "compression of another kind", yaml: viaHTTP("compression: br")},
		{name: "compression in capitals", yaml: viaHTTP("compression: GZIP")},

		{name: "headers", yaml: viaHTTP("custom_headers: {X-Tenant: a, x-other: b, X_Under: c}")},
		{name: "header for the content type", yaml: viaHTTP("custom_headers: {Content-Type: application/vnd.x+json}")},
		{name: "header for the content type in small letters", yaml: viaHTTP("custom_headers: {content-type: text/x}")},
		{name: "header for the credential", yaml: viaHTTP("auth: {type: api_key, apiKey: k}, custom_headers: {Authorization: Basic eA==}")},
		{name: "header for the encoding under gzip", yaml: viaHTTP("compression: gzip, custom_headers: {Content-Encoding: br}")},
		{name: "header for the program", yaml: viaHTTP("custom_headers: {User-Agent: mine, Accept: text/x}")},
		{name: "header is null", yaml: viaHTTP("custom_headers: {X-A: null, X-B: b}")},
		{name: "header is a number", yaml: viaHTTP("custom_headers: {X-A: 5}")},
		{name: "headers are null", yaml: viaHTTP("custom_headers: null")},

		{
			name: "proxy", yaml: viaKind("http", "url: 'http://lineage.example/base/'"), env: []string{"HTTP_PROXY=$SINK"},
		},
		{
			name: "proxy in small letters", yaml: viaKind("http", "url: 'http://lineage.example'"), env: []string{"http_proxy=$SINK"},
		},
		{
			name: "no proxy for the host", yaml: viaHTTP(""), env: []string{"HTTP_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1"},
		},
		{
			name: "netrc", yaml: viaHTTP("auth: {type: api_key, apiKey: k}"),
			files: map[string]string{"home/.netrc": "machine 127.0.0.1 login user password pass\n"},
		},
	}
}

// tlsConfigurations are verify and sslContext.
func tlsConfigurations() []configuration {
	tls := func(name, keys string) configuration {
		return configuration{name: name, yaml: viaHTTP(keys + ", retry: {total: 0}"), tls: tlsServer}
	}
	mutual := func(name, keys string) configuration {
		return configuration{name: name, yaml: viaHTTP(keys + ", retry: {total: 0}"), tls: tlsWithClient}
	}
	unknown := tls("tls that nobody vouches for", "verify: true")
	unknown.waits = true
	bundle := tls("verify by REQUESTS_CA_BUNDLE", "verify: true")
	bundle.env = []string{"REQUESTS_CA_BUNDLE=$CA"}
	curl := tls("verify by CURL_CA_BUNDLE", "verify: true")
	curl.env = []string{"CURL_CA_BUNDLE=$CA"}
	without := mutual("client certificate that is missing", "verify: $CA")
	without.waits = true
	before := tls("caCertPath counts before verify", "verify: false, sslContext: {caCertPath: $CERT}")
	before.waits = true
	return []configuration{
		unknown, bundle, curl, without, before,
		tls("verify is off", "verify: false"),
		tls("verify by a path", "verify: $CA"),
		tls("verify by a path that is not there", "verify: /nowhere/ca.pem"),
		tls("caCertPath", "sslContext: {caCertPath: $CA}"),
		tls("ca_cert_path", "sslContext: {ca_cert_path: $CA}"),
		tls("cacertpath", "ssl_context: {cacertpath: $CA}"),
		mutual("clientCertPath and clientKeyPath", "sslContext: {caCertPath: $CA, clientCertPath: $CERT, clientKeyPath: $KEY}"),
		mutual("client_cert_path and client_key_path", "ssl_context: {ca_cert_path: $CA, client_cert_path: $CERT, client_key_path: $KEY}"),
		mutual("clientcertpath and clientkeypath", "sslcontext: {cacertpath: $CA, clientcertpath: $CERT, clientkeypath: $KEY}"),
		mutual("client certificate and key in one file", "verify: $CA, sslContext: {clientCertPath: $PEM}"),
		mutual("client certificate and no verifying", "verify: false, sslContext: {clientCertPath: $CERT, clientKeyPath: $KEY}"),
		mutual("client key without a certificate", "sslContext: {caCertPath: $CA, clientKeyPath: $KEY}"),
		mutual("client certificate that is not there", "verify: $CA, sslContext: {clientCertPath: /nowhere/cert.pem}"),
		tls("sslContext is text", "verify: $CA, sslContext: strict"),
		tls("sslContext is null", "verify: $CA, sslContext: null"),
		tls("sslContext is empty", "verify: $CA, sslContext: {}"),
	}
}

// authConfigurations are the keys below auth.
func authConfigurations() []configuration {
	auth := func(name, keys string) configuration {
		return configuration{name: name, yaml: viaHTTP("auth: {" + keys + "}")}
	}
	token := func(name, answer, keys string) configuration {
		c := auth(name, keys)
		c.script = tokens(answer)
		return c
	}
	const lasting = `{"access_token":"t1","token":"t2","Custom":"t3","expires_in":3600}`
	const jwt = "type: jwt, apiKey: k, token_endpoint: $SINK/token"
	const oauth = "type: oauth2, client_id: me, client_secret: 'p@ss word', token_endpoint: $SINK/token"
	return []configuration{
		auth("apiKey", "type: api_key, apiKey: k1"),
		auth("apikey", "type: api_key, apikey: k2"),
		auth("api_key", "type: api_key, api_key: k3"),
		auth("first key that is not empty", "type: api_key, apiKey: '', apikey: k4, api_key: k5"),
		auth("all three keys", "type: api_key, api_key: k5, apikey: k4, apiKey: k1"),
		auth("key that is missing", "type: api_key"),
		auth("key that is empty", "type: api_key, apiKey: ''"),
		auth("key that is a number", "type: api_key, apiKey: 123"),
		auth("auth without a type", "apiKey: k"),
		auth("auth of another type", "type: basic, apiKey: k"),
		auth("auth by a class", "type: my.package.Provider"),
		{name: "auth is null", yaml: viaHTTP("auth: null")},

		token("jwt", lasting, jwt),
		token("jwt by its other names", lasting, "type: jwt, api_key: k, tokenEndpoint: $SINK/token, tokenFields: [custom], grantType: g, responseType: r, tokenRefreshBuffer: 60, expiresInField: expires_in"),
		token("jwt with snakes", lasting, "type: jwt, apikey: k, token_endpoint: $SINK/token, token_fields: custom, grant_type: g, response_type: r, token_refresh_buffer: 60, expires_in_field: expiresIn"),
		token("jwt whose token ends soon", `{"token":"t","expires_in":100}`, jwt),
		token("jwt without an end", `{"token":"t"}`, jwt),
		token("jwt without a key", lasting, "type: jwt, token_endpoint: $SINK/token"),
		token("jwt without an endpoint", lasting, "type: jwt, apiKey: k"),
		token("oauth2", lasting, oauth),
		token("oauth2 by its other names", lasting, "type: oauth2, clientId: me, clientSecret: s, tokenEndpoint: $SINK/token, tokenFields: [token], scope: a b, clientAuthMethod: client_secret_post"),
		token("oauth2 with snakes", lasting, oauth+", scope: lineage, client_auth_method: client_secret_post"),
		token("oauth2 without a secret", lasting, "type: oauth2, client_id: me, token_endpoint: $SINK/token"),
		token("oauth2 by another method", lasting, oauth+", client_auth_method: private_key_jwt"),
	}
}

// answerConfigurations are answers and the keys below retry.
func answerConfigurations() []configuration {
	retry := func(name, keys string, script func() transporttest.Script) configuration {
		return configuration{name: name, yaml: viaHTTP("retry: {" + keys + "}"), script: script}
	}
	kept := func(c configuration) configuration {
		c.waits = true
		return c
	}
	once := func(status int) func() transporttest.Script { return replies(transporttest.Status(status)) }
	busy := replies(transporttest.After(http.StatusTooManyRequests, "0"))
	return []configuration{
		{name: "503 once", yaml: viaHTTP(""), script: once(503)},
		{name: "connection that breaks", yaml: viaHTTP(""), script: replies(transporttest.Break(transporttest.ResetBefore))},
		retry("retry is merged", "backoff_factor: 0.01", once(502)),
		{name: "retry is null", yaml: viaHTTP("retry: null"), script: once(503)},
		retry("no retry", "total: 0", once(503)),
		retry("no retry by false", "total: false", once(503)),
		retry("a status that is to be retried", "status_forcelist: [418], backoff_factor: 0.01", once(418)),
		retry("a status that is not to be retried", "status_forcelist: [418], backoff_factor: 0.01", once(503)),
		retry("methods without POST", "allowed_methods: [GET]", once(503)),
		retry("an argument that there is not", "totally: 5", nil),
		retry("everything that urllib3 takes", "total: 3, connect: 3, read: 3, redirect: 1, status: 3, other: 1, backoff_factor: 0.01, "+
			"backoff_max: 5, backoff_jitter: 0.01, raise_on_status: true, raise_on_redirect: true, respect_retry_after_header: true, "+
			"retry_after_max: 10, remove_headers_on_redirect: [Authorization], status_forcelist: [500], allowed_methods: [POST]", once(500)),
		retry("429 with a time", "backoff_factor: 0.01", busy),
		retry("429 with a time that is not to count", "respect_retry_after_header: false", busy),
		{name: "429 without a time", yaml: viaHTTP(""), script: once(429)},
		{name: "503 with a time", yaml: viaHTTP(""), script: replies(transporttest.After(503, "1"))},
		{name: "400", yaml: viaHTTP(""), script: always(transporttest.Status(400))},
		{name: "422", yaml: viaHTTP(""), script: always(transporttest.Status(422))},
		kept(configuration{name: "501", yaml: viaHTTP(""), script: once(501)}),
		kept(configuration{name: "404", yaml: viaHTTP(""), script: always(transporttest.Status(404))}),
		kept(configuration{name: "401", yaml: viaHTTP("auth: {type: api_key, apiKey: k}"), script: always(transporttest.Status(401))}),
		kept(configuration{name: "500 all the time", yaml: viaHTTP("retry: {total: 1}"), script: always(transporttest.Status(500))}),
		kept(configuration{name: "nobody listens", yaml: viaKind("http", "url: 'http://127.0.0.1:1', retry: {total: 1}")}),
		{name: "200 with a text", yaml: viaHTTP(""), script: always(transporttest.Reply{Status: 200, Body: "ok"})},
		{name: "204", yaml: viaHTTP(""), script: always(transporttest.Reply{Status: 204})},
		kept(configuration{name: "301", yaml: viaHTTP(""), script: moved(301)}),
		kept(configuration{name: "302", yaml: viaHTTP(""), script: moved(302)}),
		kept(configuration{name: "303", yaml: viaHTTP(""), script: moved(303)}),
		{name: "307", yaml: viaHTTP("auth: {type: api_key, apiKey: k}"), script: moved(307)},
		{name: "308 with gzip", yaml: viaHTTP("compression: gzip"), script: moved(308)},
		kept(configuration{name: "302 to nowhere", yaml: viaHTTP(""), script: always(transporttest.Reply{Status: 302})}),
		kept(configuration{name: "304", yaml: viaHTTP(""), script: always(transporttest.Reply{Status: 304})}),
	}
}

// asyncConfigurations are what async_http does in its own way.
func asyncConfigurations() []configuration {
	async := func(name, keys string) configuration {
		return configuration{name: name, yaml: viaKind("async_http", "url: $SINK, "+keys)}
	}
	answered := func(c configuration, script func() transporttest.Script) configuration {
		c.script = script
		return c
	}
	insecure := async("async: verify is off", "verify: false, retry: {total: 0}")
	insecure.tls = tlsServer
	verified := async("async: sslContext", "sslContext: {caCertPath: $CA}, retry: {total: 0}")
	verified.tls = tlsServer
	return []configuration{
		async("async", ""),
		{name: "async: url whose path is a folder", yaml: viaKind("async_http", "url: $SINK/base/, endpoint: lineage")},
		async("async: gzip and a key", "compression: gzip, auth: {type: api_key, apiKey: k}"),
		async("async: headers", "custom_headers: {X-A: a, Content-Type: text/x}"),
		async("async: its own keys", "max_queue_size: 5, max_concurrent_requests: 1, timeout: 3"),
		answered(async("async: 503 once", "retry: {backoff_factor: 0.01}"), replies(transporttest.Status(503))),
		answered(async("async: 429 once", ""), replies(transporttest.After(429, "0"))),
		answered(async("async: 400", ""), always(transporttest.Status(400))),
		{name: "async: url is missing", yaml: viaKind("async_http", "endpoint: lineage")},
		{name: "async: compression of another kind", yaml: viaKind("async_http", "url: $SINK, compression: br")},
		insecure,
		verified,
	}
}
