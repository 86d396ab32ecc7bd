package config

import (
	"fmt"
	"strings"
)

// Source is the kind of place that a value came from.
type Source uint8

// The sources of values.
const (
	Default Source = iota
	Environment
	SecretText // a file that a NAME_FILE variable names
	Profile    // Prefect's file of profiles
	YAML       // openlineage.yml
)

// Origin says where a value came from.
type Origin struct {
	Source Source
	// Name is the variable; for a profile the profile's name.
	Name string
	// File and Line are set for values out of files; Line 0: the file as a whole.
	File string
	Line int
	// Key is where the value stands inside a JSON value or a file, such as transport.url. Empty: it is the value.
	Key string
	// prefix marks a map that only variables with longer names made, so that a missing key has a variable's name.
	prefix bool
}

// String says where in words for people, such as "environment OPENLINEAGE_URL" or "/etc/openlineage.yml:3".
func (o Origin) String() string {
	switch o.Source {
	case Environment:
		return "environment " + o.Name
	case SecretText:
		return fmt.Sprintf("file %s (%s)", o.File, o.Name)
	case Profile:
		if o.Name == "" {
			return "active profile in " + o.File
		}
		return fmt.Sprintf("profile %s in %s", o.Name, o.File)
	case YAML:
		return o.position()
	default:
		return "default"
	}
}

// Where names what the user would change, to begin a line with: a variable, or a file's line and key.
func (o Origin) Where() string {
	switch o.Source {
	case YAML:
		if o.Key != "" {
			return o.position() + ": " + o.Key
		}
		return o.position()
	case Environment, SecretText:
		if o.Key != "" {
			return o.Name + ": " + o.Key
		}
		return o.Name
	default:
		return o.String()
	}
}

func (o Origin) position() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// child is the origin of a key inside this one's value.
func (o Origin) child(key string) Origin {
	if o.prefix {
		// No variable has a dot in its name: two underscores go down into a map, and stand for the dot in a name too.
		o.Name += "__" + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
		return o
	}
	if o.Key != "" {
		key = o.Key + "." + key
	}
	o.Key = key
	return o
}

// item is the origin of one value of a list that is this one's value.
func (o Origin) item(i int) Origin {
	o.Key = fmt.Sprintf("%s[%d]", o.Key, i)
	return o
}
