package config

import (
	"reflect"
	"slices"
	"strings"
)

// unknown warns of variables that look like settings and are none.
func (l *loader) unknown() {
	known := fixedNames()
	names := make([]string, 0, len(l.set))
	for name := range l.set {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case slices.Contains(known, name):
		case strings.HasPrefix(name, "LISTENER_"):
			l.warnUnknown(name, nearest(name, known))
		case strings.HasPrefix(name, "OPENLINEAGE_") && !strings.HasPrefix(name, dynamicPrefix):
			// Other programs read OPENLINEAGE_ variables too, so only what is close to one of ours is a slip.
			if strings.Contains(name, "__") {
				l.warnUnknown(name, dynamicPrefix+strings.TrimPrefix(name, "OPENLINEAGE_"))
			} else if near := nearest(name, known); near != "" && distance(name, near) <= 2 {
				l.warnUnknown(name, near)
			}
		}
	}
}

func (l *loader) warnUnknown(name, near string) {
	if near == "" {
		l.warn(name, "is no setting of the listener and does not count")
		return
	}
	l.warn(name, "is no setting of the listener and does not count; did you mean %s?", near)
}

// fixedNames are the names in the tags of Variables.
func fixedNames() []string {
	fields := reflect.TypeFor[Variables]()
	names := make([]string, 0, fields.NumField())
	for field := range fields.Fields() {
		names = append(names, field.Tag.Get("envconfig"))
	}
	return names
}

// nearest is the known name that takes the fewest edits, none when all are far off.
func nearest(name string, known []string) string {
	best, least := "", len(name)/3+1
	for _, candidate := range known {
		if d := distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the number of single-byte edits between two texts (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
