package openlineage

import "strings"

// nameInCloud names tables of services that are not addressed by host and port alone.
func nameInCloud(at location, table string) (namespace, name string, ok bool) {
	switch at.scheme {
	case "snowflake":
		return nameInSnowflake(at, table)
	case "bigquery":
		return nameInBigQuery(at, table)
	case "awsathena", "athena":
		return nameInAthena(at, table)
	case "arn":
		return nameInGlue(at, table)
	case "spanner", "cloudspanner":
		return nameInSpanner(at, table)
	case "unitycatalog", "databricks":
		return nameInUnity(at, table)
	case "azurecosmos":
		return nameInCosmos(at, table)
	case "azurekusto", "kustosql", "kustokql", "https":
		return nameInKusto(at, table)
	default:
		return "", "", false
	}
}

func nameInSnowflake(at location, table string) (namespace, name string, ok bool) {
	parts, ok := tableParts(table)
	account := at.host
	if account == "" {
		account = strings.ToLower(at.param("account"))
	}
	if !ok || account == "" {
		return "", "", false
	}
	database, schema := at.segment(0), at.segment(1)
	if database == "" {
		database = at.param("db", "database")
	}
	if schema == "" {
		schema = at.param("schema")
	}
	if schema == "" {
		schema = "PUBLIC"
	}
	return "snowflake://" + snowflakeAccount(account), qualify(parts, quoteDotted(database), quoteDotted(schema)), true
}

// snowflakeAccount writes an account as the Spark, dbt and Airflow integrations do: organization-account with hyphens
// only, an old locator with its region and cloud, which are us-west-1 and aws where nothing was said.
func snowflakeAccount(account string) string {
	account = strings.TrimSuffix(account, ".snowflakecomputing.com")
	account = strings.TrimSuffix(account, ".privatelink")
	switch strings.Count(account, ".") {
	case 0:
		if strings.ContainsAny(account, "-_") {
			return strings.ReplaceAll(account, "_", "-")
		}
		return account + ".us-west-1.aws"
	case 1:
		return account + ".aws"
	default:
		return account
	}
}

func nameInBigQuery(at location, table string) (namespace, name string, ok bool) {
	project := at.authority
	if at.jdbc {
		project = at.param("projectid")
	}
	dataset := at.segment(0)
	if at.jdbc {
		dataset = at.param("defaultdataset")
	}
	// Legacy SQL writes project:dataset.table; a project of a domain holds a colon itself, behind a dot.
	table = strings.Trim(table, "[]")
	if before, after, found := strings.Cut(table, ":"); found && !strings.Contains(before, ".") {
		table = before + "." + after
	} else if found {
		var rest string
		after, rest, _ = strings.Cut(after, ".")
		project, table = strings.TrimPrefix(before, "`")+":"+after, strings.TrimSuffix(rest, "`")
	}
	parts, ok := tableParts(table)
	if !ok {
		return "", "", false
	}
	return "bigquery", qualify(parts, project, dataset), true
}

func nameInAthena(at location, table string) (namespace, name string, ok bool) {
	parts, ok := tableParts(table)
	host := at.host
	if region := at.param("awsregion", "region", "region_name"); !strings.Contains(host, ".") && region != "" {
		host = "athena." + strings.ToLower(region) + ".amazonaws.com"
	}
	if !ok || !strings.Contains(host, ".") {
		return "", "", false
	}
	database := at.segment(0)
	if database == "" {
		database = at.param("schema", "database", "schema_name")
	}
	if database == "" {
		database = "default"
	}
	catalog := at.param("catalog_name", "catalog")
	if catalog == "" {
		catalog = "AwsDataCatalog"
	}
	return "awsathena://" + host, qualify(parts, catalog, database), true
}

// nameInGlue reads arn:aws:glue:region:account, with or without :table/database/table or :database/name behind it.
func nameInGlue(at location, table string) (namespace, name string, ok bool) {
	fields := strings.SplitN(at.path, ":", 5)
	if len(fields) < 4 || fields[1] != "glue" {
		return "", "", false
	}
	var kind, database, resource string
	if len(fields) == 5 {
		kind, resource, _ = strings.Cut(fields[4], "/")
		database, resource, _ = strings.Cut(resource, "/")
	}
	table = strings.TrimPrefix(table, "table/")
	switch {
	case table == "" && kind == "table" && resource != "":
		table = database + "/" + resource
	case table == "":
		return "", "", false
	case !strings.ContainsAny(table, "./") && database != "":
		table = database + "/" + table
	case !strings.Contains(table, "/"):
		table = strings.Replace(table, ".", "/", 1)
	}
	if !strings.Contains(table, "/") {
		return "", "", false
	}
	return "arn:" + strings.Join(fields[:4], ":"), "table/" + table, true
}

// nameInSpanner reads spanner:///projects/p/instances/i/databases/d and spanner://p:i.
func nameInSpanner(at location, table string) (namespace, name string, ok bool) {
	parts, ok := tableParts(table)
	if !ok {
		return "", "", false
	}
	segments := at.segments()
	if len(segments) >= 6 && segments[0] == "projects" && segments[2] == "instances" && segments[4] == "databases" {
		return "spanner://" + segments[1] + ":" + segments[3], qualify(parts, segments[5], ""), true
	}
	if project, instance, found := strings.Cut(at.authority, ":"); found && project != "" && instance != "" {
		return "spanner://" + project + ":" + instance, qualify(parts, at.segment(0), ""), true
	}
	return "", "", false
}

// nameInUnity names tables of Databricks' Unity Catalog; those of a workspace's own Hive metastore are in no catalog
// that others could know.
func nameInUnity(at location, table string) (namespace, name string, ok bool) {
	parts, ok := tableParts(table)
	if !ok || at.host == "" || !isPort(at.port) {
		return "", "", false
	}
	catalog, schema := at.param("catalog", "conncatalog"), at.param("schema", "connschema")
	if at.scheme == "unitycatalog" {
		catalog, schema = at.segment(0), at.segment(1)
	}
	if schema == "" {
		schema = "default"
	}
	name = qualify(parts, catalog, schema)
	if len(parts) < 3 && catalog == "" || strings.HasPrefix(name, "hive_metastore.") {
		return "", "", false
	}
	return "unitycatalog://" + strings.TrimSuffix(at.hostPort(""), ":443"), name, true
}

func nameInCosmos(at location, table string) (namespace, name string, ok bool) {
	database := at.segment(1)
	if at.host == "" || at.segment(0) != "dbs" || database == "" || table == "" {
		return "", "", false
	}
	host := strings.TrimSuffix(at.hostPort(""), ":443")
	return "azurecosmos://" + host + "/dbs/" + database, "colls/" + strings.TrimPrefix(table, "colls/"), true
}

// nameInKusto names tables of Azure Data Explorer, which drivers reach by https.
func nameInKusto(at location, table string) (namespace, name string, ok bool) {
	if !strings.HasSuffix(at.host, ".kusto.windows.net") || table == "" {
		return "", "", false
	}
	database := at.segment(0)
	if database == "" {
		database = at.param("database", "initial catalog")
	}
	if own, rest, found := strings.Cut(table, "/"); found {
		database, table = own, rest
	} else if own, rest, found := strings.Cut(table, "."); found {
		database, table = own, rest
	}
	if database == "" || table == "" {
		return "", "", false
	}
	return "azurekusto://" + at.host, database + "/" + table, true
}
