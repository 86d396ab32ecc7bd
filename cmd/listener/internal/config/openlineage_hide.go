package config

import (
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// authKeys are the keys that a transport's auth has.
var authKeys = []string{
	"type", "apiKey", "apiKeyFile", "clientId", "clientSecret", "clientSecretFile", "clientAuthMethod", "scope", "grantType",
	"responseType", "tokenEndpoint", "tokenFields", "expiresInField", "tokenRefreshBuffer",
}

// hideKeys gives stars for names to keys that are most likely secrets themselves, written where their value belongs:
// those of a map under a secret's key (apiKey: {hunter2: }), and those of auth that come near to none that it has (auth:
// {type: api_key, hunter2}). No transport takes such keys, and what is wrong with them would be said by their names. Key
// is the one that the node stands under.
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
		below, deeper := n.fields[name], name
		if hiddenName(key, name) {
			delete(n.fields, name)
			name, deeper = Redacted, "secret" // nothing below it is shown either
			below.moved(n.origin.child(name).Key)
		}
		n.fields[name] = below
		if !slices.Contains(n.keys, name) {
			n.keys = append(n.keys, name)
		}
		below.hideKeys(deeper)
	}
}

// hiddenName says whether the name of a key is most likely a secret.
func hiddenName(under, name string) bool {
	if !strings.HasSuffix(strings.ToLower(under), "auth") {
		return secretKey(under)
	}
	plain := func(key string) string { return separators.Replace(strings.ToLower(key)) }
	known := make([]string, len(authKeys))
	for i, key := range authKeys {
		known[i] = plain(key)
	}
	return settings.Nearest(plain(name), known) == ""
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
