package factory

import (
	"io"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// AskedKeys returns the keys that are looked for in a configuration, each with its path below the transport.
func AskedKeys(spec map[string]any) []string {
	root := settings.New(Root, spec)
	planner{options: Options{
		Getenv: func(string) string { return "" }, Order: func(string) []string { return nil }, Now: time.Now,
	}}.plan(root)
	keys := root.Asked()
	for i := range keys {
		keys[i] = strings.TrimPrefix(keys[i], Root+".")
	}
	return keys
}

// LeafOf returns the transport of a configuration as its kind makes it.
func LeafOf(spec map[string]any) transport.Transport {
	return planner{options: Options{
		Getenv: func(string) string { return "" }, Order: func(string) []string { return nil }, Now: time.Now, Stdout: io.Discard,
	}}.plan(settings.New(Root, spec)).leaf.Transport
}

// TypeNames are the types that there are, sorted.
func TypeNames() []string { return typeNames() }
