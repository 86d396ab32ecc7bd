package config_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/test/docs"
)

func TestPolicyProblems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []string // behind LISTENER_POLICY: and a blank
	}{
		"no list": {`{"scope": {}}`, []string{`takes a list of rules, such as [{"scope": {"flow": "debug-*"}, "emit": false}]: it is no list`}},
		"broken off": {"[\n  {\"emit\": false},\n  {\"emit\": }\n]", []string{
			`takes a list of rules, such as [{"scope": {"flow": "debug-*"}, "emit": false}]: line 3, column 12: invalid character '}' looking for beginning of value`,
		}},
		"a rule that is none":   {`[{"emit": true}, 1]`, []string{"rule 2: takes an object with scope, match, emit, emit_tasks, locked"}},
		"null":                  {`[null]`, []string{"rule 1: takes an object with scope, match, emit, emit_tasks, locked"}},
		"a slip":                {`[{"emitt": true}]`, []string{"rule 1: emitt: is no key here; did you mean emit?"}},
		"nothing like it":       {`[{"whatever": true}]`, []string{"rule 1: whatever: is no key here: there are scope, match, emit, emit_tasks, locked"}},
		"a slip in the scope":   {`[{"scope": {"flwo": "x"}, "emit": true}]`, []string{"rule 1: scope.flwo: is no key here; did you mean flow?"}},
		"beside the scope":      {`[{"flow": "x", "emit": true}]`, []string{`rule 1: flow: belongs into scope: {"scope": {"flow": …}, …}`}},
		"twice":                 {`[{"emit": true, "emit": false}]`, []string{"rule 1: emit is there twice"}},
		"no emit":               {`[{"scope": {"flow": "x"}}]`, []string{"rule 1: emit is missing: takes true or false"}},
		"emit as text":          {`[{"emit": "false"}]`, []string{"rule 1: emit: takes true or false"}},
		"a number for a name":   {`[{"scope": {"flow": 1}, "emit": true}]`, []string{"rule 1: scope.flow: takes a text or a list of texts"}},
		"an empty list":         {`[{"scope": {"tag": []}, "emit": true}]`, []string{"rule 1: scope.tag: takes a text or a list of texts"}},
		"an empty name":         {`[{"scope": {"tag": ["a", ""]}, "emit": true}]`, []string{"rule 1: scope.tag: a pattern is empty"}},
		"a scope that is none":  {`[{"scope": "x", "emit": true}]`, []string{"rule 1: scope: takes an object with flow, deployment, task, tag, work_pool"}},
		"no such match":         {`[{"match": "fuzzy", "emit": true}]`, []string{"rule 1: match: takes glob, exact or regex"}},
		"a bad expression":      {`[{"emit": true}, {"scope": {"flow": "a("}, "match": "regex", "emit": true}]`, []string{"rule 2: scope.flow: \"a(\" is no regular expression: missing closing ): `a(`"}},
		"emit_tasks for a task": {`[{"scope": {"task": "a"}, "emit_tasks": true, "emit": true}]`, []string{"rule 1: emit_tasks does not go with scope.task: a rule about tasks says emit"}},
		"several at once": {`[{"emitt": true, "locked": 1}, {"scope": {"taks": "x", "pool": "y"}, "emit": true}, {"emit": null}]`, []string{
			"rule 1: emitt: is no key here; did you mean emit?", "rule 1: locked: takes true or false",
			"rule 2: scope.taks: is no key here; did you mean task?", "rule 2: scope.pool: is no key here: there are flow, deployment, task, tag, work_pool",
			"rule 3: emit: takes true or false",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want, wantOfFile []string
			for _, line := range test.want {
				want = append(want, "LISTENER_POLICY: "+line)
				wantOfFile = append(wantOfFile, "LISTENER_POLICY (/etc/policy.json): "+line)
			}
			equal(t, want, problems(system{env: []string{"LISTENER_POLICY=" + test.text}}))
			equal(t, wantOfFile, problems(system{
				env: []string{"LISTENER_POLICY=/etc/policy.json"}, files: map[string]string{"/etc/policy.json": test.text},
			}))
		})
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	const text = `[{"emit": false},
		{"scope": {"flow": ["a", "b*"], "work_pool": "p"}, "match": "Glob", "emit": true, "emit_tasks": false, "locked": true},
		{"scope": {"task": "x.*"}, "match": "regex", "emit": true}]`
	for _, s := range []system{
		{env: []string{"LISTENER_POLICY=" + text}},
		{env: []string{"LISTENER_POLICY=policy.json"}, files: map[string]string{workDir + "/policy.json": text}},
	} {
		cfg, warnings := mustLoad(t, s)
		equal(t, 3, cfg.Names.Policy.Len())
		shown := ""
		for _, setting := range cfg.Settings {
			if setting.Name == "LISTENER_POLICY" {
				shown = setting.Value + " from " + setting.Origin
			}
		}
		equal(t, "3 rules from environment LISTENER_POLICY", shown)
		for _, line := range lines(warnings) {
			if strings.Contains(line, "POLICY") {
				t.Error(line)
			}
		}
	}
	if cfg, _ := mustLoad(t, system{}); cfg.Names.Policy.Len() != 0 {
		t.Error("there are rules where none are set")
	}
}

// TestPolicyGuide loads the guide's own rules.
func TestPolicyGuide(t *testing.T) {
	t.Parallel()
	section := docs.Read(t, "../../../../docs/policy.md").Section(t, "Rules")
	examples := []string{section.Fences[0].Text}
	for _, inline := range regexp.MustCompile("`(\\[[^`]+\\])`").FindAllStringSubmatch(section.Text, -1) {
		examples = append(examples, inline[1])
	}
	for _, example := range examples {
		cfg, _ := mustLoad(t, system{env: []string{"LISTENER_POLICY=" + example}})
		if cfg.Names.Policy.Len() == 0 {
			t.Errorf("no rules in %s", example)
		}
	}
	if len(examples) != 3 {
		t.Errorf("%d examples, not 3", len(examples))
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add(`[{"scope": {"flow": "a*"}, "emit": false}]`)
	f.Add(`[{"scope": {"flow": ["a"]}, "match": "regex", "emit": 1, "emit": 1}, null]`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range problems(system{env: []string{"LISTENER_POLICY=" + text}}) {
			if strings.ContainsAny(line, "\n\r") || !strings.HasPrefix(line, "LISTENER_POLICY") {
				t.Errorf("a problem reads %q", line)
			}
		}
	})
}
