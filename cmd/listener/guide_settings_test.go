package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/test/docs"
)

// variableRow is what the guide says of one variable.
type variableRow struct{ name, takes, unset, profile string }

// variableRows are the rows of all tables of variables.
func variableRows(t *testing.T) []variableRow {
	t.Helper()
	var rows []variableRow
	for _, section := range docs.Read(t, settingsGuide) {
		for _, table := range section.Tables {
			if table.Columns[0] != "variable" {
				continue
			}
			for _, cells := range table.Rows {
				row := variableRow{name: docs.Spans(cells[0])[0], takes: cells[2], unset: inTest(cells[3])}
				if len(cells) > 4 {
					row.profile = cells[4]
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// inTest puts the test's values for what stands for the user's in the guide.
func inTest(cell string) string {
	return strings.NewReplacer("$HOME", "/home/ann", "$VERSION", "1.2.3").Replace(cell)
}

// knownVariables are the names in the code.
func knownVariables() []string {
	var names []string
	for field := range reflect.TypeFor[config.Variables]().Fields() {
		names = append(names, field.Tag.Get("envconfig"))
	}
	slices.Sort(names)
	return names
}

// Every variable stands in the guide once, and every variable of the guide is one.
func TestTheGuideHasEveryVariable(t *testing.T) {
	t.Parallel()
	var written []string
	for _, row := range variableRows(t) {
		written = append(written, row.name)
	}
	slices.Sort(written)
	equal(t, knownVariables(), written)
}

// Every value that the guide gives as one that a variable takes is taken.
func TestTheGuidesValuesAreTaken(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, row := range variableRows(t) {
		for _, value := range docs.Spans(row.takes) {
			if strings.HasPrefix(value, "/") { // a part of an address
				continue
			}
			tried++
			w := world{env: []string{"OPENLINEAGE__TRANSPORT__TYPE=noop", row.name + "=" + value}}
			if strings.HasPrefix(row.name, "OPENLINEAGE_") {
				w.env = []string{"OPENLINEAGE_URL=http://h", row.name + "=" + value}
			}
			if _, err := w.load(); err != nil {
				t.Errorf("%s=%s: %v", row.name, value, err)
			}
		}
	}
	if tried < 30 {
		t.Errorf("only %d values were tried", tried)
	}
}

// The defaults are those that listener check shows; what it does not show changes nothing when it is set to its default.
func TestTheGuidesDefaultsAreShown(t *testing.T) {
	t.Parallel()
	for _, row := range variableRows(t) {
		base := func() *world { return &world{env: []string{"OPENLINEAGE__TRANSPORT__TYPE=noop"}} }
		shown, isShown := shownValue(t, base(), row.name)
		spans := docs.Spans(row.unset)
		switch {
		case !isShown && strings.HasPrefix(row.unset, "`"):
			sameWithDefault(t, row.name, spans)
		case !isShown:
		case len(spans) == 0:
			equal(t, "", shown)
		default:
			equal(t, spans[0], shown)
		}
		_, cloud, isCloud := strings.Cut(row.unset, "Prefect Cloud ")
		onCloud := base()
		onCloud.env = append(onCloud.env, "PREFECT_API_URL=https://api.prefect.cloud/api/accounts/a/workspaces/w")
		_, terminal, isTerminal := strings.Cut(row.unset, "on a terminal ")
		onTerminal := base()
		onTerminal.terminal = true
		if got, _ := shownValue(t, onCloud, row.name); !strings.HasPrefix(row.name, "PREFECT_") && isCloud != (got != shown) || isCloud && cloud != "`"+got+"`" {
			t.Errorf("%s: Prefect Cloud has %q, the guide says %q", row.name, got, row.unset)
		}
		if got, _ := shownValue(t, onTerminal, row.name); isTerminal != (got != shown) || isTerminal && terminal != "`"+got+"`" {
			t.Errorf("%s: a terminal has %q, the guide says %q", row.name, got, row.unset)
		}
	}
}

// shownValue is what listener check shows for a variable, if it does.
func shownValue(t *testing.T, w *world, name string) (string, bool) {
	t.Helper()
	s, err := w.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range s.config.Settings {
		if setting.Name == name {
			return setting.Value, true
		}
	}
	return "", false
}

// sameWithDefault compares a variable that is unset with one that is set to its default, whichever of several that is.
func sameWithDefault(t *testing.T, name string, defaults []string) {
	t.Helper()
	for _, value := range defaults {
		unset := world{env: []string{"OPENLINEAGE_URL=http://h"}, files: map[string]string{"/home/ann/.prefect/profiles.toml": ""}}
		if name == "OPENLINEAGE_CONFIG" {
			at := value
			if !strings.HasPrefix(at, "/") {
				at = "/srv/" + at
			}
			unset.files[at] = "tags: {}\n"
		}
		set := unset
		set.env = append(slices.Clone(unset.env), name+"="+value)
		equal(t, effects(t, &unset), effects(t, &set))
	}
}

// effects are what settings come to beside what listener check shows.
func effects(t *testing.T, w *world) []any {
	t.Helper()
	s, err := w.load()
	if err != nil {
		t.Fatal(err)
	}
	s.close(t.Context())
	return append(shownOf(s), s.config.StatePath, s.config.OpenLineage.File, w.profilePath)
}

// A profile's settings count where the guide says so, and nowhere else.
func TestTheGuideOnProfiles(t *testing.T) {
	t.Parallel()
	for _, row := range variableRows(t) {
		w := world{env: []string{"OPENLINEAGE__TRANSPORT__TYPE=noop"}, profile: map[string]string{row.name: "no such value"}}
		s, err := w.load()
		counts := strings.Contains(fmt.Sprint(err, s.config.Settings), "active profile in")
		if counts != (row.profile == "yes") {
			t.Errorf("%s: counts in a profile: %v, the guide says %q", row.name, counts, row.profile)
		}
	}
}

func TestTheGuideOnExitCodes(t *testing.T) {
	t.Parallel()
	var codes []int
	for _, row := range docs.Read(t, settingsGuide).Section(t, "Exit codes").Tables[0].Rows {
		for text := range strings.SplitSeq(row[0], ", ") {
			code, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
	}
	equal(t, []int{exitOK, exitError, exitUsage, exitStart, exitDamaged, exitIO, 128 + 2, 128 + 15}, codes)
}

// The variables that have a twin in a file are all named where the guide speaks of them.
func TestTheGuideOnFilesOfSecrets(t *testing.T) {
	t.Parallel()
	twins := map[string]bool{}
	for _, name := range knownVariables() {
		if base, ok := strings.CutSuffix(name, "_FILE"); ok && slices.Contains(knownVariables(), base) {
			twins[name] = true
		}
	}
	said := map[string]bool{}
	for _, name := range docs.Spans(docs.Read(t, settingsGuide).Section(t, "Secrets from files").Text) {
		if fixedName.MatchString(name) {
			said[name] = true
		}
	}
	equal(t, slices.Sorted(maps.Keys(twins)), slices.Sorted(maps.Keys(said)))
}
