package config_test

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/openlineage"
)

// What the settings leave out is read from git's own files, as the Python client reads them.
func TestSourceCodeLocation(t *testing.T) {
	t.Parallel()
	const (
		on     = viaNoop + "facets: {source_code_location: {disabled: false}}\n"
		remote = "[core]\n\tbare = false\n[remote \"upstream\"]\n\turl = https://example.com/other\n[remote \"origin\"]\n\turl = https://u:p@example.com/code.git\n\tfetch = x\n"
		url    = "https://example.com/code.git"
	)
	for _, test := range []struct {
		name  string
		yaml  string
		env   []string
		files map[string]string
		want  *openlineage.SourceCodeLocationJobFacet
	}{
		{name: "off", yaml: viaNoop + "facets: {source_code_location: {repo_url: x}}\n"},
		{name: "nothing known", yaml: on},
		{name: "too long", yaml: viaNoop + "facets: {source_code_location: {disabled: false, repo_url: 'https://h/" + strings.Repeat("x", 246) + "'}}\n"},
		{
			name: "long", yaml: viaNoop + "facets: {source_code_location: {disabled: false, repo_url: 'https://u:p@h/" + strings.Repeat("x", 245) + "'}}\n",
			want: &openlineage.SourceCodeLocationJobFacet{
				URL: "https://h/" + strings.Repeat("x", 245), RepoURL: "https://h/" + strings.Repeat("x", 245),
			},
		},
		{
			name: "all set",
			yaml: viaNoop + "facets: {source_code_location: {disabled: false, repo_url: 'https://u:p@h/x', version: v, tag: t, branch: b, pull_request_number: 7}}\n",
			want: &openlineage.SourceCodeLocationJobFacet{URL: "https://h/x", RepoURL: "https://h/x", Version: "v", Tag: "t", Branch: "b", PullRequestNumber: "7"},
		},
		{
			name: "a branch", yaml: on, env: []string{"GITHUB_REF=refs/pull/12/merge"},
			files: map[string]string{
				".git/HEAD": "ref: refs/heads/dev/x\n", ".git/config": remote, ".git/refs/heads/dev/x": "c1\n",
				".git/refs/tags/rel/v1": "c1\n", ".git/refs/tags/old": "c0\n",
			},
			want: &openlineage.SourceCodeLocationJobFacet{URL: url, RepoURL: url, Version: "c1", Branch: "dev/x", Tag: "rel/v1", PullRequestNumber: "12"},
		},
		{
			name: "packed", yaml: on, env: []string{"GITHUB_REF=refs/heads/main", "BITBUCKET_PR_ID=3", "CI_MERGE_REQUEST_IID=4"},
			files: map[string]string{
				".git/HEAD": "ref: refs/heads/main\n", ".git/config": remote,
				".git/packed-refs": "# pack-refs with: peeled\nc2 refs/heads/main\nt0 refs/tags/v0\n^c0\nt2 refs/tags/v2\n^c2\n",
			},
			want: &openlineage.SourceCodeLocationJobFacet{URL: url, RepoURL: url, Version: "c2", Branch: "main", Tag: "v2", PullRequestNumber: "4"},
		},
		{
			name: "no branch, tag of its own, settings first", yaml: viaNoop + "facets: {source_code_location: {disabled: false, version: mine}}\n",
			files: map[string]string{".git/HEAD": "c3\n", ".git/config": remote, ".git/packed-refs": "c3 refs/tags/v3\n"},
			want:  &openlineage.SourceCodeLocationJobFacet{URL: url, RepoURL: url, Version: "mine", Tag: "v3"},
		},
		{
			name: "elsewhere", yaml: on,
			files: map[string]string{".git": "gitdir: ../real\n", "../real/HEAD": "ref: refs/heads/main\n", "../real/config": remote},
			want:  &openlineage.SourceCodeLocationJobFacet{URL: url, RepoURL: url, Branch: "main"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := yml(test.yaml)
			for name, content := range test.files {
				if rest, ok := strings.CutPrefix(name, "../"); ok {
					files["/srv/"+rest] = content
				} else {
					files[workDir+"/"+name] = content
				}
			}
			cfg, warnings := mustLoad(t, system{env: test.env, files: files})
			if test.want != nil {
				test.want.Type = "git"
			}
			equal(t, test.want, cfg.OpenLineage.Additions.Location)
			want := map[string]string{
				"nothing known": "there is no repo_url, and no git repository with a remote named origin in " + workDir,
				"too long":      "the repository's address is longer than 255 characters; set a shorter one as repo_url",
			}[test.name]
			if want != "" {
				equal(t, []string{ourFile + ":2: facets.source_code_location: has no effect: " + want}, lines(warnings))
			}
		})
	}
}
