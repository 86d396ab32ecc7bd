package differential_test

import "slices"

// sectionConfigurations are what stands beside the transport.
func sectionConfigurations() []configuration {
	return slices.Concat(filterConfigurations(), tagConfigurations(), facetConfigurations(), locationConfigurations(), datasetConfigurations())
}

func beside(name, section string, env ...string) configuration {
	return configuration{name: name, yaml: viaHTTP("") + section + "\n", env: env}
}

func filterConfigurations() []configuration {
	regex := func(name, expression string) configuration {
		return beside(name, "filters: [{type: regex, regex: '"+expression+"'}]")
	}
	return []configuration{
		beside("no filters", "filters: []"),
		beside("filter by name", "filters: [{type: exact, match: 'Füße & <Zählen>/1'}]"),
		beside("filter by another name", "filters: [{type: exact, match: 'Füße'}]"),
		beside("filter by the second of two", "filters: [{type: exact, match: a}, {type: exact, match: 'Füße & <Zählen>/1'}]"),
		regex("filter by a beginning", "F.+e"),
		regex("filter by a middle", "Zählen"),
		regex("filter by all of it", "F.*/1$"),
		regex("filter by an end that is none", "F.*Z$"),
		regex("filter by letters", `\w+ & <\w+>/\d\Z`),
		regex("filter by ASCII letters", `(?a)F\w`),
		regex("filter by capitals", `(?i)FÜ`),
		regex("filter by no letters", `F[^\W\d_]{,3}\s`),
		regex("filter by what Go's expressions lack", "(?=Fü).*"),
		regex("filter by what is no expression", "("),
		beside("filter with another key", "filters: [{type: exact, color: green}]"),
		beside("filter without a type", "filters: [{match: 'Füße & <Zählen>/1'}]"),
		beside("filter of another type", "filters: [{type: glob, match: 'F*'}]"),
		beside("filter without a name", "filters: [{type: exact, regex: 'F.*'}]"),
		beside("filters that are a map", "filters: {type: exact}"),
		{name: "filter from env", yaml: viaHTTP(""), env: []string{`OPENLINEAGE__FILTERS=[{"type":"regex","regex":"Fü"}]`}},
	}
}

func tagConfigurations() []configuration {
	return []configuration{
		beside("no tags", "tags: {job: {}, run: {}}"),
		beside("tags for runs and jobs", "tags: {run: {stage: prod}, job: {owner: me}}"),
		beside("tag that is there already", "tags: {run: {TEAM: b}}"),
		beside("tags in the order of the file", "tags: {job: {z: '1', a: '2', Z: '3'}}"),
		beside("tags that are numbers", "tags: {run: {version: 1.0, build: 7, dry: true}}"),
		beside("tags with another key", "tags: {color: {a: b}}"),
		beside("tags from file and env", "tags: {run: {a: file}}", "OPENLINEAGE__TAGS__RUN__A=env", "OPENLINEAGE__TAGS__RUN__B=env"),
		{name: "tags from env", yaml: viaHTTP(""), env: []string{"OPENLINEAGE__TAGS__RUN__STAGE=prod"}},
	}
}

func facetConfigurations() []configuration {
	return []configuration{
		beside("variables as a facet", "facets: {environment_variables: [SHOWN, MISSING]}", "SHOWN=yes", "HIDDEN=yes"),
		beside("variable that is empty", "facets: {environment_variables: [SHOWN]}", "SHOWN="),
		beside("variable that is a secret", "facets: {environment_variables: [SHOP_PASSWORD]}", "SHOP_PASSWORD=hunter2"),
		beside("no variables", "facets: {environment_variables: []}"),
		beside("facets with another key", "facets: {color: green}"),
		{
			name: "variables from env", yaml: viaHTTP(""),
			env: []string{`OPENLINEAGE__FACETS__ENVIRONMENT_VARIABLES=["SHOWN"]`, "SHOWN=yes"},
		},
	}
}

