package factory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/console"
	"github.com/prefect-openlineage/listener/transport/datahub"
	"github.com/prefect-openlineage/listener/transport/file"
	"github.com/prefect-openlineage/listener/transport/gcplineage"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/noop"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// build makes a leaf's destination, without its name. The section may have problems afterwards; the result counts only
// when it has none.
type build func(*settings.Section, Options) transport.Destination

// kinds are the types that send somewhere themselves.
func kinds() map[string]build {
	return map[string]build{
		"http":       func(s *settings.Section, o Options) transport.Destination { return buildHTTP(s, o, false) },
		"async_http": func(s *settings.Section, o Options) transport.Destination { return buildHTTP(s, o, true) },
		"console":    buildConsole,
		"datahub":    buildDataHub,
		"file":       buildFile,
		"noop":       buildNoop,
		"gcplineage": buildGCPLineage,
		"kafka":      buildKafka,
		"msk-iam":    buildMSK,
		"datadog":    buildDatadog,

		"amazon_datazone_api": buildDataZone,
	}
}

// typeNames are all types that there are, sorted.
func typeNames() []string {
	return slices.Sorted(maps.Keys(func() map[string]bool {
		names := map[string]bool{"composite": true, "transform": true}
		for name := range kinds() {
			names[name] = true
		}
		return names
	}()))
}

// refuseType says what is wrong with a type that nothing is made of.
func refuseType(s *settings.Section, name string) {
	known := "there are " + strings.Join(typeNames(), ", ")
	switch lower := strings.ToLower(name); {
	case name == "":
		s.Refuse("type", "is missing", known)
	case lower != name && slices.Contains(typeNames(), lower):
		s.Refuse("type", fmt.Sprintf("%q is not known", name), "write it in lower case: "+lower)
	case strings.Contains(name, "."):
		s.Refuse("type", "names a Python class, which cannot be loaded here",
			"use http and let a small service of yours take the events; "+known)
	default:
		hint := known
		if near := settings.Nearest(name, typeNames()); near != "" {
			hint = "did you mean " + near + "? " + known
		}
		s.Refuse("type", fmt.Sprintf("%q is not known", name), hint)
	}
}

// buildHTTP makes http and async_http. Both are kind http: who changes one for the other keeps the destination and
// what waits for it.
func buildHTTP(s *settings.Section, o Options, async bool) transport.Destination {
	c := httptransport.Parse(s, async)
	if c.URL == nil {
		return transport.Destination{}
	}
	key, source := "verify", ""
	if c.TLS.CA == "" && !c.TLS.SkipVerify {
		for _, name := range []string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
			if c.TLS.CA == "" && o.Getenv(name) != "" {
				c.TLS.CA, source = o.Getenv(name), " ("+name+")"
			}
		}
	}
	if s.Has("sslContext") {
		key = "sslContext"
	}
	t, err := httptransport.New(c, httptransport.Options{UserAgent: o.UserAgent, Now: o.Now})
	if err != nil {
		s.Refuse(key, err.Error()+source, "")
		return transport.Destination{}
	}
	return transport.Destination{
		Kind: "http", Transport: t, Parallel: c.Parallel, MaxBytes: c.MaxBytes, Target: c.Target(), Settings: c.Settings(),
	}
}

func buildConsole(s *settings.Section, o Options) transport.Destination {
	s.Finish()
	return transport.Destination{
		Kind: "console", Transport: console.New(o.Stdout), Parallel: 1, Target: "standard output",
		Settings: map[string]any{},
	}
}

func buildDataHub(s *settings.Section, o Options) transport.Destination {
	c := datahub.Parse(s, o.Getenv)
	if s.Err() != nil {
		return transport.Destination{}
	}
	t, err := datahub.Open(c, datahub.Options{UserAgent: o.UserAgent, Now: o.Now})
	if err != nil {
		s.Refuse("", err.Error(), "")
		return transport.Destination{}
	}
	return transport.Destination{
		Kind: "datahub", Transport: t, Parallel: datahub.Parallel, Target: c.Target(), Settings: c.Settings(),
	}
}

func buildFile(s *settings.Section, o Options) transport.Destination {
	c := file.Parse(s)
	return transport.Destination{
		Kind: "file", Transport: file.New(c, o.Now), Parallel: 1, Target: c.Target(), Settings: c.Settings(),
	}
}

func buildNoop(s *settings.Section, _ Options) transport.Destination {
	s.Finish()
	return transport.Destination{
		Kind: "noop", Transport: noop.Transport{}, Parallel: 1, Target: "nowhere", Settings: map[string]any{},
	}
}

func buildGCPLineage(s *settings.Section, o Options) transport.Destination {
	c := gcplineage.Parse(s, o.Getenv)
	if c.Endpoint == nil {
		return transport.Destination{}
	}
	t, err := gcplineage.New(c, gcplineage.Options{UserAgent: o.UserAgent, Now: o.Now})
	if err != nil {
		s.Refuse("", err.Error(), "")
		return transport.Destination{}
	}
	return transport.Destination{
		Kind: "gcplineage", Transport: t, Parallel: httptransport.DefaultParallel, MaxBytes: c.MaxBytes,
		Target: c.Target(), Settings: c.Settings(),
	}
}

// identity is a leaf's name where none is configured: type and target without secrets.
func identity(d transport.Destination) string {
	switch d.Kind {
	case "console", "noop":
		return d.Kind
	default:
		return d.Kind + ":" + d.Target
	}
}
