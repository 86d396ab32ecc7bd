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
			"type": "git", "repoUrl": "ssh://github.com/o/r.git", "path": "a.py", "url": "https://github.com/o/r/blob/HEAD/a.py",
		}},
		{"SSH", "a.py:f", []json.RawMessage{clone(`{"repository":"ssh://git@h:2222/o/r.git"}`)}, location{
			"type": "git", "repoUrl": "ssh://h:2222/o/r.git", "path": "a.py", "url": "ssh://h:2222/o/r.git",
		}},
		{"SSH without a user", "a.py:f", []json.RawMessage{clone(`{"repository":"gitlab.com:o/r.git","branch":"feature/x"}`)}, location{
			"type": "git", "repoUrl": "ssh://gitlab.com/o/r.git", "path": "a.py", "branch": "feature/x", "url": "https://gitlab.com/o/r/-/blob/feature/x/a.py",
		}},
		{"GitHub of one's own", "a.py:f", []json.RawMessage{clone(`{"repository":"https://oauth2:ghp_0123456789abcdefghij@github.acme.io/o/r.git"}`)}, location{
			"type": "git", "repoUrl": "https://github.acme.io/o/r.git", "path": "a.py", "url": "https://github.acme.io/o/r/blob/HEAD/a.py",
		}},
		{"Bitbucket of one's own", "flows/a.py:f", []json.RawMessage{clone(`{"repository":"https://git.acme.io/scm/proj/r.git","branch":"main"}`)}, location{
			"type": "git", "repoUrl": "https://git.acme.io/scm/proj/r.git", "path": "flows/a.py", "branch": "main", "url": "https://git.acme.io/projects/proj/repos/r/browse/flows/a.py?at=main",
		}},
		{"a person's Bitbucket", "a.py:f", []json.RawMessage{clone(`{"repository":"https://git.acme.io/scm/~ann/r.git"}`)}, location{
			"type": "git", "repoUrl": "https://git.acme.io/scm/~ann/r.git", "path": "a.py", "url": "https://git.acme.io/users/ann/repos/r/browse/a.py",
		}},
		{"Azure DevOps", "flows/a.py:f", []json.RawMessage{clone(`{"repository":"https://org@dev.azure.com/org/My%20Project/_git/r","branch":"main"}`)}, location{
			"type": "git", "repoUrl": "https://dev.azure.com/org/My%20Project/_git/r", "path": "flows/a.py", "branch": "main", "url": "https://dev.azure.com/org/My%20Project/_git/r?path=%2Fflows%2Fa.py&version=GBmain",
		}},
		{"Azure DevOps over SSH, a commit", "a.py:f", []json.RawMessage{clone(`{"repository":"git@ssh.dev.azure.com:v3/org/p/r","commit_sha":"abc"}`)}, location{
			"type": "git", "repoUrl": "ssh://ssh.dev.azure.com/v3/org/p/r", "path": "a.py", "version": "abc", "url": "https://dev.azure.com/org/p/_git/r?path=%2Fa.py&version=GCabc",
		}},
		{"Azure's old address", "pkg.flow", []json.RawMessage{clone(`{"repository":"https://org.visualstudio.com/p/_git/r"}`)}, location{
			"type": "git", "repoUrl": "https://org.visualstudio.com/p/_git/r", "url": "https://org.visualstudio.com/p/_git/r",
		}},
		{"credentials of every sort", "a.py:f", []json.RawMessage{clone(`{"repository":"https://github.com/o/r","credentials":"{{ prefect.blocks.github-credentials.x }}","access_token":"hunter2","include_submodules":true}`)}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "path": "a.py", "url": "https://github.com/o/r/blob/HEAD/a.py",
		}},
		{"a template for the credentials alone", "a.py:f", []json.RawMessage{clone(`{"repository":"https://{{ prefect.blocks.secret.token }}@github.com/o/r.git"}`)}, location{
			"type": "git", "repoUrl": "https://github.com/o/r.git", "path": "a.py", "url": "https://github.com/o/r/blob/HEAD/a.py",
		}},
		{"asynchronous, of Prefect 2's projects, the last clone", "a.py:f", []json.RawMessage{
			json.RawMessage(`{"prefect.projects.steps.git_clone_project":{"repository":"https://github.com/o/first"}}`),
			json.RawMessage(`{"prefect.deployments.steps.pull.agit_clone":{"repository":"https://github.com/o/second"}}`),
		}, location{
			"type": "git", "repoUrl": "https://github.com/o/second", "path": "a.py", "url": "https://github.com/o/second/blob/HEAD/a.py",
		}},
		{"odd characters in branch and file", "flows/a b#.py:f", []json.RawMessage{clone(`{"repository":"https://github.com/o/r","branch":"a#b?c"}`)}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "path": "flows/a b#.py", "branch": "a#b?c", "url": "https://github.com/o/r/blob/a%23b%3Fc/flows/a%20b%23.py",
		}},
		{"a host that is no host", "a.py:f", []json.RawMessage{clone(`{"repository":"https://a\"b/o/r"}`)}, nil},
		{"a page with a long address", strings.Repeat("f/", 120) + "a.py:f", []json.RawMessage{clone(`{"repository":"https://github.com/o/r"}`)}, location{
			"type": "git", "repoUrl": "https://github.com/o/r", "path": strings.Repeat("f/", 120) + "a.py", "url": "https://github.com/o/r",
		}},
		{"a long address", "a.py:f", []json.RawMessage{clone(`{"repository":"https://git.acme.io/` + strings.Repeat("r", 255) + `"}`)}, nil},
		{"a drive of Windows", "a.py:f", []json.RawMessage{clone(`{"repository":"C:\\git\\r"}`)}, nil},
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
