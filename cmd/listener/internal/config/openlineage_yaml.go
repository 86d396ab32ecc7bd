package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// configFile returns the openlineage.yml that counts, its content as a tree. Nil: there is none.
//
// The Python client passes over a named file that isn't there, and over broken ones, without a word, and prints its
// events to the console. Here both are problems.
func (l *loader) configFile(v Variables) *node {
	if named := l.env("OPENLINEAGE_CONFIG", v.OpenLineageConfig); named.text != "" {
		file := l.absolute(named.text)
		content, err := readFile(l.in.Files, file, maxConfigBytes)
		if err != nil {
			l.problem(named.name, named.text, fmt.Errorf("takes an openlineage.yml: %w", err))
			return nil
		}
		return l.parseYAML(file, content)
	}
	for _, folder := range []string{l.in.Dir, path.Join(l.in.Home, ".openlineage")} {
		file := path.Join(folder, "openlineage.yml")
		if !path.IsAbs(file) {
			continue
		}
		if info, err := fs.Stat(l.in.Files, rooted(file)); err == nil && !info.Mode().IsRegular() {
			continue
		}
		content, err := readFile(l.in.Files, file, maxConfigBytes)
		switch {
		case err == nil:
			return l.parseYAML(file, content)
		case !errors.Is(err, fs.ErrNotExist):
			l.problem(file, "", fmt.Errorf("can't be read: %w", err))
			return nil
		}
	}
	return nil
}

// parseYAML reads one openlineage.yml.
func (l *loader) parseYAML(file string, content []byte) *node {
	l.cfg.OpenLineage.File = file
	if line, what := unreadable(content); line > 0 {
		l.problem(fmt.Sprintf("%s:%d", file, line), "", errors.New("takes YAML: here stands "+what))
		return nil
	}
	reader, err := yaml.NewLoader(bytes.NewReader(content))
	if err != nil {
		l.problem(file, "", fmt.Errorf("takes YAML: %w", err))
		return nil
	}
	var document, second yaml.Node
	if err := reader.Load(&document); err != nil {
		if errors.Is(err, io.EOF) {
			l.warn(file, "is empty")
			return nil
		}
		l.yamlProblem(file, err)
		return nil
	}
	if err := reader.Load(&second); err == nil {
		l.problem(fmt.Sprintf("%s:%d", file, second.Line), "", errors.New("takes one YAML document, and here a second one begins"))
		return nil
	} else if !errors.Is(err, io.EOF) {
		l.yamlProblem(file, err)
		return nil
	}
	build := yamlBuilder{file: file, left: maxYAMLNodes, warn: l.warn}
	root, err := build.value(&document, "")
	switch {
	case err != nil:
		l.problem(fmt.Sprintf("%s:%d", file, build.line), "", err)
		return nil
	case root.kind == scalar && root.value == nil:
		l.warn(file, "is empty")
		return nil
	case root.kind != mapping:
		l.problem(fmt.Sprintf("%s:%d", file, root.origin.Line), "", errors.New("takes keys with values, such as transport: {type: console}"))
		return nil
	}
	root.hideKeys("")
	return root
}

// yamlProblem names the line of a parser's error.
func (l *loader) yamlProblem(file string, err error) {
	if broken, ok := errors.AsType[*yaml.LoadError](err); ok && broken.Mark.Line > 0 {
		l.problem(fmt.Sprintf("%s:%d", file, broken.Mark.Line), "", errors.New("takes YAML"+yamlWords(broken.Message)))
		return
	}
	l.problem(file, "", errors.New("takes YAML"))
}

// unreadable finds the first sign that no YAML may hold, which the parser refuses without a place. Line 0: there is none.
func unreadable(content []byte) (line int, what string) {
	if bytes.HasPrefix(content, []byte("\xff\xfe")) || bytes.HasPrefix(content, []byte("\xfe\xff")) {
		return 0, "" // UTF-16 may be YAML too
	}
	line = 1
	for rest := content; len(rest) > 0; {
		sign, size := utf8.DecodeRune(rest)
		switch {
		case sign == utf8.RuneError && size == 1:
			return line, "a sign that is not UTF-8"
		case sign == '\n':
			line++
		case sign < ' ' && sign != '\t' && sign != '\r', sign == 0x7f:
			return line, "a control character"
		}
		rest = rest[size:]
	}
	return 0, ""
}

