package adapter

import (
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/prefect"
)

// word is what a flow's author says of a run.
type word struct {
	said, on bool
	by, why  string
	// odd is what was said and does not count, for a warning; empty: nothing.
	odd string
}

// wordOf returns the author's word of a run: by its own tags and job variables, else by its deployment's. A task run's
// is in its tags.
func wordOf(s prefect.Snapshot, r row) word {
	if r.kind == TaskRun {
		return wordOfTags(r.tags, "its tag ")
	}
	own := r.tags
	if d := s.Deployment; d != nil {
		// Prefect gives a run its deployment's tags too. What the run adds to them is its own.
		own = slices.DeleteFunc(slices.Clone(own), func(tag string) bool { return slices.Contains(d.Tags, tag) })
	}
	env := environmentOf(s.FlowRun.JobVariables)
	w := wordOfTags(own, "its tag ").or(wordOfVariable(env, "its job variables"))
	if d := s.Deployment; d != nil && !w.said {
		odd := w.odd
		w = wordOfTags(d.Tags, "its deployment's tag ")
		if _, replaced := env[disabledVariable]; !replaced {
			w = w.or(wordOfVariable(environmentOf(d.JobVariables), "its deployment's job variables"))
		}
		if odd != "" {
			w.odd = odd
		}
	}
	return w
}

// or joins two words of one level. Against each other, off counts: what was told can't be taken back.
func (w word) or(other word) word {
	if other.said && (!w.said || w.on && !other.on) {
		other.odd = w.odd
		return other
	}
	return w
}

// wordOfTags reads openlineage:on and openlineage:off, in any case.
func wordOfTags(tags []string, whose string) word {
	var w word
	for _, tag := range slices.Sorted(slices.Values(tags)) { // Prefect gives tags in any order
		name := strings.ToLower(strings.TrimSpace(tag))
		value, ours := strings.CutPrefix(name, authorsTag)
		switch {
		case !ours:
		case value == "on" || value == "off":
			said := word{said: true, on: value == "on", by: DecidedByTag, why: whose + name}
			if w.said && w.on != said.on {
				w.odd = "of its tags openlineage:on and openlineage:off, off counts"
			}
			w = w.or(said)
		default:
			w.odd = "its tag " + cutBytes(tag, 100) + " does not count: there are openlineage:on and openlineage:off"
		}
	}
	return w
}

// wordOfVariable reads OPENLINEAGE_DISABLED, which keeps the run's own process from telling of it as well.
func wordOfVariable(env environment, where string) word {
	switch strings.ToLower(env[disabledVariable]) {
	case "true", "1", "yes", "on", "t", "y":
		return word{said: true, by: DecidedByVariable, why: disabledVariable + " in " + where}
	default:
		return word{}
	}
}
