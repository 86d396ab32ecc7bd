package datadog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestReviewOfNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		namespace, name string
		want            string
	}{
		{"postgres://db:5432", "shop.public.orders", ""},
		{"postgres://db:5432", "orders", "Datadog wants three parts in the name of a table: orders of postgres://db:5432 is taken for what is above it"},
		{"bigquery", "p.d.t", ""},
		{"snowflake://org-account", "A.B", "Datadog wants three parts in the name of a table: A.B of snowflake://org-account is taken for what is above it"},
		{"redshift://123456789012:eu-west-1:c", "a.b.c", ""},
		{"redshift://c.eu-west-1:5439", "a.b.c", "Datadog knows Redshift's tables by the namespace redshift://{account}:{region}:{cluster}, and not by redshift://c.eu-west-1:5439 (DATASET_MAP changes names)"},
		{"arn:aws:glue:eu-west-1:123456789012", "a.b", ""},
		{"s3://lake", "raw/orders", ""},
		{"duckdb:///w", "orders", "Datadog does not know the namespace duckdb:///w, and does not show its datasets"},
	}
	for _, tt := range tests {
		t.Run(tt.namespace+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			tr := build(t, parse(t, to(sink), nil))
			e := event("")
			dataset := fmt.Sprintf(`{"name":%q,"namespace":%q}`, tt.name, tt.namespace)
			e.Body = []byte(strings.Replace(string(e.Body), `{"name":"a","namespace":"team"}`, dataset+","+dataset, 1))
			want := transport.Review{Copies: [][]byte{e.Body}}
			if tt.want != "" {
				want.Remarks = []string{tt.want}
			}
			if diff := cmp.Diff(want, tr.Review(e)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := len(sink.Requests()); n > 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
