package config_test

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/openlineage"
)

const (
	viaNoop = "transport: {type: noop}\n"
	ourFile = workDir + "/openlineage.yml"
)

// beside loads an openlineage.yml with sections beside a transport.
func beside(t *testing.T, sections string, env ...string) (config.OpenLineage, []string) {
	t.Helper()
	cfg, warnings := mustLoad(t, system{env: env, files: yml(viaNoop + sections)})
	return cfg.OpenLineage, lines(warnings)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	got, warnings := beside(t, "filters:\n  - {type: exact, match: etl}\n  - {type: regex, regex: 'sec.*'}\n  - {type: exact, match: 12}\n")
	equal(t, 0, len(warnings))
	matched := map[string]int{}
	for _, name := range []string{"etl", "secret", "12", "my secret"} {
		for i, filter := range got.Filters {
			if filter.Matches(name) {
				matched[name] = i
			}
		}
	}
	equal(t, map[string]int{"etl": 0, "secret": 1, "12": 2}, matched)
	cfg, _ := mustLoad(t, system{env: []string{`OPENLINEAGE__FILTERS=[{"type":"exact","match":"etl"}]`}})
	equal(t, 1, len(cfg.OpenLineage.Filters))
}

func TestTags(t *testing.T) {
	t.Parallel()
	got, warnings := beside(t, "tags:\n  run: {stage: prod, version: 1.0, n: 0x10, on: yes}\n  job: {}\n  jobs: {a: b}\n",
		"OPENLINEAGE__TAGS__RUN__ADHOC=true", "OPENLINEAGE__TAGS__RUN__STAGE=test", "OPENLINEAGE__TAGS__RUN__RATE=1.50")
	equal(t, []string{
		"OPENLINEAGE__TAGS__RUN__STAGE: does not count: " + ourFile + ":3: tags.run.stage wins over the environment",
		ourFile + ":5: tags.jobs: is no setting of OpenLineage and does not count; did you mean job?",
	}, warnings)
	user := func(key, value string) openlineage.Tag {
		return openlineage.Tag{Key: key, Value: value, Source: "USER"}
	}
	// A number's text is the one that was written: 1.0 is a version and not 1.
	equal(t, []openlineage.Tag{
		user("stage", "prod"), user("rate", "1.50"), user("adhoc", "true"), user("version", "1.0"), user("n", "0x10"), user("on", "true"),
	}, got.Additions.RunTags)
	equal(t, []openlineage.Tag(nil), got.Additions.JobTags)
}

func TestEnvironmentFacet(t *testing.T) {
	t.Parallel()
	got, warnings := beside(t, "facets: {environment_variables: [STAGE, DB_PASSWORD, DB, MISSING, STAGE, EMPTY]}\n",
		"STAGE=prod", "DB_PASSWORD=hunter2", "DB=postgres://u:hunter2@h/db", "EMPTY=")
	variable := func(name, value string) openlineage.EnvironmentVariable {
		return openlineage.EnvironmentVariable{Name: name, Value: value}
	}
	equal(t, []openlineage.EnvironmentVariable{
		variable("STAGE", "prod"), variable("DB_PASSWORD", "***"), variable("DB", "postgres://***@h/db"), variable("EMPTY", ""),
	}, got.Additions.Environment)
	const where = ourFile + ":2: facets.environment_variables: names "
	equal(t, []string{
		where + "DB_PASSWORD, which looks like a secret: events show *** for it",
		where + "DB, which looks like a secret: events show *** for it",
		where + "MISSING, which is not in the listener's environment: it is left out",
	}, warnings)
	one, _ := beside(t, "facets: {environment_variables: STAGE}\n", "STAGE=prod")
	equal(t, []openlineage.EnvironmentVariable{variable("STAGE", "prod")}, one.Additions.Environment)
}

func TestDatasetReducing(t *testing.T) {
	t.Parallel()
	const class = "openlineage.client.dataset.trimmers."
	all := openlineage.Trimmers()
	for _, test := range []struct {
		name, section string
		want          []openlineage.Trimmer
		warning       string
	}{
		{"on", "{reducing_enabled: true}", all, ""},
		{"as text", "{reducing_enabled: 'yes'}", all, ""},
		{"without some", "{reducing_enabled: true, disabled_trimmers: [" + class + "DateTrimmer, " + class + "KeyValueTrimmer]}", all[2:], ""},
		{"as one text", "{reducing_enabled: true, disabled_trimmers: ' " + class + "DateTrimmer; ;" + class + "KeyValueTrimmer'}", all[2:], ""},
		{
			"off and on again", "{reducing_enabled: true, disabled_trimmers: [" + class + "KeyValueTrimmer], extra_trimmers: " + class + "KeyValueTrimmer}",
			append(all[1:4:4], all[0]), "",
		},
		{
			"misspelt", "{reducing_enabled: true, disabled_trimmers: [" + class + "DatTrimmer]}", all,
			ourFile + ":2: dataset.disabled_trimmers: names " + class + "DatTrimmer, which is no trimmer here; did you mean " + class + "DateTrimmer?",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, warnings := beside(t, "dataset: "+test.section+"\n")
			equal(t, test.want, got.Additions.Reducer.Trimmers)
			equal(t, test.warning, strings.Join(warnings, "\n"))
		})
	}
	off, warnings := beside(t, "dataset: {reducing_enabled: false, extra_trimmers: [my.Trimmer]}\n")
	equal(t, []any{true, 0}, []any{off.Additions.Reducer == nil, len(warnings)})
}

