package openlineage_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/openlineage"
)

type naming struct {
	name             string
	uri, table       string
	wantSpace, wantN string
}

func testNaming(t *testing.T, mode openlineage.Naming, tests []naming) {
	t.Helper()
	for _, tt := range tests {
		name := tt.name
		if name == "" {
			name = tt.uri + " " + tt.table
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace, table, err := openlineage.NameDataset(tt.uri, tt.table, mode)
			if err != nil {
				t.Fatalf("NameDataset(%q, %q): %v", tt.uri, tt.table, err)
			}
			if namespace != tt.wantSpace || table != tt.wantN {
				t.Errorf("NameDataset(%q, %q)\n got %s %s\nwant %s %s", tt.uri, tt.table, namespace, table,
					tt.wantSpace, tt.wantN)
			}
		})
	}
}

func TestNameDatasetOnDatabaseServers(t *testing.T) {
	t.Parallel()
	testNaming(t, openlineage.SpecNaming, []naming{
		{"", "postgresql://u:p@h/db", "public.t", "postgres://h:5432", "db.public.t"},
		{"", "postgres://h/db", "t", "postgres://h:5432", "db.public.t"},
		{"", "postgresql+psycopg2://u:p@DB.Example.com:6432/db?sslmode=require", "sales.t", "postgres://db.example.com:6432", "db.sales.t"},
		{"", "PostgreSQL+asyncpg://h/db", "t", "postgres://h:5432", "db.public.t"},
		{"", "jdbc:postgresql://h:5432/db?user=u&password=p", "t", "postgres://h:5432", "db.public.t"},
		{"schema from the URI", "postgresql://h/db?options=-csearch_path%3Dsales,public", "t", "postgres://h:5432", "db.sales.t"},
		{"schema from JDBC", "jdbc:postgresql://h/db?currentSchema=sales,public", "t", "postgres://h:5432", "db.sales.t"},
		{"table's own database wins", "postgresql://h/db", "other.s.t", "postgres://h:5432", "other.s.t"},
		{"no database", "postgresql://h", "t", "postgres://h:5432", "public.t"},
		{"socket", "postgresql:///db?host=/var/run/postgresql", "t", "postgres://localhost:5432", "db.public.t"},
		{"host as parameter", "postgresql:///db?host=H1&port=6000", "t", "postgres://h1:6000", "db.public.t"},
		{"first of several hosts", "postgresql://u:p@H1:5433,h2:5434/db", "t", "postgres://h1:5433", "db.public.t"},
		{"IPv6", "postgresql://u:p@[2001:DB8::0:1]:5433/db", "t", "postgres://2001:db8::1:5433", "db.public.t"},
		{"IPv6 without a port", "postgresql://[::1]/db", "t", "postgres://::1:5432", "db.public.t"},
		{"IPv6 without brackets", "postgresql://::1/db", "t", "postgres://::1:5432", "db.public.t"},
		{"escaped database", "postgresql://h/my%20db", "t", "postgres://h:5432", "my db.public.t"},
		{"password with everything", "postgresql://u:p/a?s#s@w:rd@h/db", "t", "postgres://h:5432", "db.public.t"},
		{"trailing dot of the host", "postgresql://h.example.com./db", "t", "postgres://h.example.com:5432", "db.public.t"},
		{"trailing slash", "postgresql://h/db/", "t", "postgres://h:5432", "db.public.t"},
		{"blanks around", "  postgresql://h/db ", "\tpublic.t\n", "postgres://h:5432", "db.public.t"},
		{"quoted parts", "postgresql://h/db", `"public"."t"`, "postgres://h:5432", "db.public.t"},
		{"quoted dot", "postgresql://h/db", `public."a.b"`, "postgres://h:5432", `db.public."a.b"`},
		{"quoted dot in backticks", "mysql://h/db", "`a.b`.`t`", "mysql://h:3306", `"a.b".t`},
		{"doubled quote", "postgresql://h/db", `public."a""b"`, "postgres://h:5432", `db.public.a"b`},
		{"open quote", "postgresql://h/db", `"public.t`, "postgres://h:5432", `db."public.t`},
		{"dot in the database", "postgresql://h/my.db", "t", "postgres://h:5432", `"my.db".public.t`},
		{"empty schema", "mssql://h/db", "db..t", "mssql://h:1433", "db.dbo.t"},
		{"capitals kept", "postgresql://h/Db", "Public.T", "postgres://h:5432", "Db.Public.T"},

		{"", "redshift+psycopg2://u:p@examplecluster.abc123.us-west-2.redshift.amazonaws.com:5439/dev", "public.t", "redshift://examplecluster.us-west-2:5439", "dev.public.t"},
		{"redshift serverless", "redshift://wg.123456789012.eu-west-1.redshift-serverless.amazonaws.com/dev", "t", "redshift://wg.eu-west-1:5439", "dev.public.t"},
		{"redshift as postgres", "postgresql://u:p@c.abc.us-east-1.redshift.amazonaws.com:5439/dev", "t", "redshift://c.us-east-1:5439", "dev.public.t"},
		{"redshift by an alias", "redshift://warehouse.corp/dev", "t", "redshift://warehouse.corp:5439", "dev.public.t"},
		{"redshift with IAM", "jdbc:redshift:iam://c.abc.us-east-1.redshift.amazonaws.com:5439/dev", "t", "redshift://c.us-east-1:5439", "dev.public.t"},

		{"", "mysql+pymysql://u:p@h/shop?charset=utf8mb4", "orders", "mysql://h:3306", "shop.orders"},
		{"", "mariadb+mariadbconnector://h:3307/shop", "orders", "mysql://h:3307", "shop.orders"},
		{"", "mysql://h", "shop.orders", "mysql://h:3306", "shop.orders"},
		{"mysql over several hosts", "jdbc:mysql:loadbalance://h1:3306,h2:3306/shop", "orders", "mysql://h1:3306", "shop.orders"},

		{"", "mssql+pyodbc://u:p@h:1444/db?driver=ODBC+Driver+18+for+SQL+Server", "t", "mssql://h:1444", "db.dbo.t"},
		{"brackets", "mssql+pymssql://h/db", "[sales].[Order Details]", "mssql://h:1433", "db.sales.Order Details"},
		{"linked server", "mssql://h/db", "srv.d.dbo.t", "mssql://h:1433", "srv.d.dbo.t"},
		{"named instance", `mssql+pymssql://u:p@Host\SQLExpress/db`, "t", "mssql://host/sqlexpress", "db.dbo.t"},
		{"named instance with a port", `mssql://h\inst:1450/db`, "t", "mssql://h:1450", "db.dbo.t"},
		{"jdbc sqlserver", "jdbc:sqlserver://h:1433;databaseName=db;user=u;password=p;encrypt=true", "t", "mssql://h:1433", "db.dbo.t"},
		{"jdbc instance", "jdbc:sqlserver://h;instanceName=Prod;databaseName=db", "t", "mssql://h/prod", "db.dbo.t"},
		{"odbc_connect", "mssql+pyodbc:///?odbc_connect=DRIVER%3D%7BODBC+Driver+17%7D%3BSERVER%3Dtcp%3AH%2C1435%3BDATABASE%3Ddb%3BUID%3Du%3BPWD%3Dp", "t", "mssql://h:1435", "db.dbo.t"},
		{"synapse", "mssql+pyodbc://u:p@ws.sql.azuresynapse.net/pool", "t", "sqlserver://ws.sql.azuresynapse.net:1433", "dbo.t"},
		{"synapse with a database", "mssql://ws.sql.azuresynapse.net/pool", "pool.sales.t", "sqlserver://ws.sql.azuresynapse.net:1433", "sales.t"},
		{"fabric", "mssql+pyodbc://abc.datawarehouse.fabric.microsoft.com:1433/wh", "t", "fabric-warehouse://abc.datawarehouse.fabric.microsoft.com", "wh.dbo.t"},
		{"fabric on another port", "mssql://abc.datawarehouse.fabric.microsoft.com:1500/wh", "t", "fabric-warehouse://abc.datawarehouse.fabric.microsoft.com:1500", "wh.dbo.t"},

		{"", "oracle+oracledb://u:p@h:1521/?service_name=ORCLPDB1", "HR.EMP", "oracle://h:1521", "ORCLPDB1.HR.EMP"},
		{"", "oracle+cx_oracle://u:p@h/sid", "HR.EMP", "oracle://h:1521", "sid.HR.EMP"},
		{"oracle without a schema", "oracle://h/sid", "EMP", "oracle://h:1521", "sid.EMP"},
		{"thin service", "jdbc:oracle:thin:@//H:1522/svc", "HR.EMP", "oracle://h:1522", "svc.HR.EMP"},
		{"thin service with a server type", "jdbc:oracle:thin:@//h:1522/svc:dedicated", "HR.EMP", "oracle://h:1522", "svc.HR.EMP"},
		{"thin sid", "jdbc:oracle:thin:scott/tiger@h:1521:ORCL", "HR.EMP", "oracle://h:1521", "ORCL.HR.EMP"},
		{"thin tcps", "jdbc:oracle:thin:@tcps://h:2484/svc?wallet_location=/w", "HR.EMP", "oracle://h:2484", "svc.HR.EMP"},
		{"thin descriptor", "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=H)(PORT=1523))(CONNECT_DATA=(SERVICE_NAME=svc)))", "HR.EMP", "oracle://h:1523", "svc.HR.EMP"},

		{"", "db2+ibm_db://u:p@h:50001/SAMPLE", "S.T", "db2://h:50001", "SAMPLE.S.T"},
		{"", "ibm_db_sa://h/SAMPLE", "T", "db2://h:50000", "SAMPLE.T"},
		{"jdbc db2", "jdbc:db2://h:50000/SAMPLE:currentSchema=S;user=u;password=p;", "T", "db2://h:50000", "SAMPLE.S.T"},
		{"", "hive://u@h/warehouse", "t", "hive://h:10000", "warehouse.t"},
		{"", "jdbc:hive2://h:10001/;ssl=true", "t", "hive://h:10001", "default.t"},
		{"", "cassandra://c1:9042,c2:9042/ks", "t", "cassandra://c1:9042", "ks.t"},
		{"", "milvus://h", "coll", "milvus://h:19530", "default.coll"},
		{"", "crate://h", "t", "crate://h:4200", "crate.doc.t"},
		{"", "crate://h:4200?schema=iot", "t", "crate://h:4200", "crate.iot.t"},
		{"", "jdbc:crate://h/", "t", "crate://h:5432", "crate.doc.t"},
		{"", "oceanbase+pymysql://h/db", "t", "oceanbase://h:2881", "db.t"},
		{"", "teradatasql://u:p@h/?database=db", "t", "teradata://h:1025", "db.t"},
		{"jdbc teradata", "jdbc:teradata://h/DATABASE=db,DBS_PORT=1026,USER=u", "t", "teradata://h:1026", "db.t"},
		{"", "trino://u:p@h:8443/hive/sales", "t", "trino://h:8443", "hive.sales.t"},
		{"", "trino://h/hive", "sales.t", "trino://h:8080", "hive.sales.t"},
		{"trino over TLS", "jdbc:trino://h/hive/sales?SSL=true", "t", "trino://h:443", "hive.sales.t"},
	})
}

