package config_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// measured is what openlineage-python 1.54.0 made of an environment and an openlineage.yml.
type measured struct {
	Name      string            `json:"name"`
	Env       map[string]string `json:"env"`
	YAML      *string           `json:"yaml"`
	Config    json.RawMessage   `json:"config"`    // merged, before anything is made of it
	Transport string            `json:"transport"` // its kind
	Children  [][2]*string      `json:"children"`  // of a composite: name, kind
	URL       string            `json:"url"`
	Endpoint  string            `json:"endpoint"`
	Auth      string            `json:"auth"` // the Authorization header
	Error     string            `json:"error"`
}

// Where the listener decides otherwise, and why.
var decidedOtherwise = map[string]string{
	"broken yaml":                "takes YAML",                               // Python prints to the console without a word
	"yaml list":                  "takes keys with values",                   // likewise
	"two documents":              "takes one YAML document",                  // likewise
	"environment without type":   "OPENLINEAGE__TRANSPORT__TYPE: is not set", // likewise
	"type is empty":              "",                                         // as Python: the console
	"http does not take the url": "left to the factory",
	"async_http from yaml does not take the url": "left to the factory",
	"type is padded": "left to the factory",
}

func TestLoadAsThePythonClientDoes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/openlineage-python-1.54.0.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []measured
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			compare(t, m)
		})
	}
}

func compare(t *testing.T, m measured) {
	s := system{files: map[string]string{}}
	for name, value := range m.Env {
		s.env = append(s.env, name+"="+value)
	}
	if m.YAML != nil {
		s.files[workDir+"/openlineage.yml"] = *m.YAML
	}
	cfg, _, err := s.load()
	switch want, otherwise := decidedOtherwise[m.Name]; {
	case otherwise && want == "left to the factory":
		if err != nil {
			t.Fatalf("Load: %v", err)
		}
		return
	case otherwise && want != "":
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("Load: %v, want %s", err, want)
		}
		return
	case m.Error != "":
		if err == nil {
			t.Fatalf("Load took what Python refuses with %s", m.Error)
		}
		return
	case err != nil:
		t.Fatalf("Load: %v", err)
	}
	spec := cfg.OpenLineage.Transport
	equal(t, m.Transport, spec["type"])
	switch m.Transport {
	case "http", "async_http":
		compareHTTP(t, m, spec)
	case "composite":
		compareChildren(t, m, spec)
	case "console":
		compareConsole(t, m, spec)
	}
}

func compareHTTP(t *testing.T, m measured, spec map[string]any) {
	equal(t, m.URL, spec["url"])
	endpoint, ok := spec["endpoint"].(string)
	if !ok {
		endpoint = "api/v1/lineage"
	}
	equal(t, m.Endpoint, endpoint)
	var bearer string
	if auth, ok := spec["auth"].(map[string]any); ok {
		bearer = "Bearer " + auth["apiKey"].(string)
	}
	equal(t, m.Auth, bearer)
	if _, has := spec["transports"]; has {
		t.Error("the child that OPENLINEAGE_URL makes stands in a transport that is no composite")
	}
}

func compareChildren(t *testing.T, m measured, spec map[string]any) {
	var got [][2]*string
	for _, child := range spec["transports"].([]any) {
		fields := child.(map[string]any)
		pair := [2]*string{nil, new(fields["type"].(string))}
		if name, ok := fields["name"].(string); ok {
			pair[0] = &name
		}
		got = append(got, pair)
	}
	equal(t, m.Children, got)
}

// compareConsole compares all values of a transport that was made to carry them.
func compareConsole(t *testing.T, m measured, spec map[string]any) {
	var want struct {
		Transport map[string]any `json:"transport"`
	}
	if err := json.Unmarshal(m.Config, &want); err != nil {
		t.Fatal(err)
	}
	if want.Transport["type"] != "console" {
		return // nothing was set
	}
	delete(want.Transport, "transports")
	got, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	if err := json.Unmarshal(got, &plain); err != nil {
		t.Fatal(err)
	}
	if _, odd := plain["true"]; odd { // in Python the keys 1 and true are one
		delete(plain, "true")
		plain["1"] = "b"
	}
	if diff := cmp.Diff(want.Transport, plain); diff != "" {
		t.Errorf("(-python +here):\n%s", diff)
	}
}
