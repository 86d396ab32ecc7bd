package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// specVersion is the version of the OpenLineage specification that events follow.
const specVersion = "2-0-2"

// build names the build.
type build struct {
	Version string `json:"version"` // without a leading v
	Commit  string `json:"commit"`
	Date    string `json:"date"` // of the commit
	Go      string `json:"go"`
	System  string `json:"system"`
	Spec    string `json:"openlineage_spec"`
}

// buildInfo is what the linker was told, else what the go command noted.
func buildInfo(version, commit, date string) build {
	b := build{
		Version: version, Commit: commit, Date: date,
		Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Spec: specVersion,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.fill(info)
	}
	for _, field := range []*string{&b.Commit, &b.Date} {
		if *field == "" {
			*field = "unknown"
		}
	}
	if b.Version == "" {
		b.Version = "dev"
	}
	return b
}

// fill takes from the go command's notes what the linker was not told.
func (b *build) fill(info *debug.BuildInfo) {
	// A build in a checkout has the module version (devel).
	if b.Version == "" && strings.HasPrefix(info.Main.Version, "v") {
		b.Version = strings.TrimPrefix(info.Main.Version, "v")
	}
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision" && b.Commit == "":
			b.Commit = setting.Value[:min(12, len(setting.Value))]
		case setting.Key == "vcs.time" && b.Date == "":
			b.Date = setting.Value
		}
	}
}

// versionCmd says which build this is.
type versionCmd struct {
	output
}

// Run prints it.
func (c *versionCmd) Run(p *process) error {
	if c.json() {
		return printJSON(p.stdout, p.built)
	}
	b := p.built
	_, err := fmt.Fprintf(p.stdout, "listener %s (commit %s of %s, %s, %s, OpenLineage %s)\n", b.Version, b.Commit, b.Date, b.Go, b.System, b.Spec)
	return err
}
