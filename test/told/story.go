package told

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	basePattern = regexp.MustCompile(`/tree/v[^/"]+`)
	portPattern = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
)

// Story writes events so that two runs of the same flows give the same text: ids, times, versions and random names
// are replaced by what they stand for, and events are sorted by job, run and order.
func Story(t testing.TB, events []Event) []byte {
	t.Helper()
	var text bytes.Buffer
	tell(t, events, func(_ string, tree map[string]any) {
		out, err := json.MarshalIndent(tree, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		text.Write(out)
		text.WriteString("\n")
	})
	return text.Bytes()
}

// tell gives the events as Story has them, with the name of the run.
func tell(t testing.TB, events []Event, give func(run string, tree map[string]any)) {
	t.Helper()
	names := runNames(events)
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b Event) int {
		return strings.Compare(names[a.Run.RunID], names[b.Run.RunID])
	})
	for _, e := range sorted {
		var tree map[string]any
		if err := json.Unmarshal(e.Raw, &tree); err != nil {
			t.Fatal(err)
		}
		plain(tree, "", names)
		give(names[e.Run.RunID], tree)
	}
}

// runNames calls each run by its job and its place among the job's runs.
func runNames(events []Event) map[string]string {
	byTime := slices.Clone(events)
	slices.SortStableFunc(byTime, func(a, b Event) int { return a.EventTime.Compare(b.EventTime) })
	names := map[string]string{}
	count := map[string]int{}
	for _, e := range byTime {
		if _, ok := names[e.Run.RunID]; ok {
			continue
		}
		job := e.Job.Namespace + "/" + e.Job.Name
		count[job]++
		names[e.Run.RunID] = fmt.Sprintf("<%s #%d>", job, count[job])
	}
	return names
}

// randomKeys hold names that Prefect makes up, and hashes of code.
var randomKeys = map[string]bool{"openlineageAdapterVersion": true, "taskKey": true, "deploymentVersion": true}

var (
	suffixPattern = regexp.MustCompile(`-([0-9a-f]{3}|[0-9a-f]{8}|\d+)$`)
	randomPattern = regexp.MustCompile(`^[a-z]+-[a-z]+$`)
)

// madeUp takes out of a run's name what Prefect made up.
func madeUp(name string, ofTask bool) string {
	if ofTask && suffixPattern.MatchString(name) { // which may be letters alone
		return suffixPattern.ReplaceAllString(name, "-<key>")
	}
	return randomPattern.ReplaceAllString(name, "<random-name>")
}

func plain(value any, key string, names map[string]string) any {
	switch v := value.(type) {
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k], k, names)
		}
		if name, ok := v["runName"].(string); ok {
			v["runName"] = madeUp(name, v["kind"] == "task-run")
		}
		if _, hash := v["created"]; hash && v["version"] != nil {
			v["version"] = "<hash of the flow's file>"
		}
		return v
	case []any:
		for i := range v {
			v[i] = plain(v[i], key, names)
		}
		return v
	case string:
		if randomKeys[key] {
			return "<" + key + ">"
		}
		if timePattern.MatchString(v) {
			return "<time>"
		}
		v = uuidPattern.ReplaceAllStringFunc(v, func(id string) string {
			if name, ok := names[id]; ok {
				return name
			}
			return "<id>"
		})
		v = basePattern.ReplaceAllString(v, "/tree/<version>")
		return portPattern.ReplaceAllString(v, "http://127.0.0.1:<port>")
	default:
		return value
	}
}
