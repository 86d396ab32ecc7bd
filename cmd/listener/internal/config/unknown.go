package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/transport/settings"
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
			l.warnUnknown(name, settings.Nearest(name, known))
		case strings.HasPrefix(name, "OPENLINEAGE_") && !strings.HasPrefix(name, dynamicPrefix):
			// Other programs read OPENLINEAGE_ variables too, so only what is close to one of ours is a slip.
			if strings.Contains(name, "__") {
				l.warnUnknown(name, dynamicPrefix+strings.TrimPrefix(name, "OPENLINEAGE_"))
			} else if near := settings.Nearest(name, known); near != "" && settings.Distance(name, near) <= 2 {
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
