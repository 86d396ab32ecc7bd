package openlineage

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Facet is one typed facet. It is encoded as JSON, with _producer and _schemaURL put in beside its own fields.
type Facet interface {
	// Key is the JSON property under which the facet stands.
	Key() string
	// SchemaURL names the facet's schema. Facets of this program's own stand under the producer.
	SchemaURL(producer string) string
}

// Entity is what a facet says something about.
type Entity string

// The entities, named as in the base facets of the core schema.
const (
	RunEntity           Entity = "Run"
	JobEntity           Entity = "Job"
	DatasetEntity       Entity = "Dataset"
	InputDatasetEntity  Entity = "InputDataset"
	OutputDatasetEntity Entity = "OutputDataset"
)

// Facets are the facets of one entity, by key. The zero value holds none and is ready for use. A copy is a set of its
// own: adding to one leaves the other as it was.
type Facets struct {
	byKey map[string]entry
}

// entry is a facet as it was added: typed, or raw with the schema to name when it names none itself.
type entry struct {
	typed  Facet
	raw    map[string]any
	schema string
}

// NewFacets returns a set that holds the given facets; a later one replaces an earlier one of the same key.
func NewFacets(facets ...Facet) Facets {
	var f Facets
	f.Add(facets...)
	return f
}

// ParseFacets reads the JSON object that Facets.Canonical wrote, or any object of facets. What is read comes out
// again byte for byte if it was canonical and each facet names its _producer and _schemaURL.
func ParseFacets(raw []byte) (Facets, error) {
	v, err := decode(raw)
	if err != nil {
		return Facets{}, fmt.Errorf("reading facets: %w", err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return Facets{}, errors.New("reading facets: not a JSON object")
	}
	byKey := make(map[string]entry, len(object))
	for key, v := range object {
		facet, ok := v.(map[string]any)
		if !ok {
			return Facets{}, fmt.Errorf("reading facet %q: not a JSON object", key)
		}
		byKey[key] = entry{raw: facet}
	}
	return Facets{byKey: byKey}, nil
}

// Add puts typed facets in, each in place of one that has the same key.
func (f *Facets) Add(facets ...Facet) {
	f.own(len(facets))
	for _, facet := range facets {
		f.byKey[facet.Key()] = entry{typed: facet}
	}
}

// own makes the map this set's alone, with room for more: copies of the set stay what they were.
func (f *Facets) own(more int) {
	byKey := make(map[string]entry, len(f.byKey)+more)
	maps.Copy(byKey, f.byKey)
	f.byKey = byKey
}

// Merge returns both sets as one; where both have a key, the facet of over stands, whole.
func (f Facets) Merge(over Facets) Facets {
	byKey := make(map[string]entry, len(f.byKey)+len(over.byKey))
	maps.Copy(byKey, f.byKey)
	maps.Copy(byKey, over.byKey)
	return Facets{byKey: byKey}
}

// Without returns the facets but those whose key drop is true of.
func (f Facets) Without(drop func(key string) bool) Facets {
	byKey := make(map[string]entry, len(f.byKey))
	for key, e := range f.byKey {
		if !drop(key) {
			byKey[key] = e
		}
	}
	return Facets{byKey: byKey}
}

// Len returns the number of facets.
func (f Facets) Len() int { return len(f.byKey) }

// Has says whether there is a facet of this key.
func (f Facets) Has(key string) bool {
	_, ok := f.byKey[key]
	return ok
}

// Keys returns the facets' keys, sorted.
func (f Facets) Keys() []string { return slices.Sorted(maps.Keys(f.byKey)) }

// Canonical returns the facets as one JSON object in the canonical form, {} when there are none. Producer fills the
// _producer of those that name none.
func (f Facets) Canonical(producer string) ([]byte, error) {
	return f.append(make([]byte, 0, usualFacet*len(f.byKey)+2), producer)
}
