package adapter_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/prefect"
)

func TestSourceCode(t *testing.T) {
	t.Parallel()
	clone := func(inputs string) json.RawMessage {
		return json.RawMessage(`{"prefect.deployments.steps.git_clone":` + inputs + `}`)
	}
	workdir := func(directory string) json.RawMessage {
		return json.RawMessage(`{"prefect.deployments.steps.set_working_directory":{"directory":"` + directory + `"}}`)
	}
	type location = map[string]any
	tests := []struct {
		name       string
		entrypoint string
		steps      []json.RawMessage
		want       location // nil: no facet
	}{
		{"no steps", "a.py:f", nil, nil},
		{"GitHub", "flows/a.py:f", []json.RawMessage{clone(`{"repository":"https://github.com/o/r.git"}`)}, location{
			"type": "git", "repoUrl": "https://github.com/o/r.git", "path": "flows/a.py",
			"url": "https://github.com/o/r/blob/HEAD/flows/a.py",
		}},
		{"GitHub, branch, credentials", "./a.py:f", []json.RawMessage{clone(`{"repository":"https://u:tok@github.com/o/r?token=x#y","branch":"dev"}`)}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "path": "a.py", "branch": "dev",
			"url": "https://github.com/o/r/blob/dev/a.py",
		}},
		{"GitHub, commit", "a.py:f", []json.RawMessage{clone(`{"repository":"https://github.com/o/r","branch":"dev","commit_sha":"abc"}`)}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "path": "a.py", "branch": "dev", "version": "abc",
			"url": "https://github.com/o/r/blob/abc/a.py",
		}},
		{"GitLab", "a.py:f", []json.RawMessage{clone(`{"repository":"https://gitlab.acme.io/g/s/r.git","branch":"main"}`)}, location{
			"type": "git", "repoUrl": "https://gitlab.acme.io/g/s/r.git", "path": "a.py", "branch": "main",
			"url": "https://gitlab.acme.io/g/s/r/-/blob/main/a.py",
		}},
		{"Bitbucket", "a.py:f", []json.RawMessage{clone(`{"repository":"https://bitbucket.org/o/r"}`)}, location{
			"type": "git", "repoUrl": "https://bitbucket.org/o/r", "path": "a.py", "url": "https://bitbucket.org/o/r/src/HEAD/a.py",
		}},
		{"another host", `flows\a.py:f`, []json.RawMessage{clone(`{"repository":"https://git.acme.io/r.git"}`)}, location{
			"type": "git", "repoUrl": "https://git.acme.io/r.git", "path": "flows/a.py", "url": "https://git.acme.io/r.git",
		}},
		{"short SSH form", "a.py:f", []json.RawMessage{clone(`{"repository":"git@github.com:o/r.git"}`)}, location{
			"type": "git", "repoUrl": "ssh://github.com/o/r.git", "path": "a.py", "url": "ssh://github.com/o/r.git",
		}},
		{"SSH", "a.py:f", []json.RawMessage{clone(`{"repository":"ssh://git@h:2222/o/r.git"}`)}, location{
			"type": "git", "repoUrl": "ssh://h:2222/o/r.git", "path": "a.py", "url": "ssh://h:2222/o/r.git",
		}},
		{"a module's name", "pkg.flows.a", []json.RawMessage{clone(`{"repository":"https://github.com/o/r"}`)}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "url": "https://github.com/o/r",
		}},
		{"an absolute path", "/opt/a.py:f", []json.RawMessage{clone(`{"repository":"https://github.com/o/r"}`)}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "url": "https://github.com/o/r",
		}},
		{"out of the repository", "../a.py:f", []json.RawMessage{clone(`{"repository":"https://github.com/o/r"}`)}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "url": "https://github.com/o/r",
		}},
		{"a folder of the clone", "a.py:f", []json.RawMessage{
			clone(`{"id":"c","repository":"https://github.com/o/r","branch":"{{ $BRANCH }}"}`), workdir("{{ c.directory }}/sub"),
		}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "path": "sub/a.py", "url": "https://github.com/o/r/blob/HEAD/sub/a.py",
		}},
		{"the clone itself", "a.py:f", []json.RawMessage{clone(`{"repository":"https://github.com/o/r"}`), workdir("{{ c.directory }}")}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "path": "a.py", "url": "https://github.com/o/r/blob/HEAD/a.py",
		}},
		{"some folder", "a.py:f", []json.RawMessage{clone(`{"repository":"https://github.com/o/r"}`), workdir("/opt")}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "url": "https://github.com/o/r",
		}},
		{"a folder before the clone", "a.py:f", []json.RawMessage{workdir("/opt"), clone(`{"repository":"https://github.com/o/r"}`)}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "path": "a.py", "url": "https://github.com/o/r/blob/HEAD/a.py",
		}},
		{"a template", "a.py:f", []json.RawMessage{clone(`{"repository":"{{ prefect.variables.repo }}"}`)}, nil},
		{"a path", "a.py:f", []json.RawMessage{clone(`{"repository":"/srv/git/r"}`)}, nil},
		{"a file", "a.py:f", []json.RawMessage{clone(`{"repository":"file:///srv/git/r"}`)}, nil},
		{"odd steps", "a.py:f", []json.RawMessage{
			json.RawMessage(`null`), json.RawMessage(`"x"`), json.RawMessage(`{}`), clone(`[]`),
			json.RawMessage(`{"prefect.deployments.steps.run_shell_script":{"script":"x"}}`),
		}, nil},
	}
	a := newAdapter(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := flowSnapshot(flowRow())
			s.Deployment = &prefect.Deployment{ID: deploymentID, Entrypoint: &tt.entrypoint, PullSteps: tt.steps}
			told, _ := a.Pin(s, nil)
			got := bare(dig(object(t, told.JobFacets), "sourceCodeLocation"))
			var want any
			if tt.want != nil {
				want = tt.want
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJobFacets(t *testing.T) {
	t.Parallel()
	tag := func(key, value string) any { return map[string]any{"key": key, "value": value, "source": "USER"} }
	tests := []struct {
		name       string
		flow       []string
		deployment *prefect.Deployment
		tags       any
		owners     any
		text       any
	}{
		{"nothing known", nil, nil, nil, nil, nil},
		{"the flow's tags", []string{"b:2:3", "a", "b:1", "a"}, nil, []any{tag("a", "true"), tag("b", "1"), tag("b", "2:3")}, nil, nil},
		{"the deployment's tags", []string{"flow"}, &prefect.Deployment{Tags: []string{"d"}}, []any{tag("d", "true")}, nil, nil},
		{"a deployment without tags", []string{"flow"}, &prefect.Deployment{}, []any{tag("flow", "true")}, nil, nil},
		{"odd tags", []string{"", " ", ":x", "x:", " k : v "}, nil, []any{tag(":x", "true"), tag("k", "v"), tag("x:", "true")}, nil, nil},
		{"owners", []string{"owner:team b", "owner:ada", "owner", "owner:", "Owner:x"}, nil, []any{
			tag("Owner", "x"), tag("owner", "ada"), tag("owner", "team b"), tag("owner", "true"), tag("owner:", "true"),
		}, []any{map[string]any{"name": "ada"}, map[string]any{"name": "team b"}}, nil},
		{"description", nil, &prefect.Deployment{Description: new("Loads *orders*.")}, nil, nil, "Loads *orders*."},
		{"blank description", nil, &prefect.Deployment{Description: new(" \n")}, nil, nil, nil},
		{"a secret in the description", nil, &prefect.Deployment{Description: new("from postgres://u:hunter2@h/db")}, nil, nil, "from postgres://***@h/db"},
		{"a long description", nil, &prefect.Deployment{Description: new(strings.Repeat("é", 40_000))}, nil, nil, strings.Repeat("é", 32_768)},
	}
	a := newAdapter(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := flowSnapshot(flowRow())
			s.Flow.Tags, s.Deployment = tt.flow, tt.deployment
			flow, _ := a.Pin(s, nil)
			task, _ := a.Pin(prefect.Snapshot{TaskRun: new(taskRow()), Flow: s.Flow, Deployment: s.Deployment}, &flow)
			for jobType, raw := range map[string][]byte{"FLOW": flow.JobFacets, "TASK": task.JobFacets} {
				facets := object(t, raw)
				want := map[string]any{"processingType": "BATCH", "integration": "PREFECT", "jobType": jobType}
				if diff := cmp.Diff(any(want), bare(facets["jobType"])); diff != "" {
					t.Errorf("jobType (-want +got):\n%s", diff)
				}
				got := []any{dig(facets, "tags", "tags"), dig(facets, "ownership", "owners"), dig(facets, "documentation", "description")}
				if diff := cmp.Diff([]any{tt.tags, tt.owners, tt.text}, got); diff != "" {
					t.Errorf("tags, owners, documentation of the %s (-want +got):\n%s", jobType, diff)
				}
			}
		})
	}
}