func TestNameDatasetInTheCloud(t *testing.T) {
	t.Parallel()
	testNaming(t, openlineage.SpecNaming, []naming{
		{"", "snowflake://u:p@MyOrg-Acct/db/schema?warehouse=w&role=r", "t", "snowflake://myorg-acct", "db.schema.t"},
		{"", "snowflake://u:p@myorg-my_acct/db", "t", "snowflake://myorg-my-acct", "db.PUBLIC.t"},
		{"locator alone", "snowflake://u:p@xy12345/db/s", "t", "snowflake://xy12345.us-west-1.aws", "db.s.t"},
		{"locator and region", "snowflake://xy12345.us-east-1/db/s", "t", "snowflake://xy12345.us-east-1.aws", "db.s.t"},
		{"locator, region, cloud", "snowflake://xy12345.east-us-2.azure/db/s", "t", "snowflake://xy12345.east-us-2.azure", "db.s.t"},
		{"privatelink", "snowflake://xy12345.us-east-1.privatelink/db/s", "t", "snowflake://xy12345.us-east-1.aws", "db.s.t"},
		{"jdbc snowflake", "jdbc:snowflake://myorg-acct.snowflakecomputing.com/?db=D&schema=S&user=u&password=p", "T", "snowflake://myorg-acct", "D.S.T"},
		{"quoted snowflake", "snowflake://myorg-acct/db/s", `"My Table"`, "snowflake://myorg-acct", "db.s.My Table"},

		{"", "bigquery://proj/ds?location=EU", "t", "bigquery", "proj.ds.t"},
		{"", "bigquery://proj", "ds.t", "bigquery", "proj.ds.t"},
		{"", "bigquery://", "proj.ds.t", "bigquery", "proj.ds.t"},
		{"backticks around all", "bigquery://", "`proj.ds.t`", "bigquery", "proj.ds.t"},
		{"legacy SQL", "bigquery://", "[proj:ds.t]", "bigquery", "proj.ds.t"},
		{"project of a domain", "bigquery://example.com:proj/ds", "t", "bigquery", "example.com:proj.ds.t"},
		{"project of a domain in the table", "bigquery://p", "example.com:proj.ds.t", "bigquery", "example.com:proj.ds.t"},
		{"jdbc bigquery", "jdbc:bigquery://https://www.googleapis.com/bigquery/v2:443;ProjectId=proj;DefaultDataset=ds;OAuthType=3", "t", "bigquery", "proj.ds.t"},

		{"", "awsathena+rest://AK:SK@athena.eu-west-1.amazonaws.com:443/logs?s3_staging_dir=s3://b/x", "t", "awsathena://athena.eu-west-1.amazonaws.com", "AwsDataCatalog.logs.t"},
		{"", "awsathena+rest://athena.eu-west-1.amazonaws.com/logs?catalog_name=c", "t", "awsathena://athena.eu-west-1.amazonaws.com", "c.logs.t"},
		{"athena by region", "jdbc:awsathena://AwsRegion=us-east-1;S3OutputLocation=s3://b;Schema=logs", "t", "awsathena://athena.us-east-1.amazonaws.com", "AwsDataCatalog.logs.t"},
		{"athena's default database", "awsathena://athena.us-east-1.amazonaws.com", "t", "awsathena://athena.us-east-1.amazonaws.com", "AwsDataCatalog.default.t"},

		{"", "arn:aws:glue:us-east-1:123456789012", "db.t", "arn:aws:glue:us-east-1:123456789012", "table/db/t"},
		{"", "arn:aws:glue:us-east-1:123456789012:table/db/t", "", "arn:aws:glue:us-east-1:123456789012", "table/db/t"},
		{"", "arn:aws:glue:us-east-1:123456789012:database/db", "t", "arn:aws:glue:us-east-1:123456789012", "table/db/t"},
		{"", "arn:aws:glue:us-east-1:123456789012", "table/db/t", "arn:aws:glue:us-east-1:123456789012", "table/db/t"},
		{"another ARN", "arn:aws:dynamodb:us-east-1:1:table/x", "x", "arn:aws:dynamodb:us-east-1:1:table/x", "x"},

		{"", "spanner+spanner:///projects/p/instances/i/databases/d", "t", "spanner://p:i", "d.t"},
		{"", "spanner+spanner:///projects/p/instances/i/databases/d", "s.t", "spanner://p:i", "d.s.t"},
		{"", "jdbc:cloudspanner:/projects/p/instances/i/databases/d;credentials=/k.json", "t", "spanner://p:i", "d.t"},
		{"", "spanner://p:i/d", "s.t", "spanner://p:i", "d.s.t"},

		{"", "unitycatalog://adb-1.2.azuredatabricks.net/main/sales", "t", "unitycatalog://adb-1.2.azuredatabricks.net", "main.sales.t"},
		{"", "databricks://token:dapi@dbc-1.cloud.databricks.com:443/?http_path=/sql/1&catalog=main&schema=sales", "t", "unitycatalog://dbc-1.cloud.databricks.com", "main.sales.t"},
		{"databricks' own metastore", "databricks://token:dapi@dbc-1.cloud.databricks.com?http_path=/sql/1", "hive_metastore.s.t", "databricks://dbc-1.cloud.databricks.com_http_path=/sql/1", "hive_metastore.s.t"},

		{"", "azurecosmos://acct.documents.azure.com:443/dbs/db", "t", "azurecosmos://acct.documents.azure.com/dbs/db", "colls/t"},
		{"", "https://Cluster.westeurope.kusto.windows.net/db", "t", "azurekusto://cluster.westeurope.kusto.windows.net", "db/t"},
		{"", "kustosql+https://c.kusto.windows.net/db?msi=false", "t", "azurekusto://c.kusto.windows.net", "db/t"},
		{"kusto with the database in the table", "https://c.kusto.windows.net", "db.t", "azurekusto://c.kusto.windows.net", "db/t"},
		{"kusto with the database as a parameter", "kustokql+https://c.kusto.windows.net?database=db", "t", "azurekusto://c.kusto.windows.net", "db/t"},
		{"kusto without a database", "https://c.kusto.windows.net", "t", "https://c.kusto.windows.net", "t"},
		{"cosmos without a database", "azurecosmos://h", "t", "azurecosmos://h", "t"},
		{"cosmos with its prefix", "azurecosmos://h/dbs/db", "colls/t", "azurecosmos://h/dbs/db", "colls/t"},
		{"glue without a database", "arn:aws:glue:us-east-1:1", "t", "arn:aws:glue:us-east-1:1", "t"},
		{"glue in China", "arn:aws-cn:glue:cn-north-1:1", "db/t", "arn:aws-cn:glue:cn-north-1:1", "table/db/t"},
		{"spanner without an instance", "spanner://p", "t", "spanner://p", "t"},
		{"snowflake without an account", "snowflake:///db", "t", "snowflake:///db", "t"},
		{"account as a parameter", "snowflake:///db?account=Org-Acct", "t", "snowflake://org-acct", "db.PUBLIC.t"},
		{"athena without a region", "awsathena://", "t", "awsathena://", "t"},
		{"databricks without a catalog", "databricks://h", "s.t", "databricks://h", "s.t"},
		{"legacy SQL with a domain in backticks", "bigquery://", "`example.com:proj.ds.t`", "bigquery", "example.com:proj.ds.t"},
		{"", "azurekusto://c.kusto.windows.net", "db/t", "azurekusto://c.kusto.windows.net", "db/t"},
	})
}

