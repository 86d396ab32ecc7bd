package adapter_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

func TestTaskNames(t *testing.T) {
	t.Parallel()
	const uuidKey = "612afa19-f5f0-4851-a3bf-366b7d553ee6"
	tests := []struct {
		name, run, taskKey, dynamicKey, want string
	}{
		{"3.x", "load-612", "load-4d7a2869", uuidKey, "load"},
		{"3.x, named in the decorator", "Extract Customers!-612", "extract-75d1159b", uuidKey, "Extract Customers!"},
		{"3.x, a name that ends in hex itself", "load-1a2-612", "load-4d7a2869", uuidKey, "load-1a2"},
		{"3.x, another suffix than predicted", "load-613", "load-4d7a2869", uuidKey, "load"},
		{"3.x, templated", "process-eu-café", "process_eu-4d7a2869", uuidKey, "process_eu"},
		{"3.x, templated to the suffix alone", "-612", "load-4d7a2869", uuidKey, "load"},
		{"3.x, delayed inside a flow", "load-0", "load-4d7a2869", "0", "load"},
		{"3.x, code that can't be read", "a {b}", "load-unknown", uuidKey, "load"},
		{"3.x, lambda", "x", "<lambda>-4d7a2869", uuidKey, "<lambda>"},
		{"3.x, no function", "x", "flows.tasks.Loader", uuidKey, "Loader"},
		{"2.x", "extract_customers-0", "flows.etl.extract_customers", "0", "extract_customers"},
		{"2.x, mapped", "Load Part-117", "__main__.load_part", "117", "Load Part"},
		{"2.x, templated", "load 2024-01-01", "flows.etl.load_date", "3", "load_date"},
		{"2.x, nested function", "tmpl", "flows.etl.outer.<locals>.inner", "0", "inner"},
		{"2.x, late task keys", "tmpl", "inner-0a1b2c3d", "0", "inner"},
		{"2.x, background", "Load It-612afa19", "load-4d7a2869", uuidKey, "Load It"},
		{"2.x, background, the whole key", "load-load-4d7a2869-0a1b2c3d", "load-4d7a2869", "load-4d7a2869-0a1b2c3d", "load"},
		{"2.x, background, a made up name", "tireless-kiwi", "load-4d7a2869", "load-4d7a2869-6dc8114c", "load"},
		{"3.x, background", "tireless-kiwi", "load-4d7a2869", "load-4d7a2869-6dc8114c6dc8114c6dc8114c6dc8114c", "tireless-kiwi"},
		{"standalone", "load-feed", "load-4d7a2869", "load-4d7a2869-6db0aa", "load-feed"},
		{"standalone, its name ends as its key begins", "pre-loa", "load-4d7a2869", "load-4d7a2869-6db0aa", "pre-loa"},
		{"no keys", "just a name", "", "", "just a name"},
		{"no task key, a suffix that is predicted", "load-612", "", uuidKey, "load"},
		{"function with a dash and hex that is no hash", "x", "load-4d7a", uuidKey, "load-4d7a"},
		{"a newline", "a\nb-612", "a-4d7a2869", uuidKey, "a_b"},
		{"nothing", "", "", "", "unnamed"},
	}
	a := newAdapter(t, func(s *adapter.Settings) { s.TaskNameType = adapter.TaskNameBase })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			row := taskRow()
			row.Name, row.TaskKey, row.DynamicKey = tt.run, tt.taskKey, tt.dynamicKey
			told, _ := a.Pin(taskSnapshot(row), nil)
			if told.Run.Name != tt.want {
				t.Errorf("got %q, want %q", told.Run.Name, tt.want)
			}
		})
	}
}