// quotedWords are longer than the signs that the parser's own words quote, so they stood in the file.
var quotedWords = regexp.MustCompile("'[^']{2,}'|\"[^\"]{2,}\"|`[^`]{2,}`")

// yamlWords is what the parser says is wrong, unless it repeats what stands there: a secret that begins with * or ! is
// taken for the name of an anchor or a tag.
func yamlWords(message string) string {
	switch {
	case strings.Contains(message, "anchor"):
		return ": the anchor that an alias names is missing (a text that begins with * or & wants quotes)"
	case strings.Contains(message, "tag"):
		return ": a tag is not one (a text that begins with ! wants quotes)"
	case quotedWords.MatchString(message):
		return ""
	default:
		return ": " + message
	}
}

// What aliases can blow up is bounded, and so is how deep they go, which inside themselves they do for ever.
const (
	maxYAMLNodes = 20_000
	maxYAMLDepth = 64
)

// yamlBuilder turns YAML nodes into ours.
type yamlBuilder struct {
	file string
	line int // where it is
	left int
	deep int
	warn func(where, format string, args ...any)
}

func (b *yamlBuilder) value(n *yaml.Node, key string) (*node, error) {
	b.line = n.Line
	b.left--
	b.deep++
	defer func() { b.deep-- }()
	if b.left < 0 || b.deep > maxYAMLDepth {
		return nil, fmt.Errorf("takes at most %d values on %d levels, those that aliases repeat included", maxYAMLNodes, maxYAMLDepth)
	}
	origin := Origin{Source: YAML, File: b.file, Line: n.Line, Key: key}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return newScalar(nil, origin), nil
		}
		return b.value(n.Content[0], key)
	case yaml.AliasNode:
		return b.value(n.Alias, key)
	case yaml.SequenceNode:
		items := &node{kind: list, origin: origin}
		for i, content := range n.Content {
			item, err := b.value(content, fmt.Sprintf("%s[%d]", key, i))
			if err != nil {
				return nil, err
			}
			items.items = append(items.items, item)
		}
		return items, nil
	case yaml.MappingNode:
		return b.mapping(n, origin)
	default:
		value := newScalar(yamlScalar(n), origin)
		switch value.value.(type) {
		case int, float64:
			value.digits = n.Value
		}
		return value, nil
	}
}

func (b *yamlBuilder) mapping(n *yaml.Node, origin Origin) (*node, error) {
	fields := newMap(origin)
	merged, err := b.merged(n, origin)
	if err != nil {
		return nil, err
	}
	own := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, content := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			continue
		}
		name := key.Value
		if own[name] {
			b.warn(fmt.Sprintf("%s:%d", b.file, key.Line), "%s stands twice, the last one counts", name)
		}
		own[name] = true
		below := name
		if origin.Key != "" {
			below = origin.Key + "." + name
		}
		value, err := b.value(content, below)
		if err != nil {
			return nil, err
		}
		// Where the key stands is where a person looks, also for a value that begins below it.
		value.origin.Line = key.Line
		fields.put(name, value)
	}
	for _, from := range merged {
		for _, name := range from.keys {
			if fields.get(name) == nil {
				fields.put(name, from.fields[name])
			}
		}
	}
	return fields, nil
}

func isMerge(key *yaml.Node) bool { return key.Value == "<<" && key.Style == 0 }

// merged are the maps that merge keys bring in, those that win first.
func (b *yamlBuilder) merged(n *yaml.Node, origin Origin) ([]*node, error) {
	var from []*node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			continue
		}
		value, err := b.value(n.Content[i+1], origin.Key)
		if err != nil {
			return nil, err
		}
		maps := []*node{value}
		if value.kind == list {
			maps = value.items
		}
		for _, one := range maps {
			if one.kind != mapping {
				b.line = n.Content[i].Line
				return nil, errors.New("takes a map, or a list of maps, after <<")
			}
			from = append(from, one)
		}
	}
	return from, nil
}
