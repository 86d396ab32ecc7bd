package openlineage

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// AddRaw puts in a facet given as a JSON object, in place of one that has the same key. A missing _producer becomes
// the event's; a missing _schemaURL becomes that of the spec's facet with this key, else the entity's base facet.
//
// A facet with a key of the spec must hold what the spec and Marquez ask of it: Marquez refuses the whole event for
// one facet that lacks a field, and the names of symlinks are checked like datasets, since a bad one breaks Marquez
// for everyone.
func (f *Facets) AddRaw(entity Entity, key string, raw []byte) error {
	if strings.TrimSpace(key) == "" {
		return errors.New("adding raw facet: no key")
	}
	v, err := decode(raw)
	if err != nil {
		return fmt.Errorf("adding raw facet %q: %w", key, err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("adding raw facet %q: not a JSON object", key)
	}
	if err := checkRaw(entity, key, object); err != nil {
		return fmt.Errorf("adding raw facet %q: %w", key, err)
	}
	f.own(1)
	f.byKey[key] = entry{raw: object, schema: defaultSchema(entity, key)}
	return nil
}

// checkRaw asks of a raw facet what consumers refuse an event for.
func checkRaw(entity Entity, key string, facet map[string]any) error {
	if producer, ok := facet["_producer"].(string); ok && !isURI(producer) {
		return errors.New("_producer is not a URI")
	}
	for _, path := range requiredOf(entity, key) {
		if err := requireAt(facet, path); err != nil {
			return err
		}
	}
	switch {
	case entity == DatasetEntity && key == "symlinks":
		return checkSymlinks(facet)
	case entity == DatasetEntity && key == "columnLineage":
		return checkColumnLineage(facet)
	case entity == DatasetEntity && key == "dataSource":
		if uri, _ := facet["uri"].(string); !isURI(uri) {
			return errors.New("uri is not a URI")
		}
	}
	return nil
}

// requiredOf lists the texts that a facet must hold: name, or list[].name for each object of a list. A list itself
// must be there when it ends in a bare [], else it may be missing.
func requiredOf(entity Entity, key string) []string {
	switch string(entity) + "/" + key {
	case "Dataset/documentation", "Job/documentation":
		return []string{"description"}
	case "Dataset/schema":
		return []string{"fields[].name"}
	case "Dataset/dataSource":
		return []string{"name", "uri"}
	case "Dataset/ownership", "Job/ownership":
		return []string{"owners[].name"}
	case "Dataset/symlinks":
		return []string{"identifiers[]", "identifiers[].namespace", "identifiers[].name", "identifiers[].type"}
	case "Dataset/version":
		return []string{"datasetVersion"}
	case "Dataset/storage":
		return []string{"storageLayer"}
	case "Dataset/lifecycleStateChange":
		return []string{"lifecycleStateChange"}
	case "Dataset/catalog":
		return []string{"framework", "type", "name"}
	case "Dataset/datasetType":
		return []string{"datasetType"}
	case "Dataset/hierarchy":
		return []string{"hierarchy[]", "hierarchy[].type", "hierarchy[].name"}
	case "Dataset/tags", "Job/tags", "Run/tags":
		return []string{"tags[].key", "tags[].value"}
	case "InputDataset/dataQualityAssertions":
		return []string{"assertions[]", "assertions[].assertion"}
	default:
		return nil
	}
}

func requireAt(facet map[string]any, path string) error {
	list, name, inList := strings.Cut(path, "[]")
	if !inList {
		if _, ok := facet[path].(string); !ok {
			return fmt.Errorf("%s is missing or no text", path)
		}
		return nil
	}
	items, ok := facet[list].([]any)
	if !ok {
		if facet[list] == nil && name != "" {
			return nil
		}
		return fmt.Errorf("%s is missing or no list", list)
	}
	name = strings.TrimPrefix(name, ".")
	for i, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return fmt.Errorf("%s[%d] is no object", list, i)
		}
		if _, ok := object[name].(string); !ok && name != "" {
			return fmt.Errorf("%s[%d].%s is missing or no text", list, i, name)
		}
	}
	return nil
}

// checkSymlinks cleans the names in a raw symlinks facet.
func checkSymlinks(facet map[string]any) error {
	identifiers, _ := facet["identifiers"].([]any)
	for i, v := range identifiers {
		identifier, _ := v.(map[string]any)
		namespace, _ := identifier["namespace"].(string)
		name, _ := identifier["name"].(string)
		namespace, name, err := CheckDataset(MaskURI(namespace), name)
		if err != nil {
			return fmt.Errorf("symlink %d: %w", i, err)
		}
		identifier["namespace"], identifier["name"] = namespace, name
	}
	return nil
}

// checkColumnLineage asks for what Marquez answers with a server's error when it is missing.
func checkColumnLineage(facet map[string]any) error {
	columns, ok := facet["fields"].(map[string]any)
	if !ok {
		return errors.New("fields is missing or no object")
	}
	for name, v := range columns {
		column, _ := v.(map[string]any)
		for _, path := range []string{
			"inputFields[]", "inputFields[].namespace", "inputFields[].name", "inputFields[].field",
		} {
			if err := requireAt(column, path); err != nil {
				return fmt.Errorf("column %q: %w", name, err)
			}
		}
	}
	return nil
}

// isURI is true of what Java and the schemas' format take as an absolute URI.
func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && !strings.ContainsAny(s, " \"<>\\^`{|}")
}
