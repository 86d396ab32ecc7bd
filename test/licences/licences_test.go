package licences_test

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/licences"
	"github.com/prefect-openlineage/listener/test/rig"
)

var update = flag.Bool("update", false, "write docs/licences.md anew")

const head = `# Licences

The listener is under the [Apache License 2.0](../LICENSE). The modules that it is made of, on any system, are under these,
as their own files say; ` + "`make licences`" + ` writes this page, and a test holds it to the modules. What each is for:
[dependencies.md](dependencies.md).

`

// Every module that the program holds on any system, and every one that only tests use, is listed with its licence.
func TestLicences(t *testing.T) {
	t.Parallel()
	program := map[string]string{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		maps.Copy(program, modules(t, system, "./cmd/listener"))
	}
	tests := modules(t, "linux", "-test", "./...")
	for module := range program {
		delete(tests, module)
	}
	page := head + "## In the program\n\n" + table(t, program) + "\n## In tests alone\n\n" + table(t, tests)
	path := filepath.Join(rig.Root(), "docs", "licences.md")
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page); diff != "" {
		t.Errorf("make licences writes the page anew (-is +should be):\n%s", diff)
	}
}

// modules returns the folder of each module that packages need.
func modules(t *testing.T, system string, packages ...string) map[string]string {
	t.Helper()
	args := append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}"}, packages...)
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = rig.Root()
	command.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	var words strings.Builder
	command.Stderr = &words
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, words.String())
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if module, folder, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			found[module] = folder
		}
	}
	return found
}

func table(t *testing.T, modules map[string]string) string {
	t.Helper()
	rows := make([]string, 0, len(modules))
	for module, folder := range modules {
		kind, err := licences.InFolder(folder)
		if err != nil {
			t.Errorf("%s: %v", module, err)
		}
		rows = append(rows, "| "+module+" | "+kind+" |\n")
	}
	slices.Sort(rows)
	return "| module | licence |\n| --- | --- |\n" + strings.Join(rows, "")
}

func TestOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Permission is hereby granted, free of charge, to any person\n obtaining a copy": "MIT",
		"Redistribution and use in source and binary forms ... Neither the name of":      "BSD-3-Clause",
		"GNU GENERAL PUBLIC LICENSE Version 3":                                           "",
		"":                                                                               "",
	} {
		if got := strings.Join(licences.Of(text), " "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestInFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if _, err := licences.InFolder(folder); err == nil {
		t.Error("a module without a licence is taken")
	}
	for name, text := range map[string]string{
		"LICENSE": "Apache License Version 2.0, January 2004", "COPYING": "Permission is hereby granted, free of charge, to any person obtaining a copy",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := licences.InFolder(folder); err != nil || got != "Apache-2.0 AND MIT" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(folder, "LICENSE-more"), []byte("All rights reserved"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := licences.InFolder(folder); err == nil {
		t.Errorf("a licence that is not known is taken: %q", got)
	}
}
