package main

import (
	"runtime/debug"
	"testing"
)

func TestBuild(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{
		Main:     debug.Module{Version: "v0.3.1"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-30T10:00:00Z"}},
	}
	var b build
	b.fill(info)
	equal(t, build{Version: "0.3.1", Commit: "0123456789ab", Date: "2026-11-30T10:00:00Z"}, b)
	b = build{Version: "1.0.0", Commit: "abc", Date: "d"}
	b.fill(info)
	equal(t, build{Version: "1.0.0", Commit: "abc", Date: "d"}, b)
	b = build{}
	b.fill(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}})
	equal(t, build{}, b)
	b = buildInfo("", "", "")
	if b.Version == "" || b.Commit == "" || b.Date == "" || b.Go == "" || b.Spec != "2-0-2" {
		t.Errorf("a build without a name: %+v", b)
	}
}
