package openlineage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/openlineage"
)

func TestAdditionsTags(t *testing.T) {
	t.Parallel()
	tag := func(key, value, source string) openlineage.Tag {
		return openlineage.Tag{Key: key, Value: value, Source: source}
	}
	for _, test := range []struct {
		name             string
		there, add, want []openlineage.Tag
	}{
		{"none there", nil, []openlineage.Tag{tag("b", "1", "USER"), tag("a", "2", "USER")}, []openlineage.Tag{tag("b", "1", "USER"), tag("a", "2", "USER")}},
		{
			"one there in another spelling", []openlineage.Tag{tag("Team", "x", "AIRFLOW"), tag("z", "true", "")}, []openlineage.Tag{tag("TEAM", "y", "USER")},
			[]openlineage.Tag{tag("z", "true", ""), tag("Team", "y", "USER")},
		},
		{
			"two there of one key", []openlineage.Tag{tag("a", "1", ""), tag("A", "2", "")}, []openlineage.Tag{tag("a", "3", "USER")},
			[]openlineage.Tag{tag("A", "3", "USER")},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var run, job openlineage.Facets
			if test.there != nil {
				run.Add(openlineage.TagsRunFacet{Tags: test.there})
				job.Add(openlineage.TagsJobFacet{Tags: test.there})
			}
			additions := openlineage.Additions{RunTags: test.add, JobTags: test.add}
			wantFacets(t, openlineage.NewFacets(openlineage.TagsRunFacet{Tags: test.want}), additions.Run(run))
			wantFacets(t, openlineage.NewFacets(openlineage.TagsJobFacet{Tags: test.want}), additions.Job(job))
		})
	}
}

func wantFacets(t *testing.T, want, got openlineage.Facets) {
	t.Helper()
	a, errA := want.Canonical("https://example.com/p")
	b, errB := got.Canonical("https://example.com/p")
	if diff := cmp.Diff(string(a), string(b)); diff != "" || errA != nil || errB != nil {
		t.Errorf("%v, %v (-want +got):\n%s", errA, errB, diff)
	}
}

func TestAdditionsLeaveAloneWhatIsThere(t *testing.T) {
	t.Parallel()
	own := openlineage.SourceCodeLocationJobFacet{Type: "git", URL: "https://example.com/own"}
	added := openlineage.SourceCodeLocationJobFacet{Type: "git", URL: "https://example.com/added"}
	additions := openlineage.Additions{
		Location: &added, Environment: []openlineage.EnvironmentVariable{{Name: "STAGE", Value: "prod"}},
	}
	wantFacets(t, openlineage.NewFacets(own), additions.Job(openlineage.NewFacets(own)))
	wantFacets(t, openlineage.NewFacets(added), additions.Job(openlineage.Facets{}))
	wantFacets(t, openlineage.NewFacets(openlineage.EnvironmentVariablesRunFacet{Variables: additions.Environment}), additions.Run(openlineage.Facets{}))

	facets := openlineage.NewFacets(own)
	var none openlineage.Additions
	wantFacets(t, facets, none.Job(facets))
	wantFacets(t, facets, none.Run(facets))
	sets := []openlineage.Dataset{{Namespace: "n", Name: "/a/day=1"}}
	if in, out := none.Datasets(sets, nil); len(in) != 1 || in[0].Name != "/a/day=1" || out != nil {
		t.Errorf("%v, %v", in, out)
	}
}
