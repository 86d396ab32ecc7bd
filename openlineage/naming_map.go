package openlineage

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// NameRule gives another name to the datasets that it matches: those of a host behind an alias, of a system that the
// naming table lacks, or of a consumer with names of its own.
type NameRule struct {
	// Match is a regular expression, in Go's syntax, for the whole of the dataset's namespace, a slash and its name.
	Match string `json:"match" yaml:"match"`
	// Namespace and Name are what the dataset has instead; $1 and ${group} stand for what groups of Match took, $$ for
	// a dollar. Empty: it keeps what it has.
	Namespace string `json:"namespace" yaml:"namespace"`
	Name      string `json:"name" yaml:"name"`
}

// NameMap holds rules ready for use. The zero value has none.
type NameMap []nameRule

type nameRule struct {
	match           *regexp.Regexp
	namespace, name string
}

// NewNameMap returns the rules ready for use, in their order, or an error that says which one is wrong, counted from 1.
func NewNameMap(rules []NameRule) (NameMap, error) {
	var ready NameMap
	for i, rule := range rules {
		r, err := rule.compile()
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		ready = append(ready, r)
	}
	return ready, nil
}

func (r NameRule) compile() (nameRule, error) {
	switch {
	case strings.TrimSpace(r.Match) == "":
		return nameRule{}, errors.New("match is missing: the regular expression for namespace/name")
	case strings.TrimSpace(r.Namespace) == "" && strings.TrimSpace(r.Name) == "":
		return nameRule{}, errors.New("namespace and name are both missing: one of them says what to change")
	}
	// Compiled alone first: its own parentheses must not close ours, and errors should show it as it was written.
	if _, err := regexp.Compile(r.Match); err != nil {
		return nameRule{}, fmt.Errorf("match: %w", err)
	}
	match, err := regexp.Compile(`\A(?:` + r.Match + `)\z`)
	if err != nil {
		return nameRule{}, fmt.Errorf("match: %w", err)
	}
	for _, template := range []struct{ key, text string }{{"namespace", r.Namespace}, {"name", r.Name}} {
		if err := checkTemplate(match, template.text); err != nil {
			return nameRule{}, fmt.Errorf("%s: %w", template.key, err)
		}
	}
	return nameRule{match: match, namespace: strings.TrimSpace(r.Namespace), name: strings.TrimSpace(r.Name)}, nil
}

// reference is what regexp's Expand takes for the name of a group.
var reference = regexp.MustCompile(`\$(?:\$|(\w+)|\{(\w+)\})?`)

// checkTemplate refuses references to groups that there are not. Expand would leave them empty without a word: $1_raw
// is the group 1_raw.
func checkTemplate(match *regexp.Regexp, template string) error {
	for _, found := range reference.FindAllStringSubmatch(template, -1) {
		group := found[1] + found[2]
		switch {
		case found[0] == "$$":
		case group == "":
			return errors.New("a $ stands before no group: write $$ for a dollar")
		case !hasGroup(match, group):
			return fmt.Errorf("match has no group %s: write ${1}x where x follows group 1", group)
		}
	}
	return nil
}

func hasGroup(match *regexp.Regexp, group string) bool {
	if match.SubexpIndex(group) >= 0 {
		return true
	}
	for n := range match.NumSubexp() + 1 {
		if group == fmt.Sprint(n) {
			return true
		}
	}
	return false
}

// Rename returns what the first rule that matches makes of a dataset's names, false if none does. The result has not
// been checked.
func (m NameMap) Rename(namespace, name string) (newNamespace, newName string, ok bool) {
	whole := namespace + "/" + name
	for _, rule := range m {
		groups := rule.match.FindStringSubmatchIndex(whole)
		if groups == nil {
			continue
		}
		if rule.namespace != "" {
			namespace = string(rule.match.ExpandString(nil, rule.namespace, whole, groups))
		}
		if rule.name != "" {
			name = string(rule.match.ExpandString(nil, rule.name, whole, groups))
		}
		return namespace, name, true
	}
	return namespace, name, false
}

// Name names a dataset as NameDataset does, and then by the first rule that matches. What can't be named for want of a
// table is given to the rules as its URI alone, without credentials: keys of assets are such URIs.
func (m NameMap) Name(uri, table string, mode Naming) (namespace, name string, err error) {
	namespace, name, err = NameDataset(uri, table, mode)
	if len(m) == 0 {
		return namespace, name, err
	}
	if err == nil {
		if renamed, to, ok := m.Rename(namespace, name); ok {
			return CheckDataset(renamed, to)
		}
		return namespace, name, nil
	}
	place, path, ok := splitPlace(uri)
	if strings.TrimSpace(table) != "" || !ok {
		return "", "", err
	}
	if renamed, to, ok := m.Rename(place, path); ok {
		return CheckDataset(renamed, to)
	}
	return "", "", err
}

// splitPlace splits a URI behind its authority, as a namespace and a name.
func splitPlace(uri string) (namespace, name string, ok bool) {
	prefix, rest, ok := cutScheme(MaskURI(strings.TrimSpace(uri)))
	authority, path, found := strings.Cut(rest, "/")
	return prefix + authority, path, ok && found && path != ""
}
