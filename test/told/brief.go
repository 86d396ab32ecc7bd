package told

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Brief writes events as Story does, a facet to a line and without what every event repeats: where
// schemas are, Prefect's version, the page's address. So what two servers gave can be laid side by side.
func Brief(t testing.TB, events []Event) []byte {
	t.Helper()
	var text bytes.Buffer
	tell(t, events, func(run string, tree map[string]any) {
		fmt.Fprintf(&text, "%s %s\n", tree["eventType"], run)
		withoutServer(tree["run"].(map[string]any)["facets"].(map[string]any))
		for _, of := range []string{"run", "job"} {
			writeFacets(t, &text, "  "+of, tree[of])
		}
		for _, direction := range []string{"inputs", "outputs"} {
			for _, one := range tree[direction].([]any) {
				set := one.(map[string]any)
				what := "  " + strings.TrimSuffix(direction, "s")
				fmt.Fprintf(&text, "%s %s %s\n", what, set["namespace"], set["name"])
				writeFacets(t, &text, "  "+what, set)
			}
		}
	})
	return text.Bytes()
}

// withoutServer takes out what every event says of the server.
func withoutServer(facets map[string]any) {
	if engine, ok := facets["processing_engine"].(map[string]any); ok {
		delete(engine, "version")
	}
	if run, ok := facets["prefect_run"].(map[string]any); ok {
		delete(run, "url")
	}
}

// writeFacets writes the facets of an object, in the order of their keys.
func writeFacets(t testing.TB, text *bytes.Buffer, of string, object any) {
	t.Helper()
	facets := map[string]any{}
	for _, key := range []string{"facets", "inputFacets", "outputFacets"} {
		some, _ := object.(map[string]any)[key].(map[string]any)
		maps.Copy(facets, some)
	}
	for _, key := range slices.Sorted(maps.Keys(facets)) {
		value := withoutSchema(facets[key])
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(text, "%s %s %s", of, key, line.Bytes())
	}
}

// withoutSchema takes out the lines in which a facet names its producer and its schema.
func withoutSchema(value any) any {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "_producer")
		delete(v, "_schemaURL")
		for key := range v {
			v[key] = withoutSchema(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withoutSchema(v[i])
		}
	}
	return value
}
