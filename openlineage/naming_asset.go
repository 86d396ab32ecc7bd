package openlineage

import (
	"errors"
	"regexp"
	"strings"
)

// NameAsset names a dataset that is known by one URI alone, as Prefect's assets are. A store, a file or a topic is
// named as NameDataset names it. Of a database the path holds the table behind the database: postgres://host/db/table
// and postgres://host/db/schema/table. In any other URI the authority and what stands before it is the namespace, the
// path the name; where there is no authority (duckdb:///db/table), the last part of the path is the name.
//
// The result went through CheckDataset. An error says why the dataset is refused, without naming it.
func NameAsset(key string, mode Naming) (namespace, name string, err error) {
	key = strings.TrimSpace(key)
	if key == "" {
		return "", "", errors.New("the asset's key is empty")
	}
	if mode == SpecNaming {
		if namespace, name, err := NameDataset(key, "", mode); err == nil {
			return namespace, name, nil
		}
		if uri, table, ok := tableInPath(key); ok {
			if namespace, name, ok := nameBySpec(uri, table); ok {
				return checkMasked(namespace, name)
			}
		}
	}
	return nameByPath(MaskURI(key))
}

// serverLike tells a server from a name that people put in its place: prefect-dbt's keys have the database there.
var serverLike = regexp.MustCompile(`[.:@]|^localhost$`)

// tableInPath finds database and table in a key of a database system.
func tableInPath(key string) (uri, table string, ok bool) {
	prefix, rest, ok := cutScheme(key)
	if !ok {
		return "", "", false
	}
	authority, path, _ := strings.Cut(rest, "/")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	scheme := strings.TrimSuffix(prefix, "://")
	scheme, _, _ = strings.Cut(scheme, "+")
	if scheme == "bigquery" { // project/dataset/table
		if len(parts) != 2 {
			return "", "", false
		}
		return prefix + authority + "/" + parts[0], parts[1], true
	}
	if !serverLike.MatchString(authority) && scheme != "snowflake" {
		return "", "", false
	}
	// A Snowflake account looks like a database's name; three parts behind it tell them apart.
	if scheme == "snowflake" && len(parts) < 3 || len(parts) < 2 || len(parts) > 3 {
		return "", "", false
	}
	return prefix + authority + "/" + parts[0], strings.Join(parts[1:], "."), true
}

// nameByPath splits a URI into namespace and name.
func nameByPath(key string) (namespace, name string, err error) {
	prefix, rest, ok := cutScheme(key)
	if !ok {
		return "", "", errors.New("the asset's key is no URI")
	}
	authority, path, _ := strings.Cut(rest, "/")
	path = strings.Trim(path, "/")
	switch {
	case authority != "" && path != "":
		return checkMasked(prefix+authority, path)
	case authority != "": // postgres://dbtable
		return checkMasked(strings.TrimSuffix(prefix, "://"), authority)
	default:
		place, last := "", path
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			place, last = path[:i], path[i+1:]
		}
		if place == "" {
			return checkMasked(strings.TrimSuffix(prefix, "://"), last)
		}
		return checkMasked(prefix+"/"+place, last)
	}
}
