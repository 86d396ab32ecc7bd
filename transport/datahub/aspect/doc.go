// Package aspect holds the aspects of DataHub's entities that lineage needs, as typed values whose JSON is that of
// DataHub's own clients: defaults are written, what is optional and unset is left out, and unions carry the names that
// DataHub's server asks for.
//
// The shapes are those of acryl-datahub 1.7.0.17 (datahub.metadata.schema_classes). An upsert replaces an aspect whole;
// where several writers share one (tags, owners, lineage), the Add… functions make patches that leave theirs in place.
package aspect
