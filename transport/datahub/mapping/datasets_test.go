package mapping_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport/datahub/mapping"
)

// inputOf maps an event that reads one dataset and returns its URN and what was refused.
func inputOf(t *testing.T, settings mapping.Settings, namespace, name, facets string) (string, []string) {
	t.Helper()
	dataset, err := json.Marshal(map[string]any{"namespace": namespace, "name": name, "facets": json.RawMessage(facets)})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"eventType":"COMPLETE","eventTime":"2026-11-30T02:00:00Z","run":{"runId":"r"},"job":{"namespace":"n","name":"j"},"inputs":[` + string(dataset) + `]}`
	mapped, err := mapping.New(settings).Map([]byte(body), mapping.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range mapped.Run {
		var read struct{ Inputs []string }
		if p.AspectName == "dataProcessInstanceInput" && json.Unmarshal(p.Aspect, &read) == nil {
			return read.Inputs[0], mapped.Refused
		}
	}
	return "", mapped.Refused
}

const glueLink = `{"symlinks":{"identifiers":[{"namespace":"arn:aws:glue:eu-west-1:1","name":"table/db/t","type":"TABLE"}]}}`

// Datasets are named as DataHub's own OpenLineage endpoint names them.
func TestDatasetsAreNamedAsByTheEndpoint(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, namespace, dataset, facets, platform, want string }{
		{"a database", "postgres://h:5432", "db.public.t", "{}", "postgres", "db.public.t"},
		{"another word for the platform", "sqlserver://h:1433", "db.dbo.t", "{}", "mssql", "db.dbo.t"},
		{"Athena", "awsathena://athena.eu-west-1.amazonaws.com", "c.db.t", "{}", "athena", "c.db.t"},
		{"no scheme", "bigquery", "p.d.t", "{}", "bigquery", "p.d.t"},
		{"a file of its own platform", "duckdb:///var/db.duckdb", "main.t", "{}", "duckdb", "main.t"},
		{"S3", "s3://bucket", "a/b.csv", "{}", "s3", "bucket/a/b.csv"},
		{"S3 of Hadoop, with slashes", "s3a://bucket", "/a/b/", "{}", "s3", "bucket/a/b"},
		{"Google's", "gs://bucket", "a", "{}", "gcs", "bucket/a"},
		{"Azure's", "abfss://container@account.dfs.core.windows.net", "a/b", "{}", "abs", "container@account.dfs.core.windows.net/a/b"},
		{"a local file with a host", "file://host", "/a/b.csv", "{}", "file", "host/a/b.csv"},
		{"a local file without", "file://", "/a/b.csv", "{}", "file", "/a/b.csv"},
		{"a local file as the spec has it", "file", "/a/b.csv", "{}", "file", "/a/b.csv"},
		{"DBFS", "dbfs://workspace", "/a", "{}", "dbfs", "workspace/a"},
		{"no authority", "dbfs://", "/a/b", "{}", "dbfs", "a/b"},
		{"Hadoop", "hdfs://nn:8020", "/a/b", "{}", "hdfs", "/a/b"},
		{"a user in an address", "s3://key:secret@bucket", "a", "{}", "s3", "bucket/a"},
		{"Glue", "arn:aws:glue:eu-west-1:1", "table/db/t", "{}", "glue", "db.t"},
		{"storage behind a table of Glue", "s3://bucket", "a", glueLink, "glue", "db.t"},
		{"storage behind another table", "s3://bucket", "a", `{"symlinks":{"identifiers":[{"namespace":"hive://h","name":"db.t","type":"TABLE"}]}}`, "hive", "db.t"},
		{"another link", "s3://bucket", "a", `{"symlinks":{"identifiers":[{"namespace":"x","name":"y","type":"LOCATION"}]}}`, "s3", "bucket/a"},
		{"reserved characters", "postgres://h", "fn(x),y", "{}", "postgres", "fn%28x%29%2Cy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, refused := inputOf(t, usual(), tt.namespace, tt.dataset, tt.facets)
			if want := "urn:li:dataset:(urn:li:dataPlatform:" + tt.platform + "," + tt.want + ",PROD)"; got != want || len(refused) > 0 {
				t.Errorf("got  %s %v\nwant %s", got, refused, want)
			}
		})
	}
}

func rule(t *testing.T, pattern string, change func(*mapping.Rule)) mapping.Rule {
	t.Helper()
	namespace, err := mapping.ParseNamespace(pattern)
	if err != nil {
		t.Fatal(err)
	}
	r := mapping.Rule{Namespace: namespace}
	change(&r)
	return r
}

func TestRulesForDatasets(t *testing.T) {
	t.Parallel()
	settings := usual()
	settings.Datasets = []mapping.Rule{
		rule(t, `snowflake://(\w+)-eu`, func(r *mapping.Rule) { r.Instance, r.LowerCase = "${1}_eu", true }),
		rule(t, `duckdb:///(.*)`, func(r *mapping.Rule) { r.Instance, r.Env = "$1", "DEV" }),
		rule(t, `mysql://.*`, func(r *mapping.Rule) { r.Platform, r.NamePrefix = "mariadb", "shop." }),
		rule(t, `.*`, func(r *mapping.Rule) { r.Env = "QA" }),
	}
	tests := []struct{ namespace, name, want string }{
		{"snowflake://acme-eu", "DB.T", "(urn:li:dataPlatform:snowflake,acme_eu.db.t,PROD)"},
		{"snowflake://acme-us", "DB.T", "(urn:li:dataPlatform:snowflake,DB.T,QA)"}, // the whole must match
		{"duckdb:///a.db", "t", "(urn:li:dataPlatform:duckdb,a.db.t,DEV)"},
		{"duckdb:///b.db", "t", "(urn:li:dataPlatform:duckdb,b.db.t,DEV)"},
		{"mysql://h:3306", "t", "(urn:li:dataPlatform:mariadb,shop.t,PROD)"},
		{"kafka://h:9092", "topic", "(urn:li:dataPlatform:kafka,topic,QA)"},
	}
	for _, tt := range tests {
		if got, refused := inputOf(t, settings, tt.namespace, tt.name, "{}"); got != "urn:li:dataset:"+tt.want || len(refused) > 0 {
			t.Errorf("%s %s: %s %v, want %s", tt.namespace, tt.name, got, refused, tt.want)
		}
	}
}

// A dataset that DataHub has no room for is left out and named; the rest of the event is told.
func TestADatasetThatHasNoPlace(t *testing.T) {
	t.Parallel()
	got, refused := inputOf(t, usual(), "postgres://h", strings.Repeat("t", 600), "{}")
	if got != "" || len(refused) != 1 || !strings.Contains(refused[0], "DataHub takes 512") {
		t.Errorf("%q, %v", got, refused)
	}
	if got, refused := inputOf(t, usual(), "postgres://h", "", "{}"); got != "" || len(refused) != 1 {
		t.Errorf("without a name: %q, %v", got, refused)
	}
}

func TestEnvironments(t *testing.T) {
	t.Parallel()
	if env, err := mapping.ParseEnv("dev"); env != "DEV" || err != nil {
		t.Errorf("%q, %v", env, err)
	}
	if _, err := mapping.ParseEnv("production"); err == nil || !strings.Contains(err.Error(), "PROD, DEV") {
		t.Errorf("%v", err)
	}
}