// locationConfigurations are the facet sourceCodeLocation.
func locationConfigurations() []configuration {
	const (
		on     = "facets: {source_code_location: {disabled: false}}"
		commit = "0123456789abcdef0123456789abcdef01234567"
		remote = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/code.git\n"
	)
	inGit := func(name, section string, git map[string]string, env ...string) configuration {
		c := beside(name, section, env...)
		c.files = map[string]string{"work/.git/config": remote}
		for file, text := range git {
			c.files["work/.git/"+file] = text
		}
		return c
	}
	branch := map[string]string{"HEAD": "ref: refs/heads/dev/x\n", "refs/heads/dev/x": commit + "\n", "refs/tags/rel/v1": commit + "\n"}
	packed := map[string]string{
		"HEAD": "ref: refs/heads/main\n",
		"packed-refs": "# pack-refs with: peeled fully-peeled sorted\n" + commit + " refs/heads/main\n" +
			"1111111111111111111111111111111111111111 refs/tags/v2\n^" + commit + "\n",
	}
	worktree := beside("source in a worktree's folder", on)
	worktree.files = map[string]string{
		"work/.git": "gitdir: ../real\n", "real/HEAD": commit + "\n", "real/config": remote,
	}
	credentials := inGit("source whose address holds a password", on, branch)
	credentials.files["work/.git/config"] = "[remote \"origin\"]\n\turl = https://user:hunter2@example.com/code.git\n"
	return []configuration{
		beside("source location is off", "facets: {source_code_location: {disabled: true, repo_url: 'https://example.com/x'}}"),
		beside("source location without a word", "facets: {source_code_location: {repo_url: 'https://example.com/x'}}"),
		beside("source that nobody knows", on),
		beside("source by its address", "facets: {source_code_location: {disabled: false, repo_url: 'https://example.com/x'}}"),
		beside("source with all keys", "facets: {source_code_location: {disabled: false, repo_url: 'https://example.com/x', version: v1, tag: t, branch: b, pull_request_number: '7'}}"),
		beside("source with another key", "facets: {source_code_location: {disabled: false, color: green}}"),
		{
			name: "source from env", yaml: viaHTTP(""),
			env: []string{"OPENLINEAGE__FACETS__SOURCE_CODE_LOCATION__DISABLED=false", "OPENLINEAGE__FACETS__SOURCE_CODE_LOCATION__REPO_URL=https://example.com/x"},
		},
		inGit("source on a branch", on, branch),
		inGit("source among packed refs", on, packed),
		inGit("source with its own version", "facets: {source_code_location: {disabled: false, version: mine}}", branch),
		inGit("source in a pull request of GitHub", on, branch, "GITHUB_REF=refs/pull/12/merge"),
		inGit("source in a merge request of GitLab", on, branch, "CI_MERGE_REQUEST_IID=3", "GITHUB_REF=refs/pull/12/merge"),
		inGit("source on no branch", on, map[string]string{"HEAD": commit + "\n"}),
		worktree, credentials,
	}
}

func datasetConfigurations() []configuration {
	const class = "openlineage.client.dataset.trimmers."
	reduced := func(name, keys string) configuration {
		return beside(name, "dataset: {reducing_enabled: true"+keys+"}")
	}
	return []configuration{
		beside("reducing is off", "dataset: {reducing_enabled: false}"),
		reduced("reducing", ""),
		reduced("reducing without key and value", ", disabled_trimmers: ["+class+"KeyValueTrimmer]"),
		reduced("reducing without dates", ", disabled_trimmers: '"+class+"DateTrimmer; "+class+"MultiDirDateTrimmer'"),
		reduced("reducing without a trimmer that there is not", ", disabled_trimmers: [DateTrimmer]"),
		reduced("reducing with a trimmer that is off", ", disabled_trimmers: ["+class+"KeyValueTrimmer], extra_trimmers: ["+class+"KeyValueTrimmer]"),
		reduced("reducing with a class", ", extra_trimmers: [my.package.Trimmer]"),
		beside("reducing is off, with a class", "dataset: {extra_trimmers: [my.package.Trimmer]}"),
		{
			name: "reducing from env", yaml: viaHTTP(""),
			env: []string{"OPENLINEAGE__DATASET__REDUCING_ENABLED=true", "OPENLINEAGE__DATASET__DISABLED_TRIMMERS=" + class + "YearMonthTrimmer"},
		},
		beside("dataset with another key", "dataset: {color: green}"),
	}
}
