package openlineage

import (
	"regexp"
	"strings"
)

// isStore is true of the schemes of object stores and file systems, where a path is a name.
func isStore(scheme string) bool {
	switch scheme {
	case "s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "wasb", "wasbs", "hdfs", "dbfs", "file":
		return true
	}
	return false
}

// nameInStore names objects and files. Keys of object stores stand without their first slash, paths of file systems
// with it, as the Spark integration writes them. The scheme's variants (s3a, s3n) are the same store.
func nameInStore(at location, table string) (namespace, name string, ok bool) {
	if !isStore(at.scheme) {
		return "", "", false
	}
	path := joinPath(at.storePath(), table)
	switch at.scheme {
	case "s3", "s3a", "s3n":
		return objectName("s3", at.authority, path)
	case "gs", "gcs":
		return objectName("gs", at.authority, path)
	case "abfs", "abfss":
		return objectName("abfss", lowerHost(at.authority), path)
	case "wasb", "wasbs":
		return objectName("wasbs", lowerHost(at.authority), path)
	case "hdfs":
		// A name service has no port, and can't be told from a host: none is put in.
		return fileName("hdfs", at.hostPort(""), path)
	case "dbfs":
		return fileName("dbfs", at.hostPort(""), path)
	default:
		host := at.hostPort("")
		if host == "localhost" {
			host = ""
		}
		return fileName("file", host, path)
	}
}

func objectName(scheme, bucket, path string) (namespace, name string, ok bool) {
	if bucket == "" {
		return "", "", false
	}
	name = strings.TrimRight(strings.TrimPrefix(path, "/"), "/")
	if name == "" {
		name = "/" // the whole bucket
	}
	return scheme + "://" + bucket, name, true
}

func fileName(scheme, host, path string) (namespace, name string, ok bool) {
	name = "/" + strings.Trim(path, "/")
	if host == "" {
		return scheme, name, true
	}
	return scheme + "://" + host, name, true
}

// lowerHost lowers the host in container@host, and leaves the container, whose case counts.
func lowerHost(authority string) string {
	i := strings.LastIndexByte(authority, '@') + 1
	return authority[:i] + strings.ToLower(authority[i:])
}

var queryLike = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.\-]*=`)

// storePath returns the path, in which a question mark may belong to a key: part-?.csv.
func (at location) storePath() string {
	if at.query == "" || queryLike.MatchString(at.query) {
		return at.path
	}
	return at.path + "?" + at.query
}

// joinPath puts a table behind the path that it stands in, unless the path ends with it already.
func joinPath(path, table string) string {
	table = strings.Trim(table, "/")
	trimmed := strings.TrimRight(path, "/")
	if table == "" || trimmed == table || strings.HasSuffix(trimmed, "/"+table) {
		return path
	}
	return trimmed + "/" + table
}
