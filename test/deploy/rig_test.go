package deploy_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/prefect-openlineage/listener/test/rig"
)

// path is that of a file of the checkout.
func path(parts ...string) string { return filepath.Join(append([]string{rig.Root()}, parts...)...) }

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(path(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tool is a program that `make deploy-tools release-tools` builds.
func tool(t *testing.T, name string) string {
	t.Helper()
	program := path(".cache", "tools", name)
	if _, err := os.Stat(program); err != nil {
		rig.Skip(t, name+" is not built; run make deploy-tools release-tools")
	}
	return program
}

// installed is a program of the system.
func installed(t *testing.T, name string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		rig.Skip(t, name+" is not installed")
	}
	return program
}

// command is a program's call in the checkout.
func command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = rig.Root()
	return cmd
}

// output runs a command that has to go well, and returns what it printed.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, errs.String())
	}
	return string(out)
}

// object is a Kubernetes object, or any other map of YAML.
type object map[string]any

// objects are the documents of a text.
func objects(t *testing.T, text string) []object {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var all []object
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if len(o) > 0 {
			all = append(all, o)
		}
	}
}

// at follows keys into an object; nil where one is missing.
func (o object) at(keys ...string) any {
	var value any = map[string]any(o)
	for _, key := range keys {
		next, ok := asMap(value)
		if !ok {
			return nil
		}
		value = next[key]
	}
	return value
}

func asMap(value any) (map[string]any, bool) {
	switch m := value.(type) {
	case map[string]any:
		return m, true
	case object:
		return m, true
	default:
		return nil, false
	}
}

// list is what stands under keys, as objects.
func (o object) list(keys ...string) []object {
	items, _ := o.at(keys...).([]any)
	var all []object
	for _, item := range items {
		if m, ok := asMap(item); ok {
			all = append(all, m)
		}
	}
	return all
}

func (o object) text(keys ...string) string {
	text, _ := o.at(keys...).(string)
	return text
}
