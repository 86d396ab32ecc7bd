package config

import (
	"regexp"
	"slices"
	"strings"
)

// authKeys are the keys that a transport's auth has, compared without case and underscores.
var authKeys = regexp.MustCompile(`^(type|apikey|token|expires|granttype|responsetype|client|scope)`)

// hideKeys gives stars for names to keys that are most likely secrets themselves, written where their value belongs:
// those of a map under a secret's key (apiKey: {hunter2: }), and those of auth that are unknown and have no value (auth:
// {type: api_key, hunter2}). No transport takes such keys, and what is wrong with them is said by their names. Key is
// the one that the node stands under.
func (n *node) hideKeys(key string) {
	for _, item := range n.items {
		item.hideKeys(key)
	}
	if n.kind != mapping {
		return
	}
	keys := n.keys
	n.keys = nil
	for _, name := range keys {
		below := n.fields[name]
		if hiddenName(key, name, below) {
			delete(n.fields, name)
			name = Redacted
			below.moved(n.origin.child(name).Key)
		}
		n.fields[name] = below
		if !slices.Contains(n.keys, name) {
			n.keys = append(n.keys, name)
		}
		below.hideKeys(name)
	}
}

// hiddenName says whether the name of a key is most likely a secret.
func hiddenName(under, name string, value *node) bool {
	if !strings.HasSuffix(strings.ToLower(under), "auth") {
		return secretKey(under)
	}
	idle := value.kind == scalar && value.value == nil
	return idle && !authKeys.MatchString(separators.Replace(strings.ToLower(name)))
}

// moved gives a node and all below another place.
func (n *node) moved(key string) {
	if n.origin.prefix {
		return // a variable's name says where it is
	}
	n.origin.Key = key
	for _, name := range n.keys {
		n.fields[name].moved(n.origin.child(name).Key)
	}
	for i, item := range n.items {
		item.moved(n.origin.item(i).Key)
	}
}
