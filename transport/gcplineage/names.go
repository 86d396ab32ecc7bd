package gcplineage

import (
	"slices"
	"strings"
	"unicode"
)

// mappedSchemes are the beginnings of namespaces that Google makes names of its catalogue of
// (https://docs.cloud.google.com/dataplex/docs/openlineage-mapping), and custom, which is any other name's.
func mappedSchemes() []string {
	return []string{
		"abfss", "awsathena", "azurecosmos", "azurekusto", "bigquery", "cassandra", "custom", "db2", "dbfs", "file", "gs",
		"hdfs", "kafka", "mysql", "oracle", "postgres", "pubsub", "redshift", "s3", "s3a", "s3n", "snowflake", "trino", "wasbs",
	}
}

// customNamespace is where datasets go that Google has no names for.
const customNamespace = "custom"

// glueNamespace is the beginning of AWS Glue's namespaces, which are no addresses.
const glueNamespace = "arn:aws:glue:"

// mapped says whether Google has names for the datasets of a namespace.
func mapped(namespace string) bool {
	if strings.HasPrefix(namespace, glueNamespace) {
		return true
	}
	scheme, _, _ := strings.Cut(namespace, "://")
	return slices.Contains(mappedSchemes(), scheme)
}

// customName is what a dataset without a mapped namespace is called under customNamespace: both its names in one, so that
// two datasets that differ stay two.
func customName(namespace, name string) string { return namespace + "/" + name }

// maxName is the longest name of a dataset that Google takes, in characters; its own form of the name has a few more.
const maxName = 4000

// maxDisplayName is the longest name of a process that Google shows, in characters.
const maxDisplayName = 200

// displayName is how Google's console calls a job: with Prefect's name before it, and with _ for characters that Google
// does not take there. Without it the console shows namespace:name.
func displayName(job string) string {
	clean := func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" _-:&.", r) {
			return r
		}
		return '_'
	}
	name := []rune("Prefect " + strings.Map(clean, job))
	return strings.TrimSpace(string(name[:min(len(name), maxDisplayName)]))
}
