package openlineage

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func everyFacet() []Facet {
	return []Facet{
		ColumnLineageDatasetFacet{},
		DataQualityAssertionsDatasetFacet{},
		DatasetVersionDatasetFacet{},
		DatasourceDatasetFacet{},
		DocumentationDatasetFacet{},
		DocumentationJobFacet{},
		EnvironmentVariablesRunFacet{},
		ErrorMessageRunFacet{},
		ExecutionParametersRunFacet{},
		InputStatisticsInputDatasetFacet{},
		InputSubsetInputDatasetFacet{},
		JobDependenciesRunFacet{},
		JobTypeJobFacet{},
		LifecycleStateChangeDatasetFacet{},
		NominalTimeRunFacet{},
		OutputStatisticsOutputDatasetFacet{},
		OutputSubsetOutputDatasetFacet{},
		OwnershipDatasetFacet{},
		OwnershipJobFacet{},
		ParentRunFacet{},
		PrefectAssetDatasetFacet{},
		PrefectDeploymentRunFacet{},
		PrefectRunFacet{},
		ProcessingEngineRunFacet{},
		SchemaDatasetFacet{},
		SourceCodeLocationJobFacet{},
		SymlinksDatasetFacet{},
		TagsJobFacet{},
		TagsRunFacet{},
	}
}

// A facet's tree is what encoding/json writes of it, whatever is in it.
func TestTreesOfFacets(t *testing.T) {
	t.Parallel()
	for _, facet := range everyFacet() {
		t.Run(facet.Key(), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) {
				f := filler{rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // a test's own
				v := reflect.New(reflect.TypeOf(facet)).Elem()
				f.fill(v, 4)
				want, err := throughText(v.Interface())
				if err != nil {
					continue // nothing can be written of it
				}
				got, err := treeOf(v.Interface())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("of %#v (-encoding/json +tree):\n%s", v.Interface(), diff)
				}
			}
		})
	}
}

// Kinds that no facet has go the way through text.
func TestTreesOfOddValues(t *testing.T) {
	t.Parallel()
	type embedded struct{ A int }
	for name, v := range map[string]any{
		"nothing":            nil,
		"a number as text":   struct{ N json.Number }{"1.50"},
		"a fraction":         struct{ F float64 }{0.1},
		"bytes":              struct{ B []byte }{[]byte("ab")},
		"an embedded struct": struct{ embedded }{embedded{1}},
		"a number in quotes": struct {
			N int `json:",string"`
		}{1},
		"a hidden field": struct {
			A int `json:"-"`
			b int
		}{1, 2},
		"keys that are numbers": map[int]string{1: "a"},
		"invalid UTF-8":         map[string]string{"a\xff\xfe": "\xff\xfeb"},
		"a pointer":             &struct{ P *int }{},
	} {
		want, err := throughText(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := treeOf(v); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
}

// filler fills values with this and that, and leaves some empty.
type filler struct{ r *rand.Rand }

func (f filler) fill(v reflect.Value, depth int) {
	if f.r.IntN(4) == 0 || depth < 0 {
		return
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte([]string{`1.50`, `{"b":[null,"\u003c"],"a":{}}`, `null`, `{`}[f.r.IntN(4)]))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"a", "", "<é>\u2028", "\xff\xfe", "\x00\"", "9007199254740993"}[f.r.IntN(6)])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.r.Int64N(100) - 50)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.r.Uint64N(100))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(f.r.Float64() * 1e9)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.r.IntN(3), 3))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.r.IntN(3) {
			key, item := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth-1)
			f.fill(item, depth-1)
			v.SetMapIndex(key, item)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				f.fill(field, depth-1)
			}
		}
	default: // no facet has others
	}
}
