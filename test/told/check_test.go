package told_test

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/test/told"
)

func TestWhole(t *testing.T) {
	t.Parallel()
	const whole = `{"eventType":"START","run":{"facets":{}},"job":{"facets":{}},` +
		`"inputs":[{"facets":{},"inputFacets":{}}],"outputs":[{"facets":{},"outputFacets":{}}]}`
	if err := told.Whole([]byte(whole)); err != nil {
		t.Errorf("a whole event lacks something: %v", err)
	}
	for without, want := range map[string]string{
		`"eventType":"START",`: "the event has no eventType", `"run":{"facets":{}},`: "run has no facets",
		`"facets":{},"inputFacets":{}`: "inputs has no facets", `,"outputFacets":{}`: "outputs has no outputFacets",
		`"inputs":[{"facets":{},"inputFacets":{}}],`: "the event has no inputs",
	} {
		if err := told.Whole([]byte(strings.Replace(whole, without, "", 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v, not %s", without, err, want)
		}
	}
	if told.Whole([]byte("{")) == nil {
		t.Error("half an event is whole")
	}
}
