package openlineage

import (
	"regexp"
	"strings"
)

// engine is a database server that is addressed by host and port.
type engine struct {
	scheme   string // of the namespace
	port     string // where the server listens unless told otherwise
	schemas  bool   // names are database.schema.table, else database.table
	database string // default for a missing database
	schema   string // default for a missing schema
}

// engineOf returns the engine that a URI's scheme means.
func engineOf(scheme string) (engine, bool) {
	switch scheme {
	case "postgresql", "postgres", "pgsql":
		return engine{scheme: "postgres", port: "5432", schemas: true, schema: "public"}, true
	case "redshift":
		return engine{scheme: "redshift", port: "5439", schemas: true, schema: "public"}, true
	case "mysql", "mariadb":
		return engine{scheme: "mysql", port: "3306"}, true
	case "mssql", "sqlserver":
		return engine{scheme: "mssql", port: "1433", schemas: true, schema: "dbo"}, true
	case "oracle":
		return engine{scheme: "oracle", port: "1521", schemas: true}, true
	case "db2", "ibm_db_sa":
		return engine{scheme: "db2", port: "50000", schemas: true}, true
	case "hive", "hive2":
		return engine{scheme: "hive", port: "10000", database: "default"}, true
	case "cassandra":
		return engine{scheme: "cassandra", port: "9042"}, true
	case "milvus":
		return engine{scheme: "milvus", port: "19530", database: "default"}, true
	case "crate":
		return engine{scheme: "crate", port: "4200", schemas: true, database: "crate", schema: "doc"}, true
	case "oceanbase":
		return engine{scheme: "oceanbase", port: "2881"}, true
	case "teradata", "teradatasql":
		return engine{scheme: "teradata", port: "1025"}, true
	case "trino":
		return engine{scheme: "trino", port: "8080", schemas: true}, true
	default:
		return engine{}, false
	}
}