func TestSectionProblems(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, sections, want string }{
		{"filters is a map", "filters: {type: exact}", ":2: filters: takes a list, such as [{type: exact, match: a job's name}]"},
		{"a filter is text", "filters: [etl]", ":2: filters[0]: takes keys with values"},
		{"a filter's key", "filters: [{type: exact, mach: a}]", ":2: filters[0].mach: is no such key here: takes type, match, regex; did you mean match?"},
		{"a filter without a type", "filters: [{match: a}]", ":2: filters[0]: takes type: exact with match, or type: regex with regex"},
		{"a filter of another type", "filters:\n  - {type: glob, match: a}", ":3: filters[0].type=glob: takes type: exact with match, or type: regex with regex"},
		{"a filter without a name", "filters: [{type: exact, regex: a}]", ":2: filters[0]: takes match beside type: exact"},
		{
			"a filter that looks ahead", "filters: [{type: exact, match: a}, {type: regex, regex: '(?=a)b'}]",
			`:2: filters[1].regex=(?=a)b: takes a regular expression that can be done here: this one looks ahead, which can't be done here`,
		},
		{"a tag that is a map", "tags: {run: {a: {b: c}}}", ":2: tags.run.a: takes a tag's value as text, under the tag's key"},
		{"a tag that is null", "tags: {run: {a: }}", ":2: tags.run.a: takes a tag's value as text, under the tag's key"},
		{"tags are a list", "tags: {run: [a]}", ":2: tags.run: takes keys with values"},
		{"variables in a map", "facets: {environment_variables: {a: b}}", ":2: facets.environment_variables: takes a list, each a variable's name"},
		{"variables that are maps", "facets: {environment_variables: [{a: b}]}", ":2: facets.environment_variables[0]: takes a variable's name"},
		{"a key of the source", "facets: {source_code_location: {repo: x}}", ":2: facets.source_code_location.repo: is no such key here: takes disabled, repo_url,"},
		{"a switch", "facets: {source_code_location: {disabled: maybe}}", ":2: facets.source_code_location.disabled=maybe: takes true or false"},
		{"a trimmer of one's own", "dataset: {reducing_enabled: true, extra_trimmers: [my.Trimmer]}", ":2: dataset.extra_trimmers=my.Trimmer: names a Python class, which can't be loaded here: there are openlineage."},
		{"a key of dataset", "dataset: {reducing_enable: true}", ":2: dataset.reducing_enable: is no such key here: takes reducing_enabled, disabled_trimmers, extra_trimmers; did you mean reducing_enabled?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := problems(system{files: yml(viaNoop + test.sections + "\n")})
			if len(got) == 0 || !strings.HasPrefix(got[0], ourFile+test.want) {
				t.Errorf("problems %q, want one that begins with %s", got, test.want)
			}
		})
	}
}

// What stands beside the transport is shown with the place that it came from.
func TestSectionsAreShown(t *testing.T) {
	t.Parallel()
	cfg, _ := mustLoad(t, system{
		env: []string{"OPENLINEAGE__TAGS__JOB__OWNER=me"},
		files: yml(viaNoop + "filters: [{type: exact, match: a}]\nfacets:\n  source_code_location:\n    disabled: false\n" +
			"    repo_url: https://u:p@example.com/x\n"),
	})
	var got []string
	for _, s := range cfg.Settings {
		if strings.HasPrefix(s.Name, "filters") || strings.HasPrefix(s.Name, "facets") || strings.HasPrefix(s.Name, "tags") {
			got = append(got, s.Name+"="+s.Value+" "+s.Origin)
		}
	}
	equal(t, []string{
		"tags.job.owner=me environment OPENLINEAGE__TAGS__JOB__OWNER",
		"filters[0].type=exact " + ourFile + ":2", "filters[0].match=a " + ourFile + ":2",
		"facets.source_code_location.disabled=false " + ourFile + ":5",
		"facets.source_code_location.repo_url=https://***@example.com/x " + ourFile + ":6",
	}, got)
}
