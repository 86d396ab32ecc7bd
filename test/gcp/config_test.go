package gcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// configuration is a way of setting the transport up. $KEY stands for a key file that is good, $SINK for the service.
type configuration struct {
	name   string
	env    []string
	yaml   string
	differ string // why the two results differ on purpose; empty: they do not
}

// configurations read the same by both, but for what is said of them.
func configurations() []configuration {
	env := func(name string, pairs ...string) configuration {
		made := configuration{name: name, env: []string{"OPENLINEAGE__TRANSPORT__TYPE=gcplineage"}}
		for _, pair := range pairs {
			made.env = append(made.env, "OPENLINEAGE__TRANSPORT__"+pair)
		}
		return made
	}
	yaml := func(name, keys string) configuration {
		return configuration{name: name, yaml: "transport: {type: gcplineage, credentials_path: $KEY, " + keys + "}"}
	}
	differ := func(c configuration, why string) configuration {
		c.differ = why
		return c
	}
	return []configuration{
		env("variables", "PROJECT_ID=demo", "CREDENTIALS_PATH=$KEY"),
		env("location", "PROJECT_ID=demo", "CREDENTIALS_PATH=$KEY", "LOCATION=europe-west1"),
		env("a number for a project", "PROJECT_ID=123456", "CREDENTIALS_PATH=$KEY"),
		env("rules", "PROJECT_ID=demo", "CREDENTIALS_PATH=$KEY", `ASYNC_TRANSPORT_RULES={"prefect": {"flow": false}}`),
		env("without a project", "CREDENTIALS_PATH=$KEY"),
		{name: "all in one variable", env: []string{`OPENLINEAGE__TRANSPORT={"type": "gcplineage", "project_id": "demo", "location": "us", "credentials_path": "$KEY", "endpoint": "$SINK"}`}},
		yaml("file", "project_id: demo, location: asia-east1"),
		yaml("unknown key", "project_id: demo, projectNumber: 1"),
		yaml("domain-scoped project", "project_id: 'example.com:demo'"),
		differ(yaml("location is empty", "project_id: demo, location: ''"), "an empty key is an unset one, here as elsewhere; the Python client asks for a place without a name"),
		{name: "file before variables", yaml: "transport: {type: gcplineage, project_id: demo, credentials_path: $KEY}", env: []string{"OPENLINEAGE__TRANSPORT__PROJECT_ID=other"}},
		{name: "a child", yaml: "transport: {type: composite, transports: {google: {type: gcplineage, project_id: demo, credentials_path: $KEY, endpoint: $SINK}}}"},
	}
}

func TestConfigurations(t *testing.T) {
	t.Parallel()
	prefect := prefecttest.NewTCP(t)
	prefect.AddHistory(prefecttest.History{
		Flows: 1, FlowRuns: 1, From: time.Now().Add(-30 * time.Minute), Every: time.Second, Lasts: time.Second,
	})
	_, out, _ := rig.NewListener(t, prefect.URL).Run("preview", "--since", "1h")
	all := eventsIn(t, []byte(out))
	for _, c := range configurations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			python := c.viaPython(t, all)
			here := c.viaListener(t, prefect.URL)
			switch diff := cmp.Diff(python, here); {
			case diff != "" && c.differ == "":
				t.Errorf("(-python +here):\n%s", diff)
			case diff == "" && c.differ != "":
				t.Errorf("no longer differ: %+v", here)
			}
		})
	}
}

// seen is what became of a configuration.
type seen struct {
	Result string // delivered, refused or failed
	Paths  []string
}

// fill puts the key file and the endpoint into a configuration, whose openlineage.yml goes into a folder.
func (c configuration) fill(t *testing.T, sink *transporttest.Sink, dir string) []string {
	t.Helper()
	replace := strings.NewReplacer("$KEY", keyFile(t, sink.URL()), "$SINK", sink.URL()).Replace
	if c.yaml != "" {
		if err := os.WriteFile(filepath.Join(dir, "openlineage.yml"), []byte(replace(c.yaml)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The Python client knows no endpoint and passes over the key.
	env := []string{"OPENLINEAGE__TRANSPORT__ENDPOINT=" + sink.URL()}
	for _, pair := range c.env {
		env = append(env, replace(pair))
	}
	return env
}

func (c configuration) viaPython(t *testing.T, events []json.RawMessage) seen {
	t.Helper()
	sink, dir := google(t, nil), t.TempDir()
	o := viaPython(t, job{Over: "rest", Endpoint: sink.URL(), Events: events}, dir, c.fill(t, sink, dir))
	s := seen{Result: "delivered", Paths: pathsOf(sink)}
	switch {
	case o.Refused != "":
		s.Result = "refused"
	case len(o.Failed) > 0:
		s.Result = "failed"
	}
	return s
}

func (c configuration) viaListener(t *testing.T, prefect string) seen {
	t.Helper()
	sink := google(t, nil)
	listener := rig.NewListener(t, prefect)
	listener.Env = append(listener.Env, c.fill(t, sink, filepath.Dir(filepath.Dir(listener.State)))...)
	code, _, stderr := listener.Run("backfill", "--since", "1h")
	s := seen{Result: map[int]string{0: "delivered", 2: "refused"}[code], Paths: pathsOf(sink)}
	if s.Result == "" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	return s
}

func pathsOf(sink *transporttest.Sink) []string {
	var paths []string
	for _, r := range lineageRequests(sink) {
		paths = append(paths, r.Method+" "+r.URL.Path)
	}
	slices.Sort(paths)
	return paths
}
