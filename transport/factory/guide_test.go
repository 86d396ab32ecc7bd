package factory_test

import (
	"encoding/json"
	"maps"
	nethttp "net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/docs"
	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/factory"
)

func guide(tb testing.TB) docs.Page { return docs.Read(tb, "../../docs/transports.md") }

// pages are the guide's parts that describe kinds: the guide itself under an empty name, which has a section for a kind,
// and pages that are named after the kind that they are about.
func pages(tb testing.TB) map[string]docs.Page {
	tb.Helper()
	all := map[string]docs.Page{"": guide(tb)}
	paths, err := filepath.Glob("../../docs/transports/*.md")
	if err != nil {
		tb.Fatal(err)
	}
	for _, path := range paths {
		all[strings.TrimSuffix(filepath.Base(path), ".md")] = docs.Read(tb, path)
	}
	return all
}

// bases are configurations of each kind that are complete; of http one for each way of authorising.
func bases() map[string][]m {
	kinds := map[string][]m{
		"composite": {composite(list(m{"type": "noop"}))},
		"transform": {transformed(m{"type": "noop"})},
		"console":   {{"type": "console"}},
		"file":      {{"type": "file", "log_file_path": "/a/b"}},
		"noop":      {{"type": "noop"}},
		"datahub": {
			{"type": "datahub", "server": m{"url": "http://h"}, "datasets": list(m{"namespace": "x"})},
			{"type": "datahub", "kafka": m{"connection": m{"schema_registry_url": "http://r"}}},
		},
		"gcplineage": {{"type": "gcplineage", "project_id": "demo"}},
		"kafka":      {{"type": "kafka", "topic": "t", "config": m{"bootstrap.servers": "h"}}},
		"msk-iam":    {{"type": "msk-iam", "topic": "t", "region": "eu-west-1", "config": m{"bootstrap.servers": "h"}}},
		"datadog":    {{"type": "datadog", "apiKey": "k"}},

		"amazon_datazone_api": {{"type": "amazon_datazone_api", "domainId": "dzd_4example", "region": "eu-central-1"}},
	}
	for _, kind := range []string{"http", "async_http"} {
		for _, auth := range []string{"api_key", "jwt", "oauth2"} {
			kinds[kind] = append(kinds[kind], m{"type": kind, "url": "http://h", "auth": m{
				"type": auth, "apiKey": "k", "clientSecret": "s", "clientId": "c", "tokenEndpoint": "http://t",
			}})
		}
	}
	return kinds
}

// rows are the rows of the tables of keys, by kind. What holds for every kind stands at each.
func rows(tb testing.TB) map[string][]row {
	tb.Helper()
	all := map[string][]row{}
	var common []row
	for of, page := range pages(tb) {
		kind := of
		for _, section := range page {
			if section.Level <= 2 && of == "" {
				kind = section.Heading
			}
			for _, made := range keysOf(section) {
				if kind == "Keys of every kind" {
					common = append(common, made)
				} else {
					all[kind] = append(all[kind], made)
				}
			}
		}
	}
	all["async_http"] = append(all["async_http"], all["http"]...)
	all["msk-iam"] = append(all["msk-iam"], all["kafka"]...)
	for _, kind := range factory.TypeNames() {
		all[kind] = append(all[kind], common...)
	}
	return all
}

// keysOf are the rows of a section's tables of keys.
func keysOf(section docs.Section) []row {
	var all []row
	for _, table := range section.Tables {
		if table.Columns[0] != "key" {
			continue
		}
		for _, cells := range table.Rows {
			made := row{key: docs.Spans(cells[0])[0], unset: cells[len(cells)-1]}
			if table.Columns[1] == "for" {
				made.auth = docs.Spans(cells[1])
			}
			all = append(all, made)
		}
	}
	return all
}

// row is one key of the guide.
type row struct {
	key, unset string
	auth       []string // the ways of authorising that have the key; none: it is not about those
}

