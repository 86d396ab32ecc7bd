package config

import (
	"strconv"
	"strings"
)

// Problem is one thing wrong with the settings.
type Problem struct {
	// Where names the variable, or the file, line and key.
	Where string
	// Value is what stands there. Empty: nothing does, or it is a secret.
	Value string
	// Takes says what is wanted, beginning with a verb, such as "takes a duration".
	Takes string
}

// String is the problem in one line.
func (p Problem) String() string {
	text := p.Where
	if p.Value != "" {
		text += "=" + quote(p.Value)
	}
	return text + ": " + strings.Join(strings.Fields(p.Takes), " ")
}

// Problems are all that is wrong with the settings. As an error it has one line for each.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// Warning is something that is most likely not meant, and that did not stop the settings from being read.
type Warning struct {
	Where string
	Text  string
	// Sending: it only matters to who sends events somewhere.
	Sending bool
}

// String is the warning in one line.
func (w Warning) String() string { return w.Where + ": " + w.Text }

// maxShown is how much of a wrong value is repeated, in bytes.
const maxShown = 200

// quote shows a value in one line, cut where it is long. A plain word stays bare.
func quote(value string) string {
	if len(value) > maxShown {
		value = strings.ToValidUTF8(value[:maxShown], "") + "…"
	}
	quoted := strconv.Quote(value)
	if quoted == `"`+value+`"` && !strings.ContainsAny(value, " \t:;,'") {
		return value
	}
	return quoted
}
