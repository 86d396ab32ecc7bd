package factory

import (
	"fmt"
	"maps"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/composite"
	"github.com/prefect-openlineage/listener/transport/fit"
	"github.com/prefect-openlineage/listener/transport/transform"
)

// flatten returns the destinations of a tree. What need not wait for each other is taken apart: each leaf of a composite
// that goes on after failure and success is a destination of its own, so one that is down holds up no other. scope
// stands before names, so that two composites may use the same ones.
func (n *node) flatten(scope string) []transport.Destination {
	switch {
	case n.transformer != nil:
		inner := n.children[0].flatten(scope)
		for i := range inner {
			inner[i] = n.wrap(inner[i], n.children[0].name == "")
		}
		return inner
	case len(n.children) == 0:
		return []transport.Destination{n.single(scope)}
	case n.onFailure && n.onSuccess:
		var all []transport.Destination
		for _, child := range n.children {
			all = append(all, child.flatten(n.scope(scope))...)
		}
		return all
	case n.onSuccess:
		return n.chain(scope)
	case n.onFailure:
		return []transport.Destination{n.single(scope)}
	default:
		return n.children[0].flatten(n.scope(scope)) // it succeeds or fails, and both end the matter
	}
}

// chain returns destinations of which each waits for the one before.
func (n *node) chain(scope string) []transport.Destination {
	var all []transport.Destination
	for _, child := range n.children {
		var links []transport.Destination
		if child.isChain() {
			links = child.chain(n.scope(scope))
		} else {
			links = []transport.Destination{child.single(n.scope(scope))}
		}
		if len(all) > 0 {
			links[0].After = all[len(all)-1].Name
		}
		all = append(all, links...)
	}
	return all
}

func (n *node) isChain() bool {
	return len(n.children) > 0 && n.transformer == nil && !n.onFailure && n.onSuccess
}

// scope is what stands before the names of a composite's children.
func (n *node) scope(outer string) string {
	if n.name == "" {
		return outer
	}
	return outer + n.name + "/"
}

// single returns a tree as one destination, with one position for all of it.
func (n *node) single(scope string) transport.Destination {
	switch {
	case n.transformer != nil:
		return n.wrap(n.children[0].single(scope), n.children[0].name == "")
	case len(n.children) == 0:
		d := n.leaf
		d.Name = scope + n.name
		if n.name == "" {
			d.Name = scope + identity(d)
		}
		d.Places = map[string]string{"": n.path}
		name := d.Name
		d.Transport = fit.New(d.Transport, d.MaxBytes, func(event transport.Event, left fit.Left) { n.reduced(name, event, left) })
		return d
	case len(n.children) == 1 || (!n.onFailure && !n.onSuccess):
		return n.children[0].single(n.scope(scope))
	default:
		return n.group(scope)
	}
}

// group makes one transport of a composite's children.
func (n *node) group(scope string) transport.Destination {
	rule, word := composite.First, "first success"
	switch {
	case n.onSuccess && n.onFailure:
		rule, word = composite.All, "all"
	case n.onSuccess:
		rule, word = composite.AllInOrder, "all in order"
	}
	d := transport.Destination{Kind: "composite", Name: scope + n.name, Places: map[string]string{"": n.path}}
	members := make([]composite.Member, 0, len(n.children))
	var names, targets []string
	shown := make([]any, 0, len(n.children))
	for i, child := range n.children {
		member := child.single(n.scope(scope))
		members = append(members, composite.Member{Name: member.Name, Transport: member.Transport})
		names, targets = append(names, member.Name), append(targets, member.Target)
		settings := maps.Clone(member.Settings)
		settings["name"], settings["type"] = member.Name, member.Kind
		shown = append(shown, settings)
		for part, place := range member.Places {
			d.Places[strings.TrimSuffix(fmt.Sprintf("transports[%d].%s", i, part), ".")] = place
		}
		if i == 0 || member.Parallel < d.Parallel {
			d.Parallel = member.Parallel
		}
	}
	if n.name == "" {
		d.Name = scope + "composite:" + strings.Join(names, ",")
	}
	d.Transport = composite.New(rule, members...)
	d.Target = strings.Join(targets, ", ")
	d.Settings = map[string]any{"settled_by": word, "transports": shown}
	return d
}

// wrap puts the transformer before a destination. Unless a name was given, the identity says that it is there: the same
// consumer may get the events unchanged as well.
func (n *node) wrap(d transport.Destination, mark bool) transport.Destination {
	d.Transport = transform.New(n.transformer, d.Transport)
	d.Settings = maps.Clone(d.Settings)
	d.Settings["transform"] = n.change
	d.Places = maps.Clone(d.Places)
	d.Places["transform"] = n.changePath
	if mark {
		d.Name = "transform:" + d.Name
		if d.After != "" {
			d.After = "transform:" + d.After
		}
	}
	return d
}
