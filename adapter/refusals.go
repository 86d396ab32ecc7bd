package adapter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/prefect"
)

const (
	// maxWarnings is how many refusals of one rule a run is warned of one by one: a loop may make thousands alike.
	maxWarnings = 20
	// maxName is how much of a name that Prefect's data holds is repeated in a warning, in bytes.
	maxName = 200
)

// refusals are what of a run's artifacts could not be used.
type refusals struct {
	told     Told
	artifact prefect.Artifact // the one that is being read
	list     []Warning
	count    map[string]int // by rule
}

func (r *refusals) add(rule, format string, args ...any) {
	if r.count == nil {
		r.count = make(map[string]int)
	}
	r.count[rule]++
	if r.count[rule] <= maxWarnings {
		r.list = append(r.list, warning(r.told, rule, "%s: %s", artifactName(r.artifact), fmt.Sprintf(format, args...)))
	}
}

// warnings returns what was refused, and of each rule how much more there was than is listed.
func (r *refusals) warnings() []Warning {
	for _, rule := range slices.Sorted(maps.Keys(r.count)) {
		if more := r.count[rule] - maxWarnings; more > 0 {
			w := warning(r.told, rule, "%d more like these in its artifacts", more)
			w.Times = more
			r.list = append(r.list, w)
		}
	}
	return r.list
}

// artifactName names an artifact in warnings.
func artifactName(a prefect.Artifact) string {
	if a.Key == nil {
		return "artifact " + a.ID.String()
	}
	return fmt.Sprintf("artifact %q (%s)", clip(*a.Key, maxName), a.ID)
}

// clip cuts a text that is repeated in a warning.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(cutBytes(text, n), "") + "…"
}
