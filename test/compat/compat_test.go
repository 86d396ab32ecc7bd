package compat

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

// fact is what an event says of which run.
type fact struct {
	Type, Namespace, Name, Run string
}

func facts(events []told.Event) map[fact]bool {
	set := map[fact]bool{}
	for _, e := range events {
		set[fact{e.EventType, e.Job.Namespace, e.Job.Name, e.Run.RunID}] = true
	}
	return set
}

// only returns what one side says and the other doesn't, less the run ids, which differ from day to day.
func only(these, those map[fact]bool) []string {
	said := []string{}
	for f := range maps.Keys(these) {
		if !those[f] {
			said = append(said, f.Type+" "+f.Namespace+" "+f.Name)
		}
	}
	slices.Sort(said)
	return said
}

// TestBesideOpenLineagePrefect runs both on the same deployments' runs, with the settings that take over its names and
// run ids. Whoever changes from one to the other keeps the jobs and runs that consumers know. What is different is known:
//
//   - It tells of states by their names, so that of a task whose result came from a cache (the state Cached) it tells
//     nothing. We tell its end.
//   - A run name without a suffix (templated) is cut where it ends in a dash and hex digits: load 2024-01-01 becomes the
//     job load 2024-01, and another one next month. Ours is named by its function. The run's id is the same.
//   - A task that is tried again runs again under the state Retrying, which it doesn't look for: one START, as ours.
//   - It would end at a flow run without a deployment and at a task run without a flow; there are none here.
func TestBesideOpenLineagePrefect(t *testing.T) {
	t.Parallel()
	p := rig.StartPrefect(t)
	dir := t.TempDir()
	theirFile, ourFile := filepath.Join(dir, "theirs.ndjson"), filepath.Join(dir, "ours.ndjson")
	l := rig.NewListener(t, p.URL, told.FileSink(ourFile),
		"OPENLINEAGE_NAMESPACE=compat", "RUN_ID_TYPE=openlineage-prefect", "TASK_NAME_TYPE=base")
	l.Start()
	p.StartScript("test/compat/run.py", theirFile).Wait()
	want := told.Settled(t, p)
	rig.Eventually(t, time.Minute, "all our events have come", func() bool {
		ended := map[string]bool{}
		for _, e := range told.Read(t, ourFile) {
			if e.Terminal() {
				ended[e.Run.RunID] = true
			}
		}
		return len(ended) >= len(want)
	})
	ours, theirs := facts(told.Read(t, ourFile)), facts(told.Read(t, theirFile))
	t.Logf("%d facts told by openlineage-prefect, %d by us", len(theirs), len(ours))
	if diff := cmp.Diff([]string{"COMPLETE compat load 2024-01", "START compat load 2024-01"}, only(theirs, ours)); diff != "" {
		t.Errorf("told by openlineage-prefect alone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"COMPLETE compat load_day", "COMPLETE compat lookup", "START compat load_day"}, only(ours, theirs)); diff != "" {
		t.Errorf("told by us alone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(runsOf(theirs, "load 2024-01"), runsOf(ours, "load_day")); diff != "" {
		t.Errorf("run ids of the templated task (-theirs +ours):\n%s", diff)
	}
	if n := len(runsOf(ours, `Nightly "Report", part.2 — Übung`)); n != 1 {
		t.Errorf("%d runs of the flow with the odd name", n)
	}
}

func runsOf(set map[fact]bool, name string) map[string]bool {
	runs := map[string]bool{}
	for f := range set {
		if f.Name == name {
			runs[f.Run] = true
		}
	}
	return runs
}
