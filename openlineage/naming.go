package openlineage

import (
	"errors"
	"strings"
)

// Naming says how datasets are named.
type Naming uint8

// The ways of naming datasets.
const (
	// SpecNaming follows OpenLineage's naming table for the systems in it, so that a table has the name that Spark,
	// dbt and Airflow give it too.
	SpecNaming Naming = iota
	// VerbatimNaming takes the URI as namespace and the table as name, without credentials.
	VerbatimNaming
)

// NameDataset names a dataset that is known by the URI of its database or store, as people write it for SQLAlchemy,
// JDBC or a file system library, and by its table. The table may be left out where the URI's path names the dataset:
// object stores, files, topics.
//
// In the namespace the scheme is the spec's, the host in lower case and the port always there, user info and
// parameters never. A part that the table does not name (database, schema) comes from the URI, else from the engine's
// default; a part that nobody gave is left out. Quotes around the parts of a table are dropped, except where a part
// holds a dot. Names keep their case. What is not in the spec's table, or can't be read as what it claims to be, is
// named as in VerbatimNaming.
//
// The result went through CheckDataset. An error says why the dataset is refused, without naming it.
func NameDataset(uri, table string, mode Naming) (namespace, name string, err error) {
	uri, table = strings.TrimSpace(uri), strings.TrimSpace(table)
	if uri == "" {
		return "", "", errors.New("the dataset's namespace is empty")
	}
	if mode == SpecNaming {
		if namespace, name, ok := nameBySpec(uri, table); ok {
			return checkMasked(namespace, name)
		}
	}
	return checkMasked(MaskURI(uri), table)
}

// checkMasked takes secrets out of a dataset's namespace and name and checks what is left.
func checkMasked(namespace, name string) (string, string, error) {
	return CheckDataset(maskShapes(namespace), maskTable(name))
}

// maskTable takes secrets out of a table or a path as people paste them: user info and parameters of a signed address,
// tokens that are known by their look. Values behind names stay: year=2026/token=x/ is a partition.
func maskTable(table string) string {
	if strings.Contains(table, "://") {
		table = MaskURI(table)
	} else if i := strings.IndexByte(table, '?'); i >= 0 {
		table = table[:i] + dropSecretParams(table[i:])
	}
	return maskShapes(table)
}

// nameBySpec names a dataset of a system in the spec's table; false: of none, or not readable as one.
func nameBySpec(uri, table string) (namespace, name string, ok bool) {
	at, ok := parseLocation(uri)
	if !ok {
		return "", "", false
	}
	if strings.Contains(table, "://") {
		// Some give the whole address as the table, and the store alone as the URI.
		if whole, ok := parseLocation(table); ok && isStore(whole.scheme) {
			at, table = whole, ""
		}
	}
	for _, family := range []func(location, string) (string, string, bool){
		nameInStore, nameOfStream, nameInCloud, nameInEngine,
	} {
		if namespace, name, ok := family(at, table); ok {
			return namespace, name, true
		}
	}
	return "", "", false
}
