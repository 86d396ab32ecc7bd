package adapter_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

type (
	rule  = adapter.Rule
	scope = adapter.Scope
)

func withPolicy(t testing.TB, rules ...rule) *adapter.Adapter {
	t.Helper()
	policy, err := adapter.NewPolicy(rules)
	if err != nil {
		t.Fatalf("NewPolicy: %v", err)
	}
	return newAdapter(t, func(s *adapter.Settings) { s.Policy = policy })
}

// world is a flow run with a deployment, an inline subflow, a run_deployment child, and a task in the flow run.
type world struct {
	flow, sub, child, task prefect.Snapshot
}

func newWorld() world {
	deployment := &prefect.Deployment{ID: deploymentID, Name: "nightly", WorkPoolName: new("k8s"), Tags: []string{"prod"}}
	flow := flowSnapshot(flowRow())
	flow.FlowRun.DeploymentID, flow.FlowRun.WorkPoolName, flow.Deployment = new(deploymentID), new("k8s"), deployment
	flow.FlowRun.Tags = []string{"prod", "team:a"}
	child := subflowSnapshot()
	child.FlowRun.ID, child.FlowRun.DeploymentID = uuid.MustParse("df80ef7e-1e2c-49a3-8bb1-dd13078ae9ee"), new(deploymentID)
	child.Flow = &prefect.Flow{ID: subFlowID, Name: "child"}
	child.Deployment = &prefect.Deployment{ID: deploymentID, Name: "on its own"}
	task := taskSnapshot(taskRow())
	task.Deployment, task.TaskRun.Tags = deployment, []string{"io"}
	return world{flow: flow, sub: subflowSnapshot(), child: child, task: task}
}

// silent names the runs that are not told about, each with what decided.
func (w world) silent(a *adapter.Adapter) []string {
	flow, _ := a.Pin(w.flow, nil)
	said := []string{}
	add := func(name string, s prefect.Snapshot, parent *adapter.Told) {
		told, _ := a.Pin(s, parent)
		decision := a.Decide(s, parent)
		if told.Ruling != decision.Ruling {
			name += " (pinned otherwise)"
		}
		if told.Ruling.Silent() {
			said = append(said, name+": "+decision.By)
		}
	}
	add("flow", w.flow, nil)
	add("sub", w.sub, &flow)
	add("child", w.child, &flow)
	add("task", w.task, &flow)
	return said
}

