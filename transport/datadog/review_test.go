package datadog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// A review shows the copy that is sent, and says what Datadog does not show.
func TestReview(t *testing.T) {
	t.Parallel()
	const team, known = `{"name":"a","namespace":"team"}`, `{"name":"d.s.t","namespace":"snowflake://org-account"}`
	for _, tt := range []struct {
		name, replace, by string
		want              []string
	}{
		{"as it is", team, known, nil},
		{"aborted", `"COMPLETE","inputs":[` + team, `"ABORT","inputs":[` + known, []string{"Datadog makes no span of a run that was aborted"}},
		{"without jobType", team + `],"job":{"facets":{"jobType":{"integration":"PREFECT","jobType":"TASK"}`, known + `],"job":{"facets":{`, []string{"Datadog shows no run whose job has no facet jobType"}},
		{"Redshift", `"a","namespace":"team"}]`, `"a.b.c","namespace":"redshift://cluster.eu-west-1:5439"}]`, []string{
			"Datadog knows Redshift's tables by the namespace redshift://{account}:{region}:{cluster}, and not by redshift://cluster.eu-west-1:5439 (DATASET_MAP changes names)",
		}},
		{"Datadog's Redshift", `"a","namespace":"team"}]`, `"a.b.c","namespace":"redshift://1:eu-west-1:cluster"}]`, nil},
		{"Glue", `{"name":"a","namespace":"team"}`, `{"name":"table/db/t","namespace":"arn:aws:glue:eu-west-1:1"}`, []string{
			"Datadog knows Glue's tables by the name {db}.{table}, and not by table/db/t (DATASET_MAP changes names)",
		}},
	} {
		e := event("")
		e.Body = []byte(strings.Replace(string(e.Body), tt.replace, tt.by, 1))
		env := map[string]string{"DD_ENV": "prod", "DD_SERVICE": "flows"}
		review := build(t, parse(t, to(transporttest.NewSink(t)), env)).Review(e)
		if diff := cmp.Diff(tt.want, review.Remarks); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(copyOf(t, e, env), string(review.Copies[0])); diff != "" {
			t.Errorf("%s (-sent +shown):\n%s", tt.name, diff)
		}
	}
	broken := event("")
	broken.Body = []byte("{")
	review := build(t, parse(t, to(transporttest.NewSink(t)), map[string]string{"DD_ENV": "prod"})).Review(broken)
	if len(review.Copies) != 0 || len(review.Remarks) != 1 {
		t.Errorf("%s %v", review.Copies, review.Remarks)
	}
}