func TestNameDatasetInStores(t *testing.T) {
	t.Parallel()
	testNaming(t, openlineage.SpecNaming, []naming{
		{"", "s3://lake/raw/orders.parquet", "", "s3://lake", "raw/orders.parquet"},
		{"", "s3a://lake/raw/orders/", "", "s3://lake", "raw/orders"},
		{"", "s3n://AKIA:se/cret@lake/raw", "", "s3://lake", "raw"},
		{"", "s3://lake/raw", "orders.parquet", "s3://lake", "raw/orders.parquet"},
		{"path repeats the table", "s3://lake/raw/orders.parquet", "raw/orders.parquet", "s3://lake", "raw/orders.parquet"},
		{"the bucket alone", "s3://lake", "", "s3://lake", "/"},
		{"the address as the table", "s3://lake", "s3a://lake/raw/x", "s3://lake", "raw/x"},
		{"an @ in the key", "s3://lake/raw/a@b.csv", "", "s3://lake", "raw/a@b.csv"},
		{"a glob", "s3://lake/part-?.csv", "", "s3://lake", "part-?.csv"},
		{"a query", "s3://lake/x.csv?versionId=3", "", "s3://lake", "x.csv"},
		{"double slashes count", "s3://lake//a//b", "", "s3://lake", "/a//b"},
		{"", "gs://bucket/a/b", "", "gs://bucket", "a/b"},
		{"", "gcs://bucket/a", "b", "gs://bucket", "a/b"},
		{"", "abfss://Cont@Acct.dfs.core.windows.net/a/b", "", "abfss://Cont@acct.dfs.core.windows.net", "a/b"},
		{"", "abfs://c@acct.dfs.core.windows.net/a", "", "abfss://c@acct.dfs.core.windows.net", "a"},
		{"", "wasbs://c@acct.blob.core.windows.net/a", "", "wasbs://c@acct.blob.core.windows.net", "a"},
		{"", "hdfs://nn:8020/user/x/", "", "hdfs://nn:8020", "/user/x"},
		{"name service", "hdfs://nameservice1/user/x", "", "hdfs://nameservice1", "/user/x"},
		{"default file system", "hdfs:///user/x", "", "hdfs", "/user/x"},
		{"", "dbfs:/mnt/x", "", "dbfs", "/mnt/x"},
		{"", "dbfs://workspace/mnt", "x", "dbfs://workspace", "/mnt/x"},
		{"", "file:///data/x.csv", "", "file", "/data/x.csv"},
		{"", "file://localhost/data", "x.csv", "file", "/data/x.csv"},
		{"", "file://Nas/data/x.csv", "", "file://nas", "/data/x.csv"},
		{"", "file:/data/x.csv", "", "file", "/data/x.csv"},

		{"", "kafka://B1:9093,b2:9093", "orders", "kafka://b1:9093", "orders"},
		{"", "kafka://b1/orders", "", "kafka://b1:9092", "orders"},
		{"", "pubsub://projects/p/topics/t", "", "pubsub", "topic:p:t"},
		{"", "pubsub://", "projects/p/subscriptions/s", "pubsub", "subscription:p:s"},
		{"", "pubsub://p", "t", "pubsub", "topic:p:t"},
		{"", "pubsub://", "topic:p:t", "pubsub", "topic:p:t"},
		{"subscription", "pubsub://projects/p/subscriptions/s", "", "pubsub", "subscription:p:s"},
		{"in memory by URI", "inmemory://tmp/2", "", "inmemory://", "tmp/2"},
		{"percent that escapes nothing", "file:///data/100%.csv", "", "file", "/data/100%.csv"},
		{"", "inmemory://", "tmp-1", "inmemory://", "tmp-1"},
		{"", "box://api.box.com/E1/folder/x.csv", "", "box://api.box.com:443/E1", "folder/x.csv"},
		{"", "filenet://h:9443/repo", "doc", "filenet://h:9443/repo", "doc"},
		{"", "mssharepoint://corp.sharepoint.com/site/docs", "x.xlsx", "mssharepoint://corp.sharepoint.com:443/site", "docs/x.xlsx"},
	})
}