// Every key that is looked for stands in the guide, and every key of the guide is looked for.
func TestTheGuideHasEveryKey(t *testing.T) {
	t.Parallel()
	said := rows(t)
	for kind, specs := range bases() {
		known := map[string]bool{}
		for _, spec := range specs {
			for _, key := range factory.AskedKeys(spec) {
				// What belongs to a transport inside stands under that one's kind, and librdkafka's properties with kafka.
				if strings.HasPrefix(key, "kafka.connection.producer_config.") {
					continue
				}
				if !strings.HasPrefix(key, "transports[") && !strings.HasPrefix(key, "transport.") {
					known[key] = true
				}
			}
		}
		var written []string
		for _, row := range said[kind] {
			written = append(written, row.key)
		}
		slices.Sort(written)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(known)), written); diff != "" {
			t.Errorf("%s (-looked for +in the guide):\n%s", kind, diff)
		}
	}
}

func TestTheGuideHasEveryKind(t *testing.T) {
	t.Parallel()
	page := guide(t)
	var kinds []string
	for _, row := range page[0].Tables[0].Rows {
		name := docs.Spans(row[0])[0]
		kinds = append(kinds, name)
		if of, ok := pages(t)[name]; ok {
			of.Section(t, name)
		} else {
			page.Section(t, name)
		}
	}
	slices.Sort(kinds)
	if diff := cmp.Diff(factory.TypeNames(), kinds); diff != "" {
		t.Errorf("(-known +in the guide):\n%s", diff)
	}
}

// A key that is set to the default that the guide gives changes nothing.
func TestTheGuidesDefaults(t *testing.T) {
	t.Parallel()
	said := rows(t)
	tried := 0
	for kind, specs := range bases() {
		for _, row := range said[kind] {
			if !strings.HasPrefix(row.unset, "`") {
				continue // words, not a value
			}
			for _, spec := range specs {
				auth, _ := spec["auth"].(m)
				if row.auth != nil && !slices.Contains(row.auth, auth["type"].(string)) {
					continue
				}
				if of, _, _ := strings.Cut(row.key, "."); (of == "server" || of == "kafka") && kind == "datahub" && spec[of] == nil {
					continue // it reaches DataHub the other way
				}
				tried++
				want := build(t, spec, factory.Options{})
				got := build(t, with(spec, row.key, defaultOf(row.unset)), factory.Options{})
				if diff := cmp.Diff(shown(want), shown(got)); diff != "" {
					t.Errorf("%s: %s (-unset +set to %s):\n%s", kind, row.key, row.unset, diff)
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d defaults were tried", tried)
	}
}

func shown(destinations []transport.Destination) []any {
	var all []any
	for _, d := range destinations {
		all = append(all, d.Name, d.Kind, d.After, d.Target, d.Parallel, d.Settings)
	}
	return all
}

// defaultOf reads a default as JSON where it is that.
func defaultOf(cell string) any {
	text, value := docs.Spans(cell)[0], any(nil)
	if json.Unmarshal([]byte(text), &value) == nil {
		return value
	}
	return text
}

// with returns a configuration in which the key at a path has another value.
func with(spec m, path string, value any) m {
	changed := maps.Clone(spec)
	key, rest, deeper := strings.Cut(path, ".")
	if deeper {
		inner, _ := changed[key].(m)
		value = with(orEmpty(inner), rest, value)
	}
	changed[key] = value
	return changed
}

func orEmpty(inner m) m {
	if inner == nil {
		return m{}
	}
	return inner
}

// The statuses in the guide's table of outcomes mean what the table says, all others what it says of the rest.
func TestTheGuidesStatuses(t *testing.T) {
	t.Parallel()
	said := map[int]transport.Outcome{}
	for _, row := range guide(t).Section(t, "What becomes of an event").Tables[0].Rows {
		outcome, ok := map[string]transport.Outcome{"retried": transport.Retry, "held": transport.Hold}[row[0]]
		for _, span := range docs.Spans(row[1]) {
			if status, err := strconv.Atoi(span); err == nil && ok {
				said[status] = outcome
			}
		}
	}
	for status := 300; status < 600; status++ {
		want, ok := said[status]
		switch {
		case ok:
		case status < 400:
			want = transport.Hold
		case status < 500:
			want = transport.Permanent
		default:
			want = transport.Retry
		}
		if got := transport.Classify(transport.Answer{Status: status, Header: nethttp.Header{}}).Outcome; got != want {
			t.Errorf("%d: %v, the guide says %v", status, got, want)
		}
	}
}
