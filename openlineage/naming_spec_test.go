package openlineage_test

import (
	"regexp"
	"testing"

	"github.com/prefect-openlineage/listener/openlineage"
)

// TestNameDatasetOfEverySystem goes through OpenLineage's naming table system by system: what people write is named in
// the form of the table, and what is named so already stays as it is.
func TestNameDatasetOfEverySystem(t *testing.T) {
	t.Parallel()
	const (
		host  = `[a-z0-9.-]+`
		port  = `:\d+`
		part  = `[\w$-]+`
		two   = part + `\.` + part
		three = two + `\.` + part
		path  = `[^/].*`
	)
	tests := []struct {
		system          string
		uri, table      string
		namespace, name string // the form of each in the table
	}{
		{"Athena", "awsathena+rest://athena.eu-west-1.amazonaws.com:443/logs", "t", `awsathena://athena\.` + host + `\.amazonaws\.com`, three},
		{"AWS Glue", "arn:aws:glue:us-east-1:123456789012", "db.t", `arn:aws:glue:[a-z0-9-]+:\d+`, `table/` + part + `/` + part},
		{"Azure Cosmos DB", "azurecosmos://acct.documents.azure.com:443/dbs/db", "t", `azurecosmos://` + host + `/dbs/` + part, `colls/` + part},
		{"Azure Data Explorer", "https://c.westeurope.kusto.windows.net/db", "t", `azurekusto://` + host + `\.kusto\.windows\.net`, part + `/` + part},
		{"Azure Synapse", "mssql+pyodbc://u:p@ws.sql.azuresynapse.net/pool", "t", `sqlserver://` + host + port, two},
		{"BigQuery", "bigquery://proj/ds", "t", `bigquery`, three},
		{"Cassandra", "cassandra://h/ks", "t", `cassandra://` + host + port, two},
		{"Milvus", "milvus://h", "coll", `milvus://` + host + port, two},
		{"Microsoft Fabric Warehouse", "mssql://abc.datawarehouse.fabric.microsoft.com/wh", "t", `fabric-warehouse://` + host + `(` + port + `)?`, three},
		{"MySQL", "mysql+pymysql://u:p@h/shop", "t", `mysql://` + host + port, two},
		{"CrateDB", "crate://h", "t", `crate://` + host + port, three},
		{"DB2", "db2+ibm_db://h/SAMPLE", "S.T", `db2://` + host + port, three},
		{"Hive", "hive://h/warehouse", "t", `hive://` + host + port, two},
		{"MSSQL", "mssql+pymssql://h/db", "t", `mssql://` + host + port, three},
		{"OceanBase", "oceanbase+pymysql://h/db", "t", `oceanbase://` + host + port, two},
		{"Oracle", "oracle+oracledb://h/?service_name=svc", "HR.EMP", `oracle://` + host + port, three},
		{"Postgres", "postgresql+psycopg2://u:p@h/db", "t", `postgres://` + host + port, three},
		{"Teradata", "teradatasql://h/?database=db", "t", `teradata://` + host + port, two},
		{"Redshift", "redshift+psycopg2://c.abc.us-west-2.redshift.amazonaws.com/dev", "t", `redshift://` + part + `\.` + part + port, three},
		{"Snowflake", "snowflake://u:p@myorg-acct/db", "t", `snowflake://` + part + `-` + part, three},
		{"Snowflake by its locator", "snowflake://u:p@xy12345.us-east-1/db", "t", `snowflake://` + part + `\.` + part + `\.` + part, three},
		{"Spanner", "spanner+spanner:///projects/p/instances/i/databases/d", "s.t", `spanner://` + part + `:` + part, three},
		{"Trino", "trino://h/hive/sales", "t", `trino://` + host + port, three},
		{"Unity Catalog", "databricks://token:x@dbc-1.cloud.databricks.com:443/?catalog=main", "t", `unitycatalog://` + host + `(` + port + `)?`, three},
		{"ABFSS", "abfs://c@acct.dfs.core.windows.net/a", "b", `abfss://` + part + `@` + part + `\.dfs\.core\.windows\.net`, path},
		{"DBFS", "dbfs://workspace/mnt", "x", `dbfs://` + part, `/.+`},
		{"GCS", "gcs://bucket/a", "b", `gs://` + part, path},
		{"HDFS", "hdfs://nn:8020/user", "x", `hdfs://` + host + port, `/.+`},
		{"Kafka", "kafka://B1,b2", "orders", `kafka://` + host + port, part},
		{"Local file", "file:///data/x.csv", "", `file`, `/.+`},
		{"Remote file", "file://Nas/data/x.csv", "", `file://` + host, `/.+`},
		{"Box", "box://api.box.com/E1/folder", "x.csv", `box://` + host + port + `/` + part, path},
		{"FileNet", "filenet://h:9443/repo", "doc", `filenet://` + host + port + `/` + part, path},
		{"S3", "s3a://lake/raw", "x.parquet", `s3://` + part, path},
		{"SharePoint", "mssharepoint://corp.sharepoint.com/site/docs", "x.xlsx", `mssharepoint://` + host + port + `/` + part, path},
		{"WASBS", "wasb://c@acct.blob.core.windows.net/a", "b", `wasbs://` + part + `@` + part + `\.(dfs|blob)\.core\.windows\.net`, path},
		{"Pub/Sub topic", "pubsub://projects/p/topics/t", "", `pubsub`, `topic:` + part + `:` + part},
		{"Pub/Sub subscription", "pubsub://projects/p/subscriptions/s", "", `pubsub`, `subscription:` + part + `:` + part},
		{"In memory", "inmemory://tmp-1", "", `inmemory://`, part},
	}
	for _, tt := range tests {
		t.Run(tt.system, func(t *testing.T) {
			t.Parallel()
			namespace, name, err := openlineage.NameDataset(tt.uri, tt.table, openlineage.SpecNaming)
			if err != nil {
				t.Fatal(err)
			}
			for _, side := range []struct{ got, want string }{{namespace, tt.namespace}, {name, tt.name}} {
				if !regexp.MustCompile(`^` + side.want + `$`).MatchString(side.got) {
					t.Errorf("%s has not the form %s", side.got, side.want)
				}
			}
			again, sameName, err := openlineage.NameDataset(namespace, name, openlineage.SpecNaming)
			if err != nil || again != namespace || sameName != name {
				t.Errorf("%s %s is named anew as %s %s, %v", namespace, name, again, sameName, err)
			}
		})
	}
}

func TestNameDatasetLeavesSecretsOut(t *testing.T) {
	t.Parallel()
	testNaming(t, openlineage.SpecNaming, []naming{
		{"signed address as the table", "s3://lake", "s3://lake/raw/x.csv?X-Amz-Signature=hunter2&X-Amz-Credential=AKIA", "s3://lake", "raw/x.csv"},
		{"signed address in parts", "s3://lake", "raw/x.csv?X-Amz-Signature=hunter2&part=1", "s3://lake", "raw/x.csv?part=1"},
		{"signed address of another system", "thing://h", "x?sig=hunter2", "thing://h", "x"},
		{"a token known by its look", "thing://h", "x/ghp_0123456789abcdefghijklmnop", "thing://h", "x/***"},
		{"a token in a store's path", "s3://lake/ghp_0123456789abcdefghijklmnop", "x", "s3://lake", "***/x"},
		{"a token in a path", "thing://h/ghp_0123456789abcdefghijklmnop", "x", "thing://h/___", "x"},
		{"partitions stay", "s3://lake/token=a/pat=b", "x.csv", "s3://lake", "token=a/pat=b/x.csv"},
	})
}
