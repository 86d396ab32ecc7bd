package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/transport"
)

// saidBy are the keys that a setting in effect follows from, where it is not called as the key is.
var saidBy = map[string][]string{
	"parallel": {"max_concurrent_requests"},
	"user":     {"url"},
	"retry.quick_try": {
		"retry.total", "retry.connect", "retry.read", "retry.status", "retry.allowed_methods",
	},
	"sslContext.caCertPath": {"sslContext.caCertPath", "verify"},
	"settled_by":            {"continue_on_success", "continue_on_failure"},
}

// variablesOfOthers are the variables, known from other programs, that a setting follows from where no key says it.
var variablesOfOthers = map[string][]string{
	"sslContext.caCertPath": {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"},
	"credentials_path":      {"GOOGLE_APPLICATION_CREDENTIALS"},
	"universe_domain":       {"GOOGLE_CLOUD_UNIVERSE_DOMAIN"},
	"quota_project":         {"GOOGLE_CLOUD_QUOTA_PROJECT"},
	"unmapped":              {"GCP_UNMAPPED"},
	"apiKey":                {"DD_API_KEY"},
	"apiKeyFile":            {"DD_API_KEY_FILE"},
	"site":                  {"DD_SITE"},
	"env":                   {"DD_ENV"},
	"service":               {"DD_SERVICE"},
	"region":                {"AWS_REGION", "AWS_DEFAULT_REGION"},
	"endpointOverride":      {"AWS_ENDPOINT_URL_DATAZONE", "AWS_ENDPOINT_URL"},

	"server.url":                     {"DATAHUB_GMS_HOST", "DATAHUB_GMS_URL"},
	"server.token":                   {"DATAHUB_GMS_TOKEN"},
	"server.system_client_id":        {"DATAHUB_SYSTEM_CLIENT_ID"},
	"server.system_client_secret":    {"DATAHUB_SYSTEM_CLIENT_SECRET"},
	"server.emit_mode":               {"DATAHUB_EMIT_MODE"},
	"server.endpoint":                {"DATAHUB_REST_EMITTER_DEFAULT_ENDPOINT"},
	"server.client_certificate_path": {"DATAHUB_CLIENT_CERT_PATH"},
	"server.client_key_path":         {"DATAHUB_CLIENT_KEY_PATH"},
}

// settingsInEffect lists a destination's settings, sorted by their paths, each with where it is from.
func settingsInEffect(d transport.Destination, from config.OpenLineage, getenv func(string) string) []config.Setting {
	var found []config.Setting
	walkSettings("", d.Settings, func(path string, value any) {
		text, isText := value.(string)
		if !isText || strings.ContainsFunc(text, unicode.IsControl) {
			encoded, err := json.Marshal(value)
			if err != nil { // settings are plain values
				return
			}
			text = string(encoded)
		}
		place, key := placeOf(d.Places, path)
		origin := "default"
		keys, renamed := saidBy[key]
		if !renamed {
			keys = []string{key}
		}
		for _, key := range keys {
			if where, set := from.OriginOf(place + "." + key); set && origin == "default" {
				origin = where
			}
		}
		for _, name := range variablesOfOthers[key] {
			if origin == "default" && getenv(name) != "" {
				origin = "environment " + name
			}
		}
		found = append(found, config.Setting{Name: path, Value: text, Origin: origin})
	})
	return found
}

// walkSettings visits each value that is no map, and no list of maps, with its path.
func walkSettings(path string, value any, visit func(path string, value any)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walkSettings(strings.TrimPrefix(path+"."+key, "."), v[key], visit)
		}
	case []any:
		for i, item := range v {
			walkSettings(fmt.Sprintf("%s[%d]", path, i), item, visit)
		}
	default:
		visit(path, value)
	}
}

// placeOf splits a path at the longest part whose place is known.
func placeOf(places map[string]string, path string) (place, key string) {
	longest := -1
	for part, at := range places {
		rest, ok := strings.CutPrefix(path, part)
		if part != "" {
			rest, ok = strings.CutPrefix(path, part+".")
		}
		if ok && len(part) > longest {
			longest, place, key = len(part), at, rest
		}
	}
	return place, key
}