// nameInEngine names a table on a database server.
func nameInEngine(at location, table string) (namespace, name string, ok bool) {
	e, ok := engineOf(at.scheme)
	if !ok {
		return "", "", false
	}
	parts, ok := tableParts(table)
	if !ok {
		return "", "", false
	}
	at, ok = at.reached(e)
	if !ok || !isPort(at.port) {
		return "", "", false
	}
	switch {
	case e.scheme == "postgres" && isRedshiftHost(at.host):
		e, _ = engineOf("redshift") // psycopg2 speaks to Redshift under PostgreSQL's scheme
	case e.scheme == "mssql" && strings.HasSuffix(at.host, ".sql.azuresynapse.net"):
		return "sqlserver://" + at.hostPort(e.port), synapseName(parts), true
	case e.scheme == "mssql" && strings.HasSuffix(at.host, ".datawarehouse.fabric.microsoft.com"):
		return "fabric-warehouse://" + strings.TrimSuffix(at.hostPort(""), ":"+e.port), e.tableName(at, parts), true
	case e.scheme == "trino" && (strings.EqualFold(at.param("ssl"), "true") || at.param("http_scheme") == "https"):
		e.port = "443"
	case e.scheme == "crate" && at.jdbc:
		e.port = "5432" // JDBC speaks PostgreSQL's protocol, SQLAlchemy HTTP
	}
	if e.scheme == "redshift" {
		at.host = redshiftHost(at.host)
	}
	namespace = e.scheme + "://" + at.hostPort(e.port)
	if host, instance, ok := strings.Cut(at.host, `\`); ok {
		// An instance of SQL Server is found by its port, else by its name.
		namespace = e.scheme + "://" + host + "/" + instance
		if at.port != "" {
			namespace = e.scheme + "://" + host + ":" + at.port
		}
	}
	return namespace, e.tableName(at, parts), true
}

// reached fills in host, port and database where engines keep them elsewhere than in the authority and the path.
func (at location) reached(e engine) (location, bool) {
	switch {
	case e.scheme == "mssql" && at.param("odbc_connect") != "":
		return at.fromODBC(at.param("odbc_connect"))
	case e.scheme == "oracle" && !at.server:
		return at.fromOracle()
	case !at.server:
		return at, false
	}
	if at.host == "" {
		// libpq takes the host as a parameter; a path there is a socket.
		if host := at.param("host", "servername"); host != "" && !strings.HasPrefix(host, "/") {
			at.host, at.port = splitHost(host)
		}
	}
	if at.host == "" {
		at.host = "localhost"
	}
	if at.port == "" {
		at.port = at.param("port", "portnumber", "dbs_port")
	}
	if instance := at.param("instancename"); e.scheme == "mssql" && instance != "" && !strings.Contains(at.host, `\`) {
		at.host += `\` + strings.ToLower(instance)
	}
	return at, true
}

// fromODBC reads SERVER=tcp:host,1433;DATABASE=db.
func (at location) fromODBC(connection string) (location, bool) {
	params := parseParams(connection)
	for name, v := range params {
		params[name] = strings.Trim(v, "{}")
	}
	at.params, at.path = params, ""
	server := strings.TrimPrefix(strings.ToLower(at.param("server", "data source", "address", "addr")), "tcp:")
	if server == "" {
		return at, false
	}
	host, port, _ := strings.Cut(server, ",")
	at.host, at.port = strings.TrimSpace(host), strings.TrimSpace(port)
	return at, true
}

var (
	tnsHost    = regexp.MustCompile(`(?i)\(\s*HOST\s*=\s*([^)\s]+)\s*\)`)
	tnsPort    = regexp.MustCompile(`(?i)\(\s*PORT\s*=\s*(\d+)\s*\)`)
	tnsService = regexp.MustCompile(`(?i)\(\s*(?:SERVICE_NAME|SID)\s*=\s*([^)\s]+)\s*\)`)
)

// fromOracle reads JDBC's thin forms: thin:@//host:1521/service, thin:@host:1521:sid and thin:@(DESCRIPTION=...).
func (at location) fromOracle() (location, bool) {
	i := strings.LastIndexByte(at.path, '@')
	if i < 0 {
		return at, false
	}
	place := at.path[i+1:]
	if strings.HasPrefix(place, "(") {
		host := tnsHost.FindStringSubmatch(place)
		if host == nil {
			return at, false
		}
		at.host, at.path = strings.ToLower(host[1]), ""
		if port := tnsPort.FindStringSubmatch(place); port != nil {
			at.port = port[1]
		}
		if service := tnsService.FindStringSubmatch(place); service != nil {
			at.path = "/" + service[1]
		}
		return at, true
	}
	if _, after, ok := strings.Cut(place, "//"); ok {
		place = after // also behind tcps:
	}
	address, service, _ := strings.Cut(place, "/")
	at.host, at.port = splitHost(address)
	if port, sid, found := strings.Cut(at.port, ":"); found {
		at.port, service = port, sid
	}
	at.path = "/" + service
	return at, at.host != ""
}

// tableName writes a table's full name.
func (e engine) tableName(at location, parts []string) string {
	database := at.segment(0)
	if database == "" {
		database = at.param("service_name", "servicename", "sid", "database", "databasename", "initial catalog",
			"dbname", "catalog")
	}
	if e.scheme == "oracle" {
		database, _, _ = strings.Cut(database, ":") // service:server type
	}
	if database == "" {
		database = e.database
	}
	if !e.schemas {
		return qualify(parts, quoteDotted(database))
	}
	schema := at.param("currentschema", "search_path", "schema")
	if e.scheme == "trino" && at.segment(1) != "" {
		schema = at.segment(1)
	}
	if _, path, ok := strings.Cut(at.param("options"), "search_path="); ok && schema == "" {
		schema = until(path, " ,")
	}
	schema, _, _ = strings.Cut(schema, ",")
	if schema == "" {
		schema = e.schema
	}
	return qualify(parts, quoteDotted(database), quoteDotted(schema))
}

// synapseName is schema.table: a Synapse workspace's endpoint is the database's.
func synapseName(parts []string) string {
	if len(parts) > 2 {
		parts = parts[len(parts)-2:]
	}
	return qualify(parts, "dbo")
}

func isRedshiftHost(host string) bool {
	return strings.HasSuffix(host, ".redshift.amazonaws.com") || strings.HasSuffix(host, ".redshift.amazonaws.com.cn") ||
		strings.HasSuffix(host, ".redshift-serverless.amazonaws.com")
}

// redshiftHost shortens cluster.hash.region.redshift.amazonaws.com to cluster.region.
func redshiftHost(host string) string {
	labels := strings.Split(host, ".")
	if !isRedshiftHost(host) || len(labels) < 6 {
		return host
	}
	return labels[0] + "." + labels[2]
}

// isPort is false of what can't be a port, which shows that the URI was not understood.
func isPort(port string) bool { return len(port) <= 5 && strings.Trim(port, "0123456789") == "" }
