package openlineage

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
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

// A facet is written as encoding/json writes it, in the canonical form, whatever is in it.
func TestWritingFacets(t *testing.T) {
	t.Parallel()
	for _, facet := range everyFacet() {
		t.Run(facet.Key(), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) {
				f := filler{rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // a test's own
				v := reflect.New(reflect.TypeOf(facet)).Elem()
				f.fill(v, 4)
				written, _ := reflect.TypeAssert[Facet](v)
				want, wantErr := facetThroughText(written)
				got, err := entry{typed: written}.append(nil, "p")
				if diff := cmp.Diff(want, string(got)); diff != "" || (err != nil) != (wantErr != nil) {
					t.Fatalf("of %#v (-encoding/json +here):\n%s%v, %v", v.Interface(), diff, wantErr, err)
				}
			}
		})
	}
}

// facetThroughText writes a facet the long way: by encoding/json, read back, with what every facet names put in.
func facetThroughText(f Facet) (string, error) {
	tree, err := throughText(f)
	if err != nil {
		return "", err
	}
	object, _ := tree.(map[string]any)
	object["_producer"], object["_schemaURL"] = "p", f.SchemaURL("p")
	return string(appendCanonical(nil, object)), nil
}

// The layouts of all facets are known before the first is written: making one takes longer than writing.
func TestLayoutsOfFacets(t *testing.T) {
	t.Parallel()
	for _, facet := range everyFacet() {
		value := any(facet)
		if f, ok := value.(formed); ok {
			value, _ = f.form()
		}
		if _, ok := facetLayouts()[reflect.TypeOf(value)]; !ok {
			t.Errorf("of %T there is none", value)
		}
	}
}

// Kinds that no facet has are written as encoding/json does, too, or left to it.
func TestWritingOddValues(t *testing.T) {
	t.Parallel()
	type embedded struct{ A int }
	type within struct {
		Name string
		Of   *within `json:",omitempty"`
	}
	number, nobody := 3, (*uuid.UUID)(nil)
	for name, v := range map[string]struct {
		value   any
		refused bool
	}{
		"a number as text":   {struct{ N json.Number }{"1.50"}, true},
		"a fraction":         {struct{ F float64 }{0.1}, true},
		"bytes":              {struct{ B []byte }{[]byte("ab")}, true},
		"an embedded struct": {struct{ embedded }{embedded{1}}, true},
		"a number in quotes": {struct {
			N int `json:",string"`
		}{1}, true},
		"a hidden field": {struct {
			A int `json:"-"`
			b int
		}{1, 2}, false},
		"keys that are numbers": {map[int]string{1: "a"}, true},
		"keys out of order":     {map[string]any{"b": 1, "a": true, "c": nil, "\u2028": "x"}, false},
		"keys to be cleaned":    {map[string]string{"a\x00": "b"}, true},
		"invalid UTF-8":         {[]string{"\xff\xfeb", "\x00"}, false},
		"a nil pointer":         {struct{ P *int }{}, false},
		"pointers": {struct {
			P, Q *int
			R    any
		}{&number, nil, &number}, false},
		"a list with gaps":   {[]*int{nil, &number, nil, &number, nil}, false},
		"a type in itself":   {within{"a", &within{"b", nil}}, false},
		"ids":                {[]any{uuid.Max, &uuid.Max, nobody, uuid.Nil}, false},
		"a time":             {[]time.Time{time.Unix(0, 1).UTC()}, false},
		"an impossible time": {[]time.Time{time.Unix(1<<40, 0)}, true},
		"JSON":               {[]json.RawMessage{json.RawMessage(`{"b":1, "a":null}`), json.RawMessage("null")}, false},
		"text that is JSON":  {[]json.RawMessage{json.RawMessage("{")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, became := appendValue(nil, layoutOf(reflect.TypeOf(v.value)), reflect.ValueOf(v.value))
			if v.refused {
				if became != refused {
					t.Errorf("became %d, want it refused", became)
				}
				return
			}
			tree, err := throughText(v.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(appendCanonical(nil, tree)), string(got)); diff != "" || became != written {
				t.Errorf("became %d (-encoding/json +here):\n%s", became, diff)
			}
		})
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
