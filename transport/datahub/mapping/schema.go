package mapping

import (
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
)

// schemaOf returns the schema that an event names; false when it names none.
func schemaOf(d dataset) (aspect.SchemaMetadata, bool) {
	named := read[openlineage.SchemaDatasetFacet](d.facets, "schema")
	fields := appendFields(nil, "", named.Fields, map[string]bool{})
	return aspect.SchemaMetadata{SchemaName: d.name, Platform: d.platform, Fields: fields}, len(fields) > 0
}

// appendFields lays nested fields flat: their path names those above.
func appendFields(all []aspect.SchemaField, above string, fields []openlineage.SchemaField, seen map[string]bool) []aspect.SchemaField {
	for _, field := range fields {
		path := above + field.Name
		if field.Name == "" || seen[path] {
			continue
		}
		seen[path] = true
		kind := fieldType(field.Type)
		if len(field.Fields) > 0 && kind == aspect.NullType {
			kind = aspect.RecordType
		}
		all = append(all, aspect.SchemaField{
			FieldPath: path, Nullable: true, Description: field.Description, Type: kind, NativeDataType: field.Type,
		})
		all = appendFields(all, path+".", field.Fields, seen)
	}
	return all
}

// fieldType returns DataHub's word for a type of whatever system, by its first word: decimal(10,2), TIMESTAMP WITH TIME
// ZONE, array<string>.
func fieldType(native string) aspect.FieldType {
	word := strings.ToLower(strings.TrimSpace(native))
	if strings.HasSuffix(word, "[]") {
		return aspect.ArrayType
	}
	if end := strings.IndexAny(word, " (<["); end >= 0 {
		word = word[:end]
	}
	switch word {
	case "bool", "boolean", "bit":
		return aspect.BooleanType
	case "int", "integer", "bigint", "smallint", "tinyint", "mediumint", "hugeint", "uinteger", "ubigint", "usmallint",
		"utinyint", "int2", "int4", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "long",
		"short", "byte", "serial", "bigserial", "number", "numeric", "decimal", "dec", "bignumeric", "float", "float4",
		"float8", "float32", "float64", "double", "real", "money":
		return aspect.NumberType
	case "string", "str", "text", "varchar", "char", "character", "nvarchar", "nchar", "bpchar", "varchar2", "clob",
		"uuid", "json", "jsonb", "object", "category", "tinytext", "mediumtext", "longtext", "citext", "xml":
		return aspect.StringType
	case "bytes", "bytea", "binary", "varbinary", "blob":
		return aspect.BytesType
	case "date", "date32":
		return aspect.DateType
	case "time", "timetz", "timestamp", "timestamptz", "timestamp_ntz", "timestamp_ltz", "timestamp_tz", "datetime",
		"datetime64", "datetime2", "interval":
		return aspect.TimeType
	case "array", "list", "repeated":
		return aspect.ArrayType
	case "map":
		return aspect.MapType
	case "struct", "record", "row", "variant":
		return aspect.RecordType
	case "enum":
		return aspect.EnumType
	case "union":
		return aspect.UnionType
	default:
		return aspect.NullType
	}
}
