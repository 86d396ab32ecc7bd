package config

import (
	"encoding/json"
	"strings"
)

// aliasPrefix begins the child that OPENLINEAGE_URL adds to a composite. Any variable that begins so keeps it from
// being added.
const aliasPrefix = "OPENLINEAGE__TRANSPORT__TRANSPORTS__DEFAULT_HTTP"

// legacyDynamic are the variables that the Python client writes into its own environment when OPENLINEAGE_URL is set:
// a composite's child default_http, and what an async_http transport lacks.
func (l *loader) legacyDynamic(legacy *node) []dynamic {
	if legacy == nil {
		return nil
	}
	for name := range l.set {
		if strings.HasPrefix(name, aliasPrefix) {
			return nil
		}
	}
	found := []dynamic{{name: aliasPrefix + "__TYPE", text: `"http"`, origin: legacy.origin}}
	async := l.set["OPENLINEAGE__TRANSPORT__TYPE"] == "async_http"
	for _, part := range []struct{ key, segment string }{{"url", "URL"}, {"auth", "AUTH"}, {"endpoint", "ENDPOINT"}} {
		value := legacy.get(part.key)
		if value == nil {
			continue
		}
		text, err := json.Marshal(value.plain())
		if err != nil { // text and maps of text always encode
			continue
		}
		found = append(found, dynamic{name: aliasPrefix + "__" + part.segment, text: string(text), origin: value.origin})
		own := "OPENLINEAGE__TRANSPORT__" + part.segment
		if async && l.set[own] == "" {
			found = append(found, dynamic{name: own, text: string(text), origin: value.origin})
		}
	}
	return found
}

// legacyHTTP is the transport that OPENLINEAGE_URL, _ENDPOINT and _API_KEY describe, nil without a URL.
func (l *loader) legacyHTTP(v Variables) *node {
	url, endpoint := l.env("OPENLINEAGE_URL", v.OpenLineageURL), l.env("OPENLINEAGE_ENDPOINT", v.OpenLineageEndpoint)
	key := l.env("OPENLINEAGE_API_KEY", v.OpenLineageAPIKey)
	file := l.env("OPENLINEAGE_API_KEY_FILE", v.OpenLineageAPIKeyFile)
	credential := l.credential(key, file, oneLine)
	if url.text == "" {
		for _, idle := range []raw{endpoint, key, file} {
			if idle.text != "" {
				l.warn(idle.name, "does not count without OPENLINEAGE_URL")
			}
		}
		return nil
	}
	http := newMap(url.origin)
	http.put("type", newScalar("http", url.origin))
	http.put("url", newScalar(url.text, url.origin))
	if endpoint.text != "" {
		http.put("endpoint", newScalar(endpoint.text, endpoint.origin))
	}
	if credential.IsSet() {
		if credential.file != nil {
			l.cfg.OpenLineage.secrets = append(l.cfg.OpenLineage.secrets, credential)
			key.origin = Origin{Source: SecretText, Name: file.name, File: credential.file.path}
		}
		secret, err := credential.Value()
		if err != nil {
			l.problem(file.name, file.text, err)
		}
		auth := newMap(key.origin)
		auth.put("type", newScalar("api_key", key.origin))
		auth.put("apiKey", newScalar(secret.Reveal(), key.origin))
		http.put("auth", auth)
	}
	return http
}
