package openlineage

import (
	"errors"
	"fmt"
)

// How long further texts may be that Marquez's database keeps in columns or indexes of their own.
const (
	maxSourceChars      = 1024
	maxSymlinkTypeChars = 64
)

// facetShape returns what the spec's facet with this key looks like, in its current version and as Marquez takes it;
// false: the spec has none. Datasets inside are named by name.
func facetShape(entity Entity, key string, name Namer) (shape, bool) {
	switch entity {
	case DatasetEntity:
		return datasetShape(key, name)
	case InputDatasetEntity:
		return inputShape(key)
	case OutputDatasetEntity:
		return outputShape(key)
	case JobEntity:
		return sharedShape(key)
	case RunEntity:
		if key == "tags" {
			return sharedShape(key)
		}
		return nil, false
	default:
		return nil, false
	}
}

// sharedShape is of facets that jobs have as datasets have them.
func sharedShape(key string) (shape, bool) {
	switch key {
	case "documentation":
		return members{"!description": isText, "contentType": isText}.check, true
	case "ownership":
		return members{"owners": listOf(members{"!name": isText, "type": isText}.check)}.check, true
	case "tags":
		return members{"tags": listOf(members{
			"!key": isText, "!value": isText, "source": isText, "field": isText,
		}.check)}.check, true
	default:
		return nil, false
	}
}

func datasetShape(key string, name Namer) (shape, bool) {
	switch key {
	case "schema":
		return members{"fields": listOf(isSchemaField)}.check, true
	case "dataSource":
		return members{"!name": upTo(maxSourceChars), "!uri": isAddress}.check, true
	case "symlinks":
		return members{"!identifiers": listOf(name.identifier(members{"!type": upTo(maxSymlinkTypeChars)}))}.check, true
	case "columnLineage":
		return name.columnLineage(), true
	case "version":
		return members{"!datasetVersion": isText}.check, true
	case "storage":
		return members{"!storageLayer": isText, "fileFormat": isText}.check, true
	case "lifecycleStateChange":
		return members{
			"!lifecycleStateChange": oneOf(LifecycleStateChanges()...),
			"previousIdentifier":    name.identifier(nil),
		}.check, true
	case "catalog":
		return members{
			"!framework": isText, "!type": isText, "!name": isText, "metadataUri": isText, "warehouseUri": isText,
			"source": isText, "catalogProperties": mapOf(isText),
		}.check, true
	case "datasetType":
		return members{"!datasetType": isText, "subType": isText}.check, true
	case "hierarchy":
		return members{"!hierarchy": listOf(members{"!type": isText, "!name": isText}.check)}.check, true
	case "dataQualityMetrics":
		return qualityMetrics(), true
	case "lineage":
		return name.lineage(), true
	default:
		return sharedShape(key)
	}
}

func inputShape(key string) (shape, bool) {
	switch key {
	case "dataQualityMetrics":
		return qualityMetrics(), true
	case "dataQualityAssertions":
		return members{"!assertions": listOf(members{
			"!assertion": isText, "!success": isTruth, "column": isText, "severity": isText, "name": isText,
			"description": isText, "expected": isText, "actual": isText, "content": isText, "contentType": isText,
			"params": members{}.check,
		}.check)}.check, true
	case "inputStatistics":
		return statistics(), true
	case "subset":
		return members{"!inputCondition": isCondition}.check, true
	default:
		return nil, false
	}
}

func outputShape(key string) (shape, bool) {
	switch key {
	case "outputStatistics":
		return statistics(), true
	case "subset":
		return members{"!outputCondition": isCondition}.check, true
	default:
		return nil, false
	}
}

// LifecycleStateChanges are the words that the lifecycleStateChange facet takes.
func LifecycleStateChanges() []string {
	return []string{"ALTER", "CREATE", "DROP", "OVERWRITE", "RENAME", "TRUNCATE"}
}

func statistics() shape {
	return members{"rowCount": isWhole, "size": isWhole, "fileCount": isWhole}.check
}

func qualityMetrics() shape {
	return members{
		"rowCount": isWhole, "bytes": isWhole, "fileCount": isWhole, "lastUpdated": isMoment,
		"!columnMetrics": mapOf(members{
			"nullCount": isWhole, "distinctCount": isWhole, "sum": isNumber, "count": isNumber, "min": isNumber,
			"max": isNumber, "quantiles": mapOf(isNumber),
		}.check),
	}.check
}

func isSchemaField(v any, place string) error {
	object, _ := v.(map[string]any)
	name, _ := object["name"].(string)
	if kind, _ := object["type"].(string); len(name)+len(kind) > MaxFieldBytes {
		return fmt.Errorf("%s: name and type are longer than %d bytes", place, MaxFieldBytes)
	}
	return members{
		"!name": upTo(MaxFieldNameChars), "type": isText, "description": isText, "ordinal_position": isWhole,
		"fields": listOf(isSchemaField),
	}.check(v, place)
}

// isCondition is a condition of the subset facet.
func isCondition(v any, place string) error {
	object, _ := v.(map[string]any)
	kind, _ := object["type"].(string)
	expression := func(v any, place string) error {
		side, _ := v.(map[string]any)
		if side["type"] == "field" {
			return members{"!field": isText}.check(v, place)
		}
		return members{"!type": oneOf("field", "literal"), "!value": isText}.check(v, place)
	}
	switch kind {
	case "location":
		return members{"!locations": listOf(isText)}.check(v, place)
	case "partition":
		return members{"!partitions": listOf(members{
			"identifier": isText, "!dimensions": members{}.check,
		}.check)}.check(v, place)
	case "binary":
		return members{"!left": isCondition, "!right": isCondition, "!operator": isText}.check(v, place)
	case "compare":
		return members{"!left": expression, "!right": expression, "!comparison": isText}.check(v, place)
	default:
		return members{"!type": oneOf("location", "partition", "binary", "compare")}.check(v, place)
	}
}

// masked is a text that went through rules of its own and is not masked again.
type masked string

// identifier is an object that names a dataset beside other members. The names in it become those that events have.
func (n Namer) identifier(others members) shape {
	return func(v any, place string) error {
		if err := (members{"!namespace": isText, "!name": isText}).check(v, place); err != nil {
			return err
		}
		if err := others.check(v, place); err != nil {
			return err
		}
		object, _ := v.(map[string]any)
		uri, _ := object["namespace"].(string)
		table, _ := object["name"].(string)
		namespace, name, err := n(uri, table)
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		object["namespace"], object["name"] = masked(namespace), masked(name)
		return nil
	}
}

func (n Namer) columnLineage() shape {
	transformations := listOf(members{"!type": isText, "subtype": isText, "description": isText, "masking": isTruth}.check)
	field := n.identifier(members{"!field": isFilled, "transformations": transformations})
	return members{
		"!fields": mapOf(members{
			"!inputFields": listOf(field), "transformationDescription": isText, "transformationType": isText,
		}.check),
		"dataset": listOf(field),
	}.check
}

// lineage is the facet of a dataset that says what it, or a field of it, comes from. Marquez knows nothing of it.
func (n Namer) lineage() shape {
	input := func(v any, place string) error {
		if object, _ := v.(map[string]any); object["type"] != "DATASET" {
			return errors.New(place + ".type is not DATASET")
		}
		return n.identifier(members{"field": isText, "transformations": listOf(members{
			"!type": isText, "subtype": isText, "description": isText, "masking": isTruth,
		}.check)})(v, place)
	}
	return members{
		"inputs": listOf(input), "fields": mapOf(members{"!inputs": listOf(input)}.check),
	}.check
}
