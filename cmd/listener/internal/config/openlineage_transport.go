package config

import (
	"errors"
	"strings"
	"time"
)

// chooseTransport finds the transport by the Python client's order: none where all is disabled, else the one with a
// type, else OPENLINEAGE_URL, else the console.
func (l *loader) chooseTransport(root, legacy *node) *node {
	if l.cfg.OpenLineage.Disabled {
		return only("noop")
	}
	transport := root.get("transport")
	if !transport.falsy() && transport.kind != mapping {
		takes := errors.New("takes a map with a type, such as type: http")
		if transport.origin.Source == Environment {
			takes = errors.New(`takes a JSON object with a type, such as {"type": "console"}`)
		}
		value := scalarText(transport)
		if strings.ContainsAny(value, "{}[]") {
			value = "" // JSON that is broken may hold secrets
		}
		l.problem(transport.origin.Where(), value, takes)
		return only("console")
	}
	if kind := transport.get("type"); !kind.falsy() {
		if transport.text("type") == "" {
			l.problem(kind.origin.Where(), scalarText(kind), errors.New("takes the transport's type as text, such as http"))
			return only("console")
		}
		return normal(l.dropAlias(transport, legacy))
	}
	var own []*node // what was set without a type
	rest := withoutAlias(transport, legacy)
	rest.walk("", func(_ string, leaf *node) {
		if !leaf.falsy() {
			own = append(own, leaf)
		}
	})
	switch {
	case legacy != nil:
		for _, leaf := range own {
			l.warn(leaf.origin.Where(), "does not count: there is no transport type, so OPENLINEAGE_URL does")
		}
		return legacy
	case len(own) > 0:
		l.problem(rest.origin.child("type").Where(), "", errors.New("is not set: takes the transport's type, such as http"))
		return only("console")
	case l.broken: // which transport was meant isn't known
		return only("console")
	default:
		l.warnings = append(l.warnings, Warning{
			Where: "OPENLINEAGE_URL", Text: "is not set, nor is another transport: events go to standard output", Sending: true,
		})
		return only("console")
	}
}

// watchFiles notes the files of secrets that a transport reads by itself, such as its apiKeyFile, so that a new secret in
// one counts as a change of the settings: a destination that was held is then tried at once. A file that can't be read
// now is the transport's to complain about.
func (l *loader) watchFiles(transport *node) {
	transport.walk("", func(path string, leaf *node) {
		name, isText := leaf.value.(string)
		key, isFile := strings.CutSuffix(strings.ToLower(lastPart(path)), "file")
		if !isText || !isFile || !secretKey(key) {
			return
		}
		if file, err := newSecretFile(l.in.Files, l.absolute(name), time.Now); err == nil {
			l.cfg.OpenLineage.secrets = append(l.cfg.OpenLineage.secrets, Credential{file: file})
		}
	})
}

// vendorSecrets notes the secrets that transports read from variables of their vendors, so that they are masked wherever
// they turn up; of one in a file also that it changed.
func (l *loader) vendorSecrets() {
	for _, name := range []string{"DD_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		if secret := strings.TrimSpace(l.set[name]); secret != "" {
			l.cfg.OpenLineage.secrets = append(l.cfg.OpenLineage.secrets, NewCredential(secret))
		}
	}
	if path := strings.TrimSpace(l.set["DD_API_KEY_FILE"]); path != "" {
		if file, err := newSecretFile(l.in.Files, l.absolute(path), time.Now); err == nil {
			l.cfg.OpenLineage.secrets = append(l.cfg.OpenLineage.secrets, Credential{file: file})
		}
	}
}

// only is a transport that has a type and nothing else.
func only(kind string) *node {
	n := newMap(Origin{})
	n.put("type", newScalar(kind, Origin{}))
	return n
}

// dropAlias takes away the child that OPENLINEAGE_URL made where there is no composite for it to be a child of.
func (l *loader) dropAlias(transport, legacy *node) *node {
	if legacy == nil || transport.text("type") == "composite" {
		return transport
	}
	// An async_http transport takes its address from OPENLINEAGE_URL where it has none of its own.
	if url := transport.get("url"); url == nil || url.origin != legacy.origin {
		l.warn(legacy.origin.Name, "does not count: %s sets another transport", transport.get("type").origin.Where())
	}
	return withoutAlias(transport, legacy)
}

// withoutAlias is a transport less the child that OPENLINEAGE_URL made.
func withoutAlias(transport, legacy *node) *node {
	if transport == nil {
		return newMap(Origin{})
	}
	own := newMap(transport.origin)
	for _, key := range transport.keys {
		value := transport.fields[key]
		if key == "transports" && legacy != nil && value.kind == mapping {
			rest := newMap(value.origin)
			for _, name := range value.keys {
				if child := value.fields[name]; child.get("type") == nil || child.get("type").origin != legacy.origin {
					rest.put(name, child)
				}
			}
			if value = rest; len(rest.keys) == 0 {
				continue
			}
		}
		own.put(key, value)
	}
	return own
}

// normal gives the children of composites, at any depth, as a list: a map's order would be lost on the way to the
// factory. A child without anything in it is one that was turned off.
func normal(transport *node) *node {
	if transport.kind != mapping {
		return transport
	}
	made := newMap(transport.origin)
	for _, key := range transport.keys {
		value := transport.fields[key]
		switch {
		case key == "transports" && value.kind == mapping && len(value.keys) > 0:
			value = children(value)
		case key == "transports" && value.kind == list:
			value = &node{kind: list, origin: value.origin, items: each(value.items, normal)}
		case key == "transport":
			value = normal(value)
		}
		made.put(key, value)
	}
	return made
}

// children turns a map of transports into a list; a key is its transport's name, whatever name stands inside.
func children(named *node) *node {
	made := &node{kind: list, origin: named.origin}
	for _, name := range named.keys {
		child := named.fields[name]
		if child.falsy() {
			continue
		}
		child = normal(child)
		if child.kind == mapping {
			child.put("name", newScalar(name, child.origin))
		}
		made.items = append(made.items, child)
	}
	return made
}

func each(items []*node, change func(*node) *node) []*node {
	made := make([]*node, len(items))
	for i, item := range items {
		made[i] = change(item)
	}
	return made
}
