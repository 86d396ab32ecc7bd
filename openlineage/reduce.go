package openlineage

import (
	"maps"
	"slices"
)

// Reducer trims the names of datasets, so that those of which each run writes a new one (/sales/day=2026-11-30) are one
// dataset (/sales). What a run used of it stands in its subset facet.
type Reducer struct {
	// Trimmers are those that are applied, in this order, again and again until nothing changes.
	Trimmers []Trimmer
}

// maxTrims bounds how often a name is trimmed. One that is still not done then stays as it was.
const maxTrims = 16

// Inputs returns inputs under their trimmed names. Those that are alike in all else become one.
func (r Reducer) Inputs(sets []Dataset) []Dataset {
	return r.reduce(sets, func(places []string) Facet { return InputSubsetInputDatasetFacet{Locations: places} })
}

// Outputs returns outputs likewise, with the names of inputs in their column lineage trimmed too.
func (r Reducer) Outputs(sets []Dataset) []Dataset {
	sets = slices.Clone(sets)
	for i := range sets {
		sets[i].Facets = r.lineage(sets[i].Facets)
	}
	return r.reduce(sets, func(places []string) Facet { return OutputSubsetOutputDatasetFacet{Locations: places} })
}

// reduced is a dataset with the names that became its own.
type reduced struct {
	set      Dataset
	alike    string // equal for those that become one; empty: like no other
	original map[string]bool
}

func (r Reducer) reduce(sets []Dataset, subset func(places []string) Facet) []Dataset {
	var found []*reduced
	for _, set := range sets {
		original := set.Name
		set.Name = r.name(original)
		one := &reduced{set: set, alike: likeness(set), original: map[string]bool{}}
		at := slices.IndexFunc(found, func(f *reduced) bool { return one.alike != "" && f.alike == one.alike })
		if at >= 0 {
			one = found[at]
		} else {
			found = append(found, one)
		}
		if set.Name != original {
			one.original[original] = true
		}
	}
	made := make([]Dataset, len(found))
	for i, one := range found {
		if len(one.original) > 0 {
			one.set.IOFacets.Add(subset(slices.Sorted(maps.Keys(one.original))))
		}
		made[i] = one.set
	}
	return made
}

// likeness is a text that two datasets share when all is the same that is said of them. It is empty for what can't be
// written, which comes to light when the event is.
func likeness(d Dataset) string {
	facets, err := d.Facets.Canonical("")
	if err != nil {
		return ""
	}
	io, err := d.IOFacets.Canonical("")
	if err != nil {
		return ""
	}
	return d.Namespace + "\x00" + d.Name + "\x00" + string(facets) + "\x00" + string(io)
}

// name returns a name trimmed until nothing changes.
func (r Reducer) name(original string) string {
	name := original
	for range maxTrims {
		trimmed := name
		for _, trimmer := range r.Trimmers {
			trimmed = trimmer.trim(trimmed)
		}
		if trimmed == name {
			return name
		}
		name = trimmed
	}
	return original
}

// lineage returns facets in whose column lineage the names of datasets are trimmed.
func (r Reducer) lineage(facets Facets) Facets {
	key := ColumnLineageDatasetFacet{}.Key()
	e, ok := facets.byKey[key]
	if !ok {
		return facets
	}
	facets.own(0)
	if facet, typed := e.typed.(ColumnLineageDatasetFacet); typed {
		facet.Dataset = r.inputFields(facet.Dataset)
		facet.Fields = maps.Clone(facet.Fields)
		for column, from := range facet.Fields {
			from.InputFields = r.inputFields(from.InputFields)
			facet.Fields[column] = from
		}
		e.typed = facet
	} else {
		e.raw = maps.Clone(e.raw)
		e.raw["dataset"] = r.rawFields(e.raw["dataset"])
		if fields, ok := e.raw["fields"].(map[string]any); ok {
			fields = maps.Clone(fields)
			for column, from := range fields {
				if from, ok := from.(map[string]any); ok {
					from = maps.Clone(from)
					from["inputFields"] = r.rawFields(from["inputFields"])
					fields[column] = from
				}
			}
			e.raw["fields"] = fields
		}
	}
	facets.byKey[key] = e
	return facets
}

func (r Reducer) inputFields(fields []InputField) []InputField {
	fields = slices.Clone(fields)
	for i := range fields {
		fields[i].Name = r.name(fields[i].Name)
	}
	return fields
}

// rawFields does the same for a list out of a facet that was given as JSON. A null member is left out when it is written.
func (r Reducer) rawFields(value any) any {
	list, ok := value.([]any)
	if !ok {
		return value
	}
	list = slices.Clone(list)
	for i, item := range list {
		if field, ok := item.(map[string]any); ok {
			field = maps.Clone(field)
			switch name := field["name"].(type) {
			case string:
				field["name"] = r.name(name)
			case masked:
				field["name"] = masked(r.name(string(name)))
			}
			list[i] = field
		}
	}
	return list
}
