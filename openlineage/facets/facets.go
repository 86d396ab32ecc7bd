// Package facets holds the JSON schemas of the facets that are this program's own. Events name them by _schemaURL,
// under the producer.
package facets

import "embed"

// Schemas are the schema files, by file name.
//
//go:embed *.json
var Schemas embed.FS