func TestNameDatasetAsGiven(t *testing.T) {
	t.Parallel()
	testNaming(t, openlineage.SpecNaming, []naming{
		{"", "duckdb:///customers_db", "customers", "duckdb:///customers_db", "customers"},
		{"", "sqlite:////var/data/x.db", "main.t", "sqlite:////var/data/x.db", "main.t"},
		{"token of MotherDuck", "duckdb:///md:db?motherduck_token=abc&x=1", "t", "duckdb:///md:db_x=1", "t"},
		{"credentials", "clickhouse://u:p@h:8123/db", "t", "clickhouse://h:8123/db", "t"},
		{"no scheme", "warehouse", "t", "warehouse", "t"},
		{"windows path", `C:\data\x`, "t", "C:_data_x", "t"},
		{"odd characters", "duckdb:///mine and yours", "t", "duckdb:///mine_and_yours", "t"},
		{"not a port", "postgresql://h:port/db", "t", "postgresql://h:port/db", "t"},
		{"no last part", "postgresql://u:p@h/db", "public.", "postgresql://h/db", "public."},
		{"database that escapes nothing", "postgresql://h/100%", "t", "postgres://h:5432", "100%.public.t"},
		{"no server", "postgresql:db", "t", "postgresql:db", "t"},
		{"odbc without a server", "mssql+pyodbc:///?odbc_connect=DSN%3Dx%3BPWD%3Dp", "t", "mssql+pyodbc:///", "t"},
		{"credentials in the table", "custom", "foo://u:p@h/x", "custom", "foo://h/x"},
		{"kept quotes", "duckdb:///d", `"a"."b"`, "duckdb:///d", `"a"."b"`},
	})
	testNaming(t, openlineage.VerbatimNaming, []naming{
		{"verbatim", "postgresql://u:p@h/db", "public.t", "postgresql://h/db", "public.t"},
		{"verbatim store", "s3a://lake/raw", "orders", "s3a://lake/raw", "orders"},
	})
}

func TestNameDatasetRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, uri, table string
	}{
		{"nothing", "", ""},
		{"no URI", " ", "t"},
		{"no table", "postgresql://h/db", "  "},
		{"no table of an unknown system", "duckdb:///db", ""},
		{"no topic", "kafka://h", ""},
		{"no subscription", "pubsub://p", ""},
		{"nothing in memory", "inmemory://", ""},
		{"no document", "box://h/store", ""},
		{"no collection", "azurecosmos://h/dbs/db", ""},
		{"no table of Glue", "arn:aws:glue:us-east-1:1", ""},
		{"newline in the table", "duckdb:///db", "a\nb"},
		{"newline in the URI", "duckdb:///\ndb", "t"},
		{"NUL", "postgresql://h/db", "a\x00b"},
		{"line separator", "postgresql://h/db", "a\u2028b"},
		{"long name", "postgresql://h/db", strings.Repeat("x", 2600)},
		{"long namespace", "duckdb:///" + strings.Repeat("x", 1015), "t"},
		{"namespace of nothing that may be sent", "данные", "t"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if namespace, name, err := openlineage.NameDataset(tt.uri, tt.table, openlineage.SpecNaming); err == nil {
				t.Errorf("NameDataset(%q, %q) = %q, %q, want an error", tt.uri, tt.table, namespace, name)
			}
		})
	}
}

