package openlineage

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// layout says how values of one Go type are written. Layouts are made once for each type, since asking a type for its
// fields and their tags takes longer than writing them.
type layout struct {
	how     manner
	elem    *layout  // of a pointer, a list or a map
	members []member // of a struct, in the order of their names
}

// manner is the way to write a value.
type manner uint8

const (
	odd manner = iota // only encoding/json knows it
	asText
	asBool
	asInt
	asID
	asOwnText // encoding.TextMarshaler
	asOwnJSON // json.Marshaler
	asPointer
	asInterface
	asList
	asMap
	asStruct
)

// member is a field of a struct that is written.
type member struct {
	layout              *layout
	name                string
	prefix              string // the name as it is written, with its colon
	index               int
	omitEmpty, omitZero bool
}

// layouts are the layouts of types, those inside others included. A type may stand within itself.
type layouts map[reflect.Type]*layout

// facetLayouts are the layouts of this package's facets, made when the first event is written.
var facetLayouts = sync.OnceValue(func() layouts {
	return layoutsOf(
		ColumnLineageDatasetFacet{}, DataQualityAssertionsDatasetFacet{}, DatasetVersionDatasetFacet{}, DatasourceDatasetFacet{},
		DocumentationDatasetFacet{}, DocumentationJobFacet{}, EnvironmentVariablesRunFacet{}, ErrorMessageRunFacet{},
		ExecutionParametersRunFacet{}, InputStatisticsInputDatasetFacet{}, InputSubsetInputDatasetFacet{},
		JobDependenciesRunFacet{}, JobTypeJobFacet{}, LifecycleStateChangeDatasetFacet{}, nominalTime{},
		OutputStatisticsOutputDatasetFacet{}, OutputSubsetOutputDatasetFacet{}, OwnershipDatasetFacet{}, OwnershipJobFacet{},
		ParentRunFacet{}, PrefectAssetDatasetFacet{}, prefectDeployment{}, PrefectRunFacet{}, ProcessingEngineRunFacet{},
		SchemaDatasetFacet{}, SourceCodeLocationJobFacet{}, SymlinksDatasetFacet{}, TagsJobFacet{}, TagsRunFacet{},
	)
})

func layoutsOf(values ...any) layouts {
	known := layouts{}
	for _, v := range values {
		known.of(reflect.TypeOf(v))
	}
	return known
}

// layoutOf returns a type's layout. One that no facet of this package has is made anew each time.
func layoutOf(t reflect.Type) *layout {
	if s, ok := facetLayouts()[t]; ok {
		return s
	}
	return layouts{}.of(t)
}

func (known layouts) of(t reflect.Type) *layout {
	if s, ok := known[t]; ok {
		return s
	}
	s := &layout{how: mannerOf(t)}
	known[t] = s // before what is in it, which may be of this type
	switch s.how {
	case asPointer, asList, asMap:
		s.elem = known.of(t.Elem())
	case asStruct:
		if !known.addMembers(s, t) {
			s.how = odd
		}
	default: // nothing is in it
	}
	return s
}

func mannerOf(t reflect.Type) manner {
	switch {
	case t == reflect.TypeFor[json.Number]():
		return odd // encoding/json checks that it is one
	case t == reflect.TypeFor[uuid.UUID]():
		return asID
	case t.Kind() == reflect.Interface:
		return asInterface
	case t.Kind() == reflect.Pointer && implements(t) == implements(t.Elem()):
		return asPointer
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		return asOwnJSON
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return asOwnText
	}
	switch t.Kind() {
	case reflect.String:
		return asText
	case reflect.Bool:
		return asBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return asInt
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return odd // bytes are written as base64
		}
		return asList
	case reflect.Map:
		if key := t.Key(); key.Kind() != reflect.String || key.NumMethod() > 0 {
			return odd
		}
		return asMap
	case reflect.Struct:
		return asStruct
	default:
		return odd
	}
}

// implements says whether a type has a say of its own in how it is written.
func implements(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// addMembers is false where a struct has fields that are written in a rare way.
func (known layouts) addMembers(s *layout, t reflect.Type) bool {
	for field := range t.Fields() {
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case field.Anonymous, strings.Contains(options, "string"):
			return false
		case !field.IsExported(), tag == "-":
			continue
		case name == "":
			name = field.Name
		}
		s.members = append(s.members, member{
			layout: known.of(field.Type), name: name, prefix: string(appendString(nil, name)) + ":", index: field.Index[0],
			omitEmpty: strings.Contains(options, "omitempty"), omitZero: strings.Contains(options, "omitzero"),
		})
	}
	slices.SortFunc(s.members, func(x, y member) int { return cmp.Compare(x.name, y.name) })
	return true
}
