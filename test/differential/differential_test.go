package differential_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// configurations are all that are compared.
func configurations() []configuration {
	return slices.Concat(addressConfigurations(), requestConfigurations(), tlsConfigurations(), authConfigurations(),
		answerConfigurations(), asyncConfigurations(), compositeConfigurations(), compositeVariables(),
		transformConfigurations(), fileConfigurations(), variableConfigurations(), yamlConfigurations(),
		switchConfigurations(), legacyConfigurations(), sectionConfigurations(), datadogConfigurations(),
		dataZoneConfigurations())
}

func TestSameAsThePythonClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range configurations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(c.name, "datazone: ") {
				w.python.needBoto3(t)
			}
			python, here := viaPython(t, w, c), viaListener(t, w, c)
			judge(t, c.name, python, here)
			if t.Failed() {
				t.Logf("python: %s\nhere: %s", python.why, here.why)
			}
		})
	}
}

// judge compares two observations and holds the differences against the table.
func judge(t *testing.T, name string, python, here observation) {
	t.Helper()
	a, err := canonical(python)
	if err != nil {
		t.Errorf("python: %v", err)
	}
	b, err := canonical(here)
	if err != nil {
		t.Errorf("here: %v", err)
	}
	for _, event := range a.events() {
		if !withoutOwnTag(event) {
			t.Errorf("python: an event without the tag %s, which it puts on all", ownTag)
		}
	}
	for _, event := range b.events() {
		if withoutOwnTag(event) {
			t.Errorf("here: an event with the tag %s", ownTag)
		}
	}
	found, want := compare(a, b), differences[name]
	for _, aspect := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(want.aspects, aspect) {
			t.Errorf("differs in %s (-python +here):\n%s", aspect, found[aspect])
		}
	}
	for _, aspect := range want.aspects {
		if _, ok := found[aspect]; !ok {
			t.Errorf("no longer differs in %q: take it out of the table", aspect)
		}
	}
}

// events are all events wherever they arrived.
func (c compared) events() []any {
	all := slices.Concat(c.bodies, c.console)
	for _, file := range c.contents {
		all = append(all, file.Events...)
	}
	return slices.DeleteFunc(all, func(body any) bool { return !isEvent(body) })
}

func TestTheTableNamesConfigurations(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range configurations() {
		if names[c.name] || c.name == "" {
			t.Errorf("two configurations are called %q", c.name)
		}
		names[c.name] = true
	}
	if len(names) < 90 {
		t.Errorf("%d configurations", len(names))
	}
	for name, d := range differences {
		if !names[name] || len(d.aspects) == 0 || strings.TrimSpace(d.why) == "" {
			t.Errorf("%q is no configuration, or nothing is said of it", name)
		}
	}
}
