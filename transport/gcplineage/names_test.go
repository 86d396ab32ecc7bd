package gcplineage_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

type names struct{ Namespace, Name string }

// with returns an event's end with inputs and outputs.
func with(inputs, outputs []names) transport.Event {
	event := transporttest.Event(1, 1)
	list := func(all []names) string {
		made := make([]string, len(all))
		for i, n := range all {
			made[i] = fmt.Sprintf(`{"facets":{},"name":%q,"namespace":%q}`, n.Name, n.Namespace)
		}
		return "[" + strings.Join(made, ",") + "]"
	}
	body := strings.Replace(string(event.Body), `"inputs":[]`, `"inputs":`+list(inputs), 1)
	event.Body = []byte(strings.Replace(body, `"outputs":[]`, `"outputs":`+list(outputs), 1))
	return event
}

// sets returns the datasets of a body.
func sets(tb testing.TB, body []byte) (inputs, outputs []names) {
	tb.Helper()
	var event struct{ Inputs, Outputs []names }
	if err := json.Unmarshal(body, &event); err != nil {
		tb.Fatal(err)
	}
	return event.Inputs, event.Outputs
}

// Google's table of names: what is in it stays, what is not is renamed, left out or kept.
func TestUnmapped(t *testing.T) {
	t.Parallel()
	for namespace, mapped := range map[string]bool{
		"bigquery": true, "postgres://db:5432": true, "mysql://db:3306": true, "oracle://db:1521": true, "db2://db:1": true,
		"snowflake://org-account": true, "redshift://cluster.eu:5439": true, "trino://t:8080": true,
		"awsathena://athena.eu-west-1.amazonaws.com": true, "arn:aws:glue:eu-west-1:1": true, "cassandra://c:9042": true,
		"azurecosmos://h/dbs/d": true, "azurekusto://h.kusto.windows.net": true, "kafka://k:9092": true, "gs://bucket": true,
		"s3://bucket": true, "s3a://bucket": true, "s3n://bucket": true, "abfss://c@s.dfs.core.windows.net": true,
		"wasbs://c@s.dfs.core.windows.net": true, "hdfs://n:8020": true, "dbfs://w": true, "file": true, "file://host": true,
		"pubsub": true, "custom": true,
		"duckdb:///customers_db": false, "sqlserver://s:1433": false, "hive://h:10000": false, "teradata://t:1025": false,
		"crate://c:5432": false, "oceanbase://o:2881": false, "spanner://p:i": false, "sqlite:///x": false, "postgresql://db": false,
		"": false, "some words": false, "arn:aws:s3:::bucket": false,
	} {
		dataset := names{namespace, "schema.table"}
		custom := names{"custom", namespace + "/schema.table"}
		for mode, want := range map[string][]names{"custom": {custom}, "drop": nil, "asis": {dataset}} {
			if mapped {
				want = []names{dataset}
			}
			sink := transporttest.NewSink(t)
			tr := to(t, sink, map[string]any{"unmapped": mode}, static("x"))
			if err := tr.Emit(t.Context(), with([]names{dataset}, []names{dataset, {"bigquery", "p.d.t"}})); err != nil {
				t.Fatal(err)
			}
			in, out := sets(t, sink.Taken()[0].Body)
			if diff := cmp.Diff([][]names{want, append(append([]names{}, want...), names{"bigquery", "p.d.t"})}, [][]names{nilled(in), out}); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", namespace, mode, diff)
			}
		}
	}
}

func nilled(all []names) []names {
	if len(all) == 0 {
		return nil
	}
	return all
}
