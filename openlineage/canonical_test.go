package openlineage_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/openlineage"
)

func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want string
	}{
		{"sorted and compact", "{\"b\" : 1,\n \"a\": {\"d\":2, \"c\":3}}", `{"a":{"c":3,"d":2},"b":1}`},
		{"sorted by bytes", `{"a":1,"B":2,"é":3,"aa":4,"_":5}`, `{"B":2,"_":5,"a":1,"aa":4,"é":3}`},
		{"numbers as written", `[1.0,1e5,-0,0.10,12345678901234567890]`, `[1.0,1e5,-0,0.10,12345678901234567890]`},
		{"no HTML escaping", `"\u003ca href='x'\u003e \u0026 <"`, `"<a href='x'> & <"`},
		{"what must be escaped", `"\u0022\\\u000a\u000d\t\b\f\u0001\/"`, `"\"\\\n\r\t\b\f\u0001/"`},
		{"unicode as it is", `"\u00e9\u2028\ud83d\ude00"`, "\"é\u2028😀\""},
		{"delete as it is", "\"\x7f\"", "\"\x7f\""},
		{"invalid UTF-8", "\"a\xffb\"", "\"a\uFFFDb\""},
		{"lone surrogate", `"\ud800"`, "\"\uFFFD\""},
		{"NUL", `{"a\u0000":"b\u0000"}`, "{\"a\uFFFD\":\"b\uFFFD\"}"},
		{"null members", `{"a":null,"b":{"c":null},"d":[null,1,null]}`, `{"b":{},"d":[1]}`},
		{"lone null", `null`, `null`},
		{"the last of two", `{"a":1,"a":2}`, `{"a":2}`},
		{"the last of two that become one", `{"a\u0000":1,"a\ufffd":2}`, "{\"a\uFFFD\":2}"},
		{"empty", `{"a":{},"b":[],"c":""}`, `{"a":{},"b":[],"c":""}`},
		{"blanks around", " true ", `true`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := openlineage.CanonicalJSON([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCanonicalJSONRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "{", "{} {}", "NaN", "{'a':1}", "[1,]", "01", "{}x"} {
		if got, err := openlineage.CanonicalJSON([]byte(in)); err == nil {
			t.Errorf("CanonicalJSON(%q) = %s, want an error", in, got)
		}
	}
}

func TestCanonicalJSONSettles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(anyJSON(3).Draw(t, "value"))
		if err != nil {
			t.Skip("no JSON")
		}
		checkCanonical(t, raw)
	})
}

func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{`{"b":1.0,"a":[null,"\u0000é\ud800"]}`, "{\"\xff\":1,\"\xfe\":2}", `[1e400,-0]`, `"\u2028"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkCanonical(t, raw) })
}

func checkCanonical(t fataler, raw []byte) {
	once, err := openlineage.CanonicalJSON(raw)
	if err != nil {
		if json.Valid(raw) {
			t.Fatalf("%q was refused: %v", raw, err)
		}
		return
	}
	if !json.Valid(once) || !utf8.Valid(once) || bytes.IndexByte(once, 0) >= 0 {
		t.Fatalf("%q became %q", raw, once)
	}
	twice, err := openlineage.CanonicalJSON(once)
	if err != nil || !bytes.Equal(once, twice) {
		t.Fatalf("%q became %q and then %q, %v", raw, once, twice, err)
	}
	if strings.Contains(string(once), ":null") {
		// A text may hold it; a value may not.
		var v any
		if json.Unmarshal(once, &v) == nil && holdsNull(v) && string(once) != "null" {
			t.Fatalf("%q kept a null: %q", raw, once)
		}
	}
}

func holdsNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(v, holdsNull)
	case map[string]any:
		for _, item := range v {
			if holdsNull(item) {
				return true
			}
		}
	}
	return false
}

// anyJSON draws values that encoding/json can write.
func anyJSON(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.Float64().AsAny(),
		rapid.String().AsAny(),
		rapid.StringMatching(`[\x00-\x7f\x{fffd}é]{0,6}`).AsAny(),
	}
	if depth > 0 {
		leaves = append(leaves,
			rapid.SliceOfN(anyJSON(depth-1), 0, 4).AsAny(),
			rapid.MapOfN(rapid.StringMatching(`[a-c\x00\x{fffd}é]{0,3}`), anyJSON(depth-1), 0, 4).AsAny())
	}
	return rapid.OneOf(leaves...)
}
