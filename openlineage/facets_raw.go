package openlineage

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// maxRawFacet is the largest facet that is taken as raw JSON, in bytes: consumers refuse a whole event that is too big.
const maxRawFacet = 1 << 20

// Namer gives a dataset's namespace and name, as they are sent, for the URI of its database or store and its table or
// path. Its error says why there are none, without naming the dataset.
type Namer func(uri, table string) (namespace, name string, err error)

// VerbatimNamer is the Namer that takes both as they are, without credentials.
func VerbatimNamer(uri, table string) (namespace, name string, err error) {
	return NameDataset(uri, table, VerbatimNaming)
}

// AddRaw puts in a facet given as a JSON object, in place of one that has the same key. A missing _producer becomes
// the event's; a missing _schemaURL becomes that of the spec's facet with this key, else the entity's base facet.
// Texts are masked, and datasets that a facet of the spec names are named by name.
//
// A facet with a key of the spec must have the shape that the spec and Marquez ask of it: Marquez refuses the whole
// event for one facet that lacks a field, and a bad name of a symlink breaks Marquez for everyone. The error names the
// place and says what is wrong.
func (f *Facets) AddRaw(entity Entity, key string, raw []byte, name Namer) error {
	if strings.TrimSpace(key) == "" {
		return errors.New("a facet has no key")
	}
	if len(raw) > maxRawFacet {
		return fmt.Errorf("it is larger than %d bytes", maxRawFacet)
	}
	v, err := decode(raw)
	if err != nil {
		return err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return errors.New("it is not a JSON object")
	}
	if err := checkBase(object); err != nil {
		return err
	}
	if shape, ok := facetShape(entity, key, name); ok {
		if err := shape(object, ""); err != nil {
			return err
		}
	}
	maskTree(object, func(string) bool { return false })
	f.own(1)
	f.byKey[key] = entry{raw: object, schema: defaultSchema(entity, key)}
	return nil
}

// checkBase looks at what every facet holds.
func checkBase(facet map[string]any) error {
	for _, name := range []string{"_producer", "_schemaURL"} {
		switch v := facet[name].(type) {
		case nil:
		case string:
			if v != "" && !IsURI(v) {
				return errors.New(name + " is not a URI")
			}
		default:
			return errors.New(name + " is no text")
		}
	}
	if _, ok := facet["_deleted"].(bool); !ok && facet["_deleted"] != nil {
		return errors.New("_deleted is neither true nor false")
	}
	return nil
}

// IsURI is true of what Java and the schemas' format take as an absolute URI. Marquez refuses a whole event for a URI
// that Java can't read.
func IsURI(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host+u.Path+u.Opaque == "" {
		return false
	}
	// Brackets are an IPv6 address's alone.
	if strings.ContainsAny(u.EscapedPath()+u.Opaque, "[]") || strings.Count(s, "#") > 1 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			return false
		case c == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])):
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