// What NameDataset gives out, CheckDataset takes as it is, and naming again what is already named changes nothing but
// in the systems whose names can't be told from tables.
func TestNameDatasetYieldsCheckedNames(t *testing.T) {
	t.Parallel()
	schemes := rapid.SampledFrom([]string{"postgresql", "mysql+pymysql", "mssql", "oracle", "snowflake", "bigquery",
		"awsathena+rest", "s3", "abfss", "file", "kafka", "pubsub", "spanner", "databricks", "jdbc:oracle:thin", "trino",
		"jdbc:sqlserver", "duckdb", "arn", "box", "hdfs", "x", "jdbc:db2", "jdbc:teradata"})
	text := rapid.StringMatching(`[a-zA-Z0-9@:/?#;=&%\[\]{}"'. _\\é\x00-]{0,40}`)
	rapid.Check(t, func(t *rapid.T) {
		uri := schemes.Draw(t, "scheme") + rapid.SampledFrom([]string{"://", ":", ":/", ":@//", ""}).Draw(t, "sep") +
			text.Draw(t, "rest")
		table := text.Draw(t, "table")
		mode := rapid.SampledFrom([]openlineage.Naming{openlineage.SpecNaming, openlineage.VerbatimNaming}).Draw(t, "mode")
		checkNamed(t, uri, table, mode)
	})
}