func TestPolicyRules(t *testing.T) {
	t.Parallel()
	off := func(s scope) rule { return rule{Scope: s} }
	on := func(s scope) rule { return rule{Scope: s, Emit: true} }
	all := []string{"flow: rule-1", "sub: flow-run", "task: flow-run"}
	for name, tt := range map[string]struct {
		rules []rule
		want  []string
	}{
		"no rules":                     {nil, nil},
		"a flow, and what it runs":     {[]rule{off(scope{Flow: []string{"etl"}})}, all},
		"another flow":                 {[]rule{off(scope{Flow: []string{"etl2", "et"}})}, nil},
		"case counts":                  {[]rule{off(scope{Flow: []string{"ETL"}})}, nil},
		"one of two flows":             {[]rule{off(scope{Flow: []string{"x", "etl"}})}, all},
		"a glob":                       {[]rule{off(scope{Flow: []string{"e?*l"}})}, all},
		"a glob's dot is a dot":        {[]rule{off(scope{Flow: []string{"e.l"}})}, nil},
		"exact takes no glob":          {[]rule{{Scope: scope{Flow: []string{"e*"}}, Match: adapter.MatchExact}}, nil},
		"a regex":                      {[]rule{{Scope: scope{Flow: []string{"e(t|x)l"}}, Match: adapter.MatchRegex}}, all},
		"a regex matches the whole":    {[]rule{{Scope: scope{Flow: []string{"et|tl"}}, Match: adapter.MatchRegex}}, nil},
		"a deployment":                 {[]rule{off(scope{Deployment: []string{"nightly"}})}, all},
		"a deployment with its flow":   {[]rule{off(scope{Deployment: []string{"etl/nightly"}})}, all},
		"a deployment of another flow": {[]rule{off(scope{Deployment: []string{"x/nightly"}})}, nil},
		"the deployment's work pool":   {[]rule{off(scope{WorkPool: []string{"k8s"}})}, all},
		"a tag of the run":             {[]rule{off(scope{Tag: []string{"team:*"}})}, all},
		"a tag of the deployment":      {[]rule{off(scope{Tag: []string{"prod"}})}, all},
		"a tag of the task":            {[]rule{off(scope{Tag: []string{"io"}})}, []string{"task: rule-1"}},
		"all keys must match":          {[]rule{off(scope{Flow: []string{"etl"}, Tag: []string{"other"}})}, nil},
		"a task":                       {[]rule{off(scope{Task: []string{"load"}})}, []string{"task: rule-1"}},
		"a task of a flow":             {[]rule{off(scope{Task: []string{"*"}, Flow: []string{"etl"}})}, []string{"task: rule-1"}},
		"a task of a deployment":       {[]rule{off(scope{Task: []string{"*"}, Deployment: []string{"nightly"}})}, []string{"task: rule-1"}},
		"a task of another flow":       {[]rule{off(scope{Task: []string{"*"}, Flow: []string{"sub"}})}, nil},
		"everything":                   {[]rule{off(scope{})}, []string{"flow: rule-1", "sub: rule-1", "child: rule-1", "task: flow-run"}},
		"everything but one flow":      {[]rule{off(scope{}), on(scope{Flow: []string{"etl"}})}, []string{"child: rule-1"}},
		"a flow without its tasks":     {[]rule{{Scope: scope{Flow: []string{"etl"}}, Emit: true, EmitTasks: new(false)}}, []string{"task: flow-run"}},
		"a flow's tasks alone":         {[]rule{{Scope: scope{Flow: []string{"etl"}}, EmitTasks: new(true)}}, []string{"flow: rule-1", "sub: flow-run"}},
		"no tasks at all":              {[]rule{{Emit: true, EmitTasks: new(false)}}, []string{"task: flow-run"}},
		"the child by itself":          {[]rule{off(scope{Flow: []string{"child"}})}, []string{"child: rule-1"}},

		"the last of equals":            {[]rule{off(scope{Flow: []string{"etl"}}), on(scope{Flow: []string{"e*"}})}, nil},
		"deployment before flow":        {[]rule{on(scope{Deployment: []string{"nightly"}}), off(scope{Flow: []string{"etl"}})}, nil},
		"flow before tag":               {[]rule{on(scope{Flow: []string{"etl"}}), off(scope{Tag: []string{"prod"}})}, nil},
		"tag before work pool":          {[]rule{on(scope{Tag: []string{"prod"}}), off(scope{WorkPool: []string{"k8s"}})}, nil},
		"task before all of the flow":   {[]rule{on(scope{Task: []string{"load"}}), off(scope{Deployment: []string{"nightly"}})}, []string{"flow: rule-2", "sub: flow-run"}},
		"the flow run's before tags":    {[]rule{on(scope{Flow: []string{"etl"}}), off(scope{Tag: []string{"io"}})}, nil},
		"a subflow's own as strong":     {[]rule{off(scope{Flow: []string{"etl"}}), on(scope{Flow: []string{"sub"}})}, []string{"flow: rule-1", "task: flow-run"}},
		"a subflow's own that is less":  {[]rule{off(scope{Deployment: []string{"nightly"}}), on(scope{Flow: []string{"sub"}})}, all},
		"locked before what is special": {[]rule{{Locked: true}, on(scope{Deployment: []string{"*"}})}, []string{"flow: rule-1", "sub: rule-1", "child: rule-1", "task: flow-run"}},
		"the most special of locked":    {[]rule{{Scope: scope{Flow: []string{"etl"}}, Locked: true, Emit: true}, {Locked: true}}, []string{"child: rule-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.want == nil {
				tt.want = []string{}
			}
			if diff := cmp.Diff(tt.want, newWorld().silent(withPolicy(t, tt.rules...))); diff != "" {
				t.Errorf("silent runs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPolicyAuthors(t *testing.T) {
	t.Parallel()
	tags := func(tags ...string) []string { return tags }
	type given struct {
		run, deployment, task []string // tags
		runEnv, deploymentEnv string
		rules                 []rule
	}
	off := []rule{{}}
	for name, tt := range map[string]struct {
		given
		want   []string
		warned bool
	}{
		"the run's tag":                    {given{run: tags("OpenLineage:Off")}, []string{"flow: tag", "sub: flow-run", "task: flow-run"}, false},
		"the deployment's tag":             {given{run: tags("openlineage:off"), deployment: tags("openlineage:off")}, []string{"flow: tag", "sub: flow-run", "task: flow-run"}, false},
		"the run's before the deployment":  {given{run: tags("openlineage:on", "openlineage:off"), deployment: tags("openlineage:off")}, nil, false},
		"and the other way round":          {given{run: tags("openlineage:on", "openlineage:off"), deployment: tags("openlineage:on")}, []string{"flow: tag", "sub: flow-run", "task: flow-run"}, false},
		"the task's tag":                   {given{task: tags("openlineage:off")}, []string{"task: tag"}, false},
		"the task's before its flow run":   {given{run: tags("openlineage:off"), task: tags("openlineage:on")}, []string{"flow: tag", "sub: flow-run"}, false},
		"both on one run":                  {given{run: tags("openlineage:on", "openlineage:off")}, []string{"flow: tag", "sub: flow-run", "task: flow-run"}, true},
		"a word that is none":              {given{run: tags("openlineage:no")}, nil, true},
		"another tag":                      {given{run: tags("openlineage", "xopenlineage:off")}, nil, false},
		"before rules":                     {given{run: tags("openlineage:on"), rules: off}, []string{"child: rule-1"}, false},
		"not before locked rules":          {given{run: tags("openlineage:on"), task: tags("openlineage:on"), rules: []rule{{Locked: true}}}, []string{"flow: rule-1", "sub: rule-1", "child: rule-1", "task: flow-run"}, false},
		"the run's variable":               {given{runEnv: `{"OPENLINEAGE_DISABLED":"True"}`}, []string{"flow: variable", "sub: flow-run", "task: flow-run"}, false},
		"the run's variable as a boolean":  {given{runEnv: `{"OPENLINEAGE_DISABLED":true}`}, []string{"flow: variable", "sub: flow-run", "task: flow-run"}, false},
		"the deployment's variable":        {given{deploymentEnv: `{"OPENLINEAGE_DISABLED":"true"}`}, []string{"flow: variable", "sub: flow-run", "task: flow-run"}, false},
		"the run takes it back":            {given{runEnv: `{"OPENLINEAGE_DISABLED":"false"}`, deploymentEnv: `{"OPENLINEAGE_DISABLED":"true"}`}, nil, false},
		"the run's tag takes it back":      {given{run: tags("openlineage:on"), deploymentEnv: `{"OPENLINEAGE_DISABLED":"true"}`}, nil, false},
		"the run's variable and its tag":   {given{run: tags("openlineage:on"), runEnv: `{"OPENLINEAGE_DISABLED":"true"}`}, []string{"flow: variable", "sub: flow-run", "task: flow-run"}, false},
		"a variable that disables nothing": {given{runEnv: `{"OPENLINEAGE_DISABLED":"0"}`}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.flow.FlowRun.Tags, w.flow.Deployment.Tags, w.task.TaskRun.Tags = tt.run, tt.deployment, tt.task
			if tt.runEnv != "" {
				w.flow.FlowRun.JobVariables = env(tt.runEnv)
			}
			if tt.deploymentEnv != "" {
				w.flow.Deployment.JobVariables = env(tt.deploymentEnv)
			}
			if tt.want == nil {
				tt.want = []string{}
			}
			a := withPolicy(t, tt.rules...)
			if diff := cmp.Diff(tt.want, w.silent(a)); diff != "" {
				t.Errorf("silent runs (-want +got):\n%s", diff)
			}
			_, warnings := a.Pin(w.flow, nil)
			if warned := len(warnings) == 1 && warnings[0].Rule == "policy-tag"; warned != tt.warned {
				t.Errorf("warnings: %v", warnings)
			}
		})
	}
}

// TestPolicyAncestry checks that runs below one that is not told about hang on the nearest one above it that is.
func TestPolicyAncestry(t *testing.T) {
	t.Parallel()
	const outside = `{"OPENLINEAGE_PARENT_ID":"airflow/daily/5f0c3ab0-6c0f-4b53-9f9e-0a3bd8c0a111"}`
	run := func(a *adapter.Adapter, variables string) (flow, sub, task adapter.Told) {
		s := flowSnapshot(flowRow())
		if variables != "" {
			s.FlowRun.JobVariables = env(variables)
		}
		flow, _ = a.Pin(s, nil)
		sub, _ = a.Pin(subflowSnapshot(), &flow)
		task, _ = a.Pin(taskSnapshot(taskRow()), &sub)
		return flow, sub, task
	}
	type place struct {
		Parent, Root *adapter.RunRef
		Ancestor     uuid.UUID
	}
	of := func(t adapter.Told) place { return place{t.Parent, t.Root, t.Ancestor} }
	check := func(t *testing.T, what string, got adapter.Told, want place) {
		t.Helper()
		if diff := cmp.Diff(want, of(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	t.Run("the subflow in the middle", func(t *testing.T) {
		t.Parallel()
		a := withPolicy(t, rule{Scope: scope{Flow: []string{"sub"}}, EmitTasks: new(true)})
		flow, sub, task := run(a, "")
		if !sub.Ruling.Silent() || sub.JobFacets != nil || sub.Run.Name != "sub" || task.Run.Name != "sub.load" {
			t.Errorf("sub is %+v, its task's job %s", sub, task.Run.Name)
		}
		check(t, "task", task, place{&flow.Run, &flow.Run, flow.ID})
	})
	t.Run("the top", func(t *testing.T) {
		t.Parallel()
		a := withPolicy(t, rule{Scope: scope{Flow: []string{"etl"}}}, rule{Scope: scope{Flow: []string{"sub"}}, Emit: true})
		_, sub, task := run(a, "")
		check(t, "sub", sub, place{})
		check(t, "task", task, place{&sub.Run, &sub.Run, sub.ID})
	})
	t.Run("the top with a parent from outside", func(t *testing.T) {
		t.Parallel()
		a := withPolicy(t, rule{Scope: scope{Flow: []string{"etl"}}}, rule{Scope: scope{Flow: []string{"sub"}}, Emit: true})
		_, sub, task := run(a, outside)
		airflow := &adapter.RunRef{RunID: uuid.MustParse("5f0c3ab0-6c0f-4b53-9f9e-0a3bd8c0a111"), Namespace: "airflow", Name: "daily"}
		check(t, "sub", sub, place{airflow, airflow, uuid.UUID{}})
		check(t, "task", task, place{&sub.Run, airflow, sub.ID})
	})
	t.Run("all but the task", func(t *testing.T) {
		t.Parallel()
		a := withPolicy(t, rule{}, rule{Scope: scope{Task: []string{"load"}}, Emit: true})
		_, _, task := run(a, "")
		check(t, "task", task, place{})
	})
}

// TestPolicyTelling checks what is said, and noted, of runs that are not told about.
func TestPolicyTelling(t *testing.T) {
	t.Parallel()
	a := withPolicy(t, rule{Scope: scope{Flow: []string{"etl"}}, EmitTasks: new(true)}, rule{Scope: scope{Task: []string{"load"}}})
	l := newListener(t, a)
	started := flowRow()
	started.State, started.EndTime = &prefect.State{Type: prefect.Running, Name: "Running", Timestamp: at(0)}, nil
	l.see(flowSnapshot(started))
	l.see(taskSnapshot(taskRow()))
	other := taskRow()
	other.ID, other.Name, other.TaskKey = uuid.MustParse("01a22d3d-1e40-7a55-831f-b237ea2c4740"), "store-612", "store-4d7a2869"
	other.TaskInputs = map[string][]prefect.TaskInput{"x": {{Type: "task_run", ID: new(taskRunID)}}}
	other.State, other.EndTime = &prefect.State{Type: prefect.Running, Name: "Running", Timestamp: at(2)}, nil
	l.see(taskSnapshot(other))
	if flow := l.ledger[flowRunID]; flow.Phase != adapter.Open || a.News(flowSnapshot(started), flow) {
		t.Errorf("the flow run is noted as %+v", flow)
	}
	l.see(flowSnapshot(flowRow()))
	if diff := cmp.Diff([]string{"START@2"}, short(l.events)); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	event := object(t, l.events[0].Body)
	if name := dig(event, "job", "name"); name != "etl.store" {
		t.Errorf("the event is about %v", name)
	}
	if dig(event, "run", "facets", "jobDependencies") != nil || dig(event, "run", "facets", "parent") != nil {
		t.Errorf("the event names a run that is not told about: %s", l.events[0].Body)
	}
	flow := l.ledger[flowRunID]
	if flow.Phase != adapter.Ended || !flow.End.Equal(at(10)) {
		t.Errorf("the flow run is noted as %+v", flow)
	}
	if load := l.ledger[taskRunID]; load.Phase != adapter.Unsaid || a.News(taskSnapshot(taskRow()), load) {
		t.Errorf("the task run is noted as %+v", load)
	}
	// The end of a flow run that is not told about ends its tasks all the same.
	ended := a.InferEnd(l.ledger[other.ID], flow)
	if diff := cmp.Diff([]string{"COMPLETE@10"}, short(ended.Events)); diff != "" {
		t.Errorf("inferred (-want +got):\n%s", diff)
	}
}

// TestPolicyGone checks that a run which is not told about ends in silence too when it is gone.
func TestPolicyGone(t *testing.T) {
	t.Parallel()
	a := withPolicy(t, rule{})
	l := newListener(t, a)
	started := flowRow()
	started.State, started.EndTime = &prefect.State{Type: prefect.Running, Name: "Running", Timestamp: at(0)}, nil
	l.see(flowSnapshot(started))
	first := a.InferGone(l.ledger[flowRunID], at(60), nil)
	second := a.InferGone(first.Told, at(60+600), nil)
	if len(first.Events)+len(second.Events) > 0 || second.Told.Phase != adapter.Ended || !second.Told.Inferred {
		t.Errorf("told %+v and %+v", first, second)
	}
}

// TestPolicyPinned checks that a ruling holds for what runs inside a run under whatever rules there are later.
func TestPolicyPinned(t *testing.T) {
	t.Parallel()
	before, after := withPolicy(t, rule{Scope: scope{Flow: []string{"etl"}}}), withPolicy(t)
	flow, _ := before.Pin(flowSnapshot(flowRow()), nil)
	if decision := after.Decide(taskSnapshot(taskRow()), &flow); !decision.Ruling.Silent() || decision.By != adapter.DecidedByFlowRun {
		t.Errorf("a task of a flow run that is not told about: %+v", decision)
	}
	if telling := after.Tell(flowSnapshot(flowRow()), flow, adapter.Beside{}); len(telling.Events) > 0 {
		t.Errorf("the flow run is told about after all: %v", short(telling.Events))
	}
}

func TestPolicyStandaloneTask(t *testing.T) {
	t.Parallel()
	row := taskRow()
	row.FlowRunID, row.Name, row.DynamicKey = nil, "load", "load-4d7a2869-x"
	s := prefect.Snapshot{TaskRun: &row}
	for name, tt := range map[string]struct {
		rule   rule
		silent bool
	}{
		"by its name":    {rule{Scope: scope{Task: []string{"load"}}}, true},
		"by everything":  {rule{}, true},
		"tasks alone":    {rule{Emit: true, EmitTasks: new(false)}, true},
		"by a flow":      {rule{Scope: scope{Flow: []string{"*"}}}, false},
		"by a work pool": {rule{Scope: scope{WorkPool: []string{"*"}}}, false},
	} {
		if told, _ := withPolicy(t, tt.rule).Pin(s, nil); told.Ruling.Silent() != tt.silent {
			t.Errorf("%s: silent is %v", name, told.Ruling.Silent())
		}
	}
}

func TestNewPolicyRefuses(t *testing.T) {
	t.Parallel()
	_, err := adapter.NewPolicy([]rule{
		{Scope: scope{Flow: []string{"("}}, Match: adapter.MatchRegex},
		{Scope: scope{Flow: []string{"("}}},
		{Scope: scope{Tag: []string{"a", " "}}},
		{Scope: scope{Task: []string{"a"}}, EmitTasks: new(true)},
		{Scope: scope{Task: []string{"a"}}, Match: "fuzzy"},
	})
	want := []string{
		`rule 1: scope.flow: "(" is no regular expression: missing closing ): ` + "`(`",
		"rule 3: scope.tag: a pattern is empty",
		"rule 4: emit_tasks does not go with scope.task: a rule about tasks says emit",
		`rule 5: scope.task: match takes glob, exact or regex, not "fuzzy"`,
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if _, err := adapter.NewPolicy(make([]rule, adapter.MaxRules+1)); err == nil {
		t.Error("too many rules pass")
	}
}

// FuzzPolicy checks that no policy and no run is too odd to be decided, that a decision is one of the words that metrics
// know, and that a pinned ruling fits into the ledger and comes to the same under every parent.
func FuzzPolicy(f *testing.F) {
	f.Add(`[{"Scope":{"Flow":["e*"],"Tag":["prod"]},"Emit":true}]`, "openlineage:off", "load-612")
	f.Add(`[{"Scope":{"Task":["[a"]},"Match":"regex"}]`, "", "")
	f.Fuzz(func(t *testing.T, text, tag, name string) {
		var rules []rule
		if json.Unmarshal([]byte(text), &rules) != nil {
			t.Skip()
		}
		policy, err := adapter.NewPolicy(rules)
		if err != nil {
			if strings.Contains(err.Error(), "\n\n") {
				t.Errorf("the error has empty lines: %q", err)
			}
			return
		}
		a := newAdapter(t, func(s *adapter.Settings) { s.Policy = policy })
		w := newWorld()
		w.flow.FlowRun.Tags, w.task.TaskRun.Name = append(w.flow.FlowRun.Tags, tag), name
		flow, _ := a.Pin(w.flow, nil)
		for _, s := range []prefect.Snapshot{w.flow, w.sub, w.child, w.task} {
			d := a.Decide(s, &flow)
			if !slices.Contains(a.DecidedBy(), d.By) || d.Why == "" {
				t.Errorf("decided by %q because of %q", d.By, d.Why)
			}
		}
	})
}

// TestPolicyOfDeployments checks that no pattern for deployments is about a flow run that has none.
func TestPolicyOfDeployments(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"*", "*/*", "etl/*"} {
		a := withPolicy(t, rule{}, rule{Scope: scope{Deployment: []string{pattern}}, Emit: true})
		s := flowSnapshot(flowRow())
		s.Flow, s.Deployment = &prefect.Flow{Name: "etl"}, nil
		if d := a.Decide(s, nil); !d.Ruling.Silent() {
			t.Errorf("%s: a flow run without a deployment is told about: %s", pattern, d.Why)
		}
		s.Deployment = &prefect.Deployment{Name: "nightly"}
		if d := a.Decide(s, nil); d.Ruling.Silent() {
			t.Errorf("%s: a flow run of a deployment is kept back: %s", pattern, d.Why)
		}
	}
}