func TestJobNames(t *testing.T) {
	t.Parallel()
	type names struct{ flow, subflow, task, subtask, alone string }
	tests := []struct {
		name  string
		tasks adapter.TaskNameType
		flows adapter.FlowNameType
		want  names
	}{
		{"default", "", "", names{"etl", "sub", "etl.load", "sub.load", "load"}},
		{"qualified, flow", adapter.TaskNameQualified, adapter.FlowNameFlow, names{"etl", "sub", "etl.load", "sub.load", "load"}},
		{"base", adapter.TaskNameBase, "", names{"etl", "sub", "load", "load", "load"}},
		{"full", adapter.TaskNameFull, "", names{"etl", "sub", "load-612", "load-612", "load-612"}},
		{"flow-run", "", adapter.FlowNameFlowRun, names{"wine-cuscus", "sub-run", "wine-cuscus.load", "sub-run.load", "load"}},
		{"path", "", adapter.FlowNamePath, names{"etl", "etl.sub", "etl.load", "etl.sub.load", "load"}},
		{"path, base", adapter.TaskNameBase, adapter.FlowNamePath, names{"etl", "etl.sub", "load", "load", "load"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAdapter(t, func(s *adapter.Settings) { s.TaskNameType, s.FlowNameType = tt.tasks, tt.flows })
			flow := flowTold(t, a)
			sub, _ := a.Pin(subflowSnapshot(), &flow)
			task, _ := a.Pin(taskSnapshot(taskRow()), &flow)
			subtask, _ := a.Pin(taskSnapshot(taskRow()), &sub)
			row := taskRow()
			row.FlowRunID = nil
			s := taskSnapshot(row)
			s.Flow = nil
			alone, _ := a.Pin(s, nil)
			got := names{flow.Run.Name, sub.Run.Name, task.Run.Name, subtask.Run.Name, alone.Run.Name}
			if got != tt.want {
				t.Errorf("got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestPathNames goes down a tree of subflows with names that people do give: dots, quotes, blanks, other scripts. Each
// level's name stands under its parent's, the parent facet names the level above, and the root is the top everywhere.
func TestPathNames(t *testing.T) {
	t.Parallel()
	flows := []string{`daily.etl`, `Q1 "new" customers'`, `Übung — 数据 🚀`, `a/b\c`}
	a := newAdapter(t, func(s *adapter.Settings) { s.FlowNameType = adapter.FlowNamePath })
	path := ""
	var parent, top *adapter.Told
	for depth, name := range flows {
		s := subflowSnapshot()
		if depth == 0 {
			s = flowSnapshot(flowRow())
		}
		s.FlowRun.ID, s.Flow = uuid.NewSHA1(flowRunID, []byte(name)), &prefect.Flow{ID: flowID, Name: name}
		told, warnings := a.Pin(s, parent)
		task, _ := a.Pin(taskSnapshot(taskRow()), &told)
		path = strings.TrimPrefix(path+"."+name, ".")
		if told.Run.Name != path || task.Run.Name != path+".load" || len(warnings) > 0 {
			t.Errorf("level %d is %q, its task %q, want %q; %v", depth, told.Run.Name, task.Run.Name, path, warnings)
		}
		if top == nil {
			top = &told
		} else if *told.Parent != parent.Run || *told.Root != top.Run {
			t.Errorf("level %d has parent %+v and root %+v", depth, told.Parent, told.Root)
		}
		if *task.Parent != told.Run || *task.Root != top.Run {
			t.Errorf("the task on level %d has parent %+v and root %+v", depth, task.Parent, task.Root)
		}
		parent = &told
	}
}

// TestNamesOfGoneParents covers what is left when the flow, or the flow run's entry, is not there.
func TestNamesOfGoneParents(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	task, warnings := a.Pin(taskSnapshot(taskRow()), nil)
	if task.Run.Name != "etl.load" || task.Parent != nil || len(warnings) > 0 {
		t.Errorf("a task whose flow run is unknown: %+v, %v", task, warnings)
	}
	s := flowSnapshot(flowRow())
	s.Flow = nil
	flow, warnings := a.Pin(s, nil)
	if flow.Run.Name != flowID.String() || len(warnings) != 1 || warnings[0].Rule != "flow-unknown" {
		t.Errorf("a run whose flow is gone: %+v, %v", flow, warnings)
	}
}

func TestUnfitNames(t *testing.T) {
	t.Parallel()
	a := newAdapter(t, func(s *adapter.Settings) { s.FlowNameType = adapter.FlowNameFlowRun })
	tests := []struct {
		name, run string
		want      func(name string) bool
		warned    bool
	}{
		{"unchanged", `etl: daily/#1 "é" 数`, func(n string) bool { return n == `etl: daily/#1 "é" 数` }, false},
		{"newline", "a\r\nb", func(n string) bool { return n == "a__b" }, true},
		{"blank", " \t", func(n string) bool { return n == "unnamed" }, true},
		{"too long", strings.Repeat("é", 3000), func(n string) bool { return len(n) <= 1000 && strings.HasPrefix(n, "éé") }, true},
		{"a secret", "copy postgres://u:hunter2@h/db", func(n string) bool { return !strings.Contains(n, "hunter2") }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			row := flowRow()
			row.Name = tt.run
			told, warnings := a.Pin(flowSnapshot(row), nil)
			if !tt.want(told.Run.Name) {
				t.Errorf("got %q", told.Run.Name)
			}
			if warned := len(warnings) == 1 && warnings[0].Rule == "name-replaced"; warned != tt.warned {
				t.Errorf("warnings: %v", warnings)
			}
		})
	}
}