func FuzzNameDataset(f *testing.F) {
	f.Add("postgresql://u:p@h/db", "public.t")
	f.Add("jdbc:oracle:thin:scott/tiger@h:1521:ORCL", "HR.EMP")
	f.Add("mssql+pyodbc:///?odbc_connect=SERVER%3Dh%2C1433", "[a].[b]")
	f.Add("arn:aws:glue:us-east-1:1:table/db/t", "")
	f.Add("bigquery://", "`p.d.t`")
	f.Add("s3://b/k?x", "")
	f.Fuzz(func(t *testing.T, uri, table string) {
		checkNamed(t, uri, table, openlineage.SpecNaming)
		checkNamed(t, uri, table, openlineage.VerbatimNaming)
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

// canary is a password that no name may hold.
const canary = "Qz7xCanary"

// place is the beginning of a URI behind which a user and a password may stand.
var place = regexp.MustCompile(`^(?:jdbc:)?[a-zA-Z][a-zA-Z0-9+.-]*://`)

func checkNamed(t fataler, uri, table string, mode openlineage.Naming) {
	if strings.Contains(uri+table, canary) {
		return
	}
	checkNames(t, uri, table, mode)
	if prefix := place.FindString(uri); prefix != "" {
		checkNames(t, prefix+"user:"+canary+"@"+uri[len(prefix):], table, mode)
		checkNames(t, uri+"?password="+canary, table, mode)
	}
}

// checkNames names a dataset: what comes out may be sent, holds no password, and comes out each time.
func checkNames(t fataler, uri, table string, mode openlineage.Naming) {
	namespace, name, err := openlineage.NameDataset(uri, table, mode)
	if err != nil {
		return
	}
	gotSpace, gotName, err := openlineage.CheckDataset(namespace, name)
	if err != nil || gotSpace != namespace || gotName != name {
		t.Fatalf("NameDataset(%q, %q) = %q, %q, of which CheckDataset makes %q, %q, %v", uri, table, namespace, name,
			gotSpace, gotName, err)
	}
	if strings.Contains(namespace+name, canary) {
		t.Fatalf("NameDataset(%q, %q) = %q, %q, which hold the password", uri, table, namespace, name)
	}
	againSpace, againName, err := openlineage.NameDataset(uri, table, mode)
	if err != nil || againSpace != namespace || againName != name {
		t.Fatalf("NameDataset(%q, %q) gave two answers", uri, table)
	}
}
