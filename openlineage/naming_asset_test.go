package openlineage_test

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/openlineage"
)

func TestNameAsset(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, key       string
		namespace, want string
	}{
		{"object", "s3://lake/raw/orders.parquet", "s3://lake", "raw/orders.parquet"},
		{"object of another name of the store", "s3a://lake/raw/", "s3://lake", "raw"},
		{"file", "file:///data/x.csv", "file", "/data/x.csv"},
		{"topic", "kafka://broker.example.com/orders", "kafka://broker.example.com:9092", "orders"},
		{"table", "postgres://db.example.com/shop/orders", "postgres://db.example.com:5432", "shop.public.orders"},
		{"table and schema", "postgresql://u:p@db.example.com:6543/shop/sales/orders", "postgres://db.example.com:6543", "shop.sales.orders"},
		{"local server", "mysql://localhost/shop/orders", "mysql://localhost:3306", "shop.orders"},
		{"bigquery", "bigquery://project/dataset/table", "bigquery", "project.dataset.table"},
		{"snowflake with its account", "snowflake://org-acct/DB/S/T", "snowflake://org-acct", "DB.S.T"},
		{"snowflake as prefect-dbt has it", "snowflake://db/schema/table", "snowflake://db", "schema/table"},
		{"postgres as prefect-dbt has it", "postgres://db/schema/table", "postgres://db", "schema/table"},
		{"nothing but a name", "postgres://dbtable", "postgres", "dbtable"},
		{"database in a file", "duckdb:///customers_db/customers", "duckdb:///customers_db", "customers"},
		{"no place at all", "custom:///customers", "custom", "customers"},
		{"unknown scheme", "tableau://server.example.com/workbooks/7", "tableau://server.example.com", "workbooks/7"},
		{"credentials", "sftp://user:secret@host/in/x.csv", "sftp://host", "in/x.csv"},
		{"password behind a table", "postgres://db.example.com/shop/orders?password=hunter2", "postgres://db.example.com:5432", "shop.public.orders"},
		{"token in a path", "tableau://host/ghp_abcdefghijklmnopqrstuvwxyz0123456789/x", "tableau://host", "***/x"},
		{"token as a table", "postgres://h.example/shop/ghp_abcdefghijklmnopqrstuvwxyz0123456789", "postgres://h.example:5432", "shop.public.***"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			namespace, name, err := openlineage.NameAsset(tt.key, openlineage.SpecNaming)
			if err != nil || namespace != tt.namespace || name != tt.want {
				t.Errorf("NameAsset(%q) = %q, %q, %v, want %q, %q", tt.key, namespace, name, err, tt.namespace, tt.want)
			}
		})
	}
	t.Run("as given", func(t *testing.T) {
		t.Parallel()
		namespace, name, err := openlineage.NameAsset("s3a://lake/raw/x", openlineage.VerbatimNaming)
		if err != nil || namespace != "s3a://lake" || name != "raw/x" {
			t.Errorf("got %q, %q, %v", namespace, name, err)
		}
	})
	for _, key := range []string{"", "no URI", "s3://", "://", "a://\n", "x:///" + strings.Repeat("y", 3000)} {
		if namespace, name, err := openlineage.NameAsset(key, openlineage.SpecNaming); err == nil {
			t.Errorf("NameAsset(%.40q) = %q, %q, want an error", key, namespace, name)
		}
	}
}

// TestAssetAndTableAreOne names a table the same whether an artifact or an asset says it.
func TestAssetAndTableAreOne(t *testing.T) {
	t.Parallel()
	for key, row := range map[string][2]string{
		"duckdb:///customers_db/customers":       {"duckdb:///customers_db", "customers"},
		"postgres://h.example/shop/sales/orders": {"postgresql://u:p@h.example/shop", "sales.orders"},
		"s3://lake/raw/x.parquet":                {"s3://lake/raw", "x.parquet"},
		"bigquery://p/d/t":                       {"bigquery://p/d", "t"},
	} {
		namespace, name, err := openlineage.NameAsset(key, openlineage.SpecNaming)
		otherNamespace, otherName, otherErr := openlineage.NameDataset(row[0], row[1], openlineage.SpecNaming)
		if err != nil || otherErr != nil || namespace != otherNamespace || name != otherName {
			t.Errorf("%s is %q, %q, %v; as a row it is %q, %q, %v", key, namespace, name, err, otherNamespace, otherName, otherErr)
		}
	}
}

func FuzzNameAsset(f *testing.F) {
	f.Add("s3://lake/raw/orders.parquet")
	f.Add("postgres://u:p@h:1/db/s/t")
	f.Add("bigquery://p/d/t")
	f.Add("postgres://h.example/db/t?password=Qz7xCanary")
	f.Fuzz(func(t *testing.T, key string) {
		for _, mode := range []openlineage.Naming{openlineage.SpecNaming, openlineage.VerbatimNaming} {
			namespace, name, err := openlineage.NameAsset(key, mode)
			if err != nil {
				continue
			}
			if again, as, err := openlineage.CheckDataset(namespace, name); err != nil || again != namespace || as != name {
				t.Errorf("NameAsset(%q) = %q, %q, of which CheckDataset makes %q, %q, %v", key, namespace, name, again, as, err)
			}
		}
	})
}
