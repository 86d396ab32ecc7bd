// Package factory makes destinations of a transport configuration as the OpenLineage Python client reads it: the types,
// the keys and their defaults are that client's, and composite and transform are resolved.
package factory

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/fit"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// ConfigError is a setting that cannot be used. Build joins all that it found; errors.As gets the first.
type ConfigError = transport.ConfigError

// Root is the path of the outermost section.
const Root = "transport"

// Options are what transports get besides their settings.
type Options struct {
	// Stdout is where the console transport writes.
	Stdout io.Writer
	// UserAgent names the program to consumers.
	UserAgent string
	// Getenv reads the environment; nil: nothing is set. Read are REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE, as the Python
	// client does when verify is true. Proxies are net/http's matter.
	Getenv func(string) string
	// Warn takes what is odd but stops nothing: a path and words, without values. Nil: nobody listens.
	Warn func(string)
	// Order returns the keys of the map at a path in the order in which they were written, which a Go map forgets and
	// failover depends on. Keys that it leaves out come first, in reverse alphabetical order: so the Python client has
	// those that come from variables. Nil: all do.
	Order func(path string) []string
	// Now is the clock; nil: the system's.
	Now func() time.Time
	// Reduced is told of each event that a destination took only with less in it. Nil: nobody listens.
	Reduced func(destination string, event transport.Event, left fit.Left)
}

// Build returns the destinations of a configuration, in order, without opening a connection or touching a file that
// is written. Its error joins a *ConfigError for each problem.
func Build(spec map[string]any, o Options) (destinations []transport.Destination, err error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Order == nil {
		o.Order = func(string) []string { return nil }
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Reduced == nil {
		o.Reduced = func(string, transport.Event, fit.Left) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	root := settings.New(Root, spec)
	p := planner{options: o}
	tree := p.plan(root)
	for _, warning := range root.Warnings() {
		o.Warn(warning)
	}
	if err := root.Err(); err != nil {
		return nil, err
	}
	destinations = tree.flatten("")
	if err := distinct(destinations); err != nil {
		return nil, err
	}
	return destinations, nil
}

// distinct sees to it that no two destinations share a name: they would share a position in the outbox too.
func distinct(destinations []transport.Destination) error {
	seen := map[string]bool{}
	var errs []error
	for _, d := range destinations {
		if seen[d.Name] {
			errs = append(errs, &ConfigError{
				Path:    Root,
				Problem: fmt.Sprintf("two transports are both called %q", d.Name),
				Hint:    "give each a name of its own",
			})
		}
		seen[d.Name] = true
	}
	return errors.Join(errs...)
}
