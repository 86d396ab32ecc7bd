package prefect

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestElements(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, list string
	}{
		{"none", ` [ ] `},
		{"objects", `[{"a":[1,{"b":"]}"}]}, {"c":"\\\"],["} ]`},
		{"words and numbers", "[1 ,\n-2.5e3, null,true , \"a,b\",\"\\\\\"]"},
		{"lists", `[[],[[1]],[{}]]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var want, got []any
			if err := json.Unmarshal([]byte(test.list), &want); err != nil {
				t.Fatal(err)
			}
			for raw, err := range elements([]byte(test.list)) {
				var value any
				if err == nil {
					err = json.Unmarshal(raw, &value)
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, value)
			}
			if diff := cmp.Diff(len(want), len(got)); diff != "" {
				t.Fatalf("%d elements, want %d", len(got), len(want))
			}
			for i := range want {
				if diff := cmp.Diff(want[i], got[i]); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	for _, odd := range []string{`{}`, `null`, `7`, ``} {
		for _, err := range elements([]byte(odd)) {
			if err == nil {
				t.Errorf("%q was taken for a list", odd)
			}
		}
	}
}

// FuzzElements has the splitter and the library agree on every list.
func FuzzElements(f *testing.F) {
	f.Add(`[{"a":"\\"}, [1,2] ,"x,]",null]`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		var want []json.RawMessage
		if json.Unmarshal([]byte(text), &want) != nil || want == nil {
			return
		}
		i := 0
		for raw, err := range elements([]byte(text)) {
			if err != nil || i >= len(want) {
				t.Fatalf("element %d: %v", i, err)
			}
			var a, b any
			if json.Unmarshal(raw, &a) != nil || json.Unmarshal(want[i], &b) != nil || !cmp.Equal(a, b) {
				t.Fatalf("element %d is %q, want %q", i, raw, want[i])
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("%d elements, want %d", i, len(want))
		}
	})
}

func TestFit(t *testing.T) {
	t.Parallel()
	f := &fit{first: 20, most: 100, page: 200}
	if n := f.next(); n != 20 {
		t.Errorf("begins with %d", n)
	}
	f.got(20, 200)
	if n := f.next(); n != 19 {
		t.Errorf("asks for %d ids of ten rows each, want 19: a page that is nearly full", n)
	}
	f.got(19, 3*190)
	if n := f.next(); n != 6 {
		t.Errorf("asks for %d ids of thirty rows each, want 6", n)
	}
	for range 50 {
		f.got(f.next(), 0)
	}
	if n := f.next(); n != 100 {
		t.Errorf("asks for %d ids without rows, want 100", n)
	}
	f.got(1, 100_000)
	if n := f.next(); n != 1 {
		t.Errorf("asks for %d ids of very many rows, want 1", n)
	}
	f.got(0, 0)
}
