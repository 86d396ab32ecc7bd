// Package olvalidate checks events against the JSON schemas of OpenLineage and of this program's own facets. It serves
// tests and checks on request; nothing that runs in the daemon's loop imports it.
package olvalidate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/prefect-openlineage/listener/openlineage/facets"
)

const coreURL = "https://openlineage.io/spec/2-0-2/OpenLineage.json"

// Validator holds compiled schemas. It is safe for use by several goroutines at once.
type Validator struct {
	events map[string]*jsonschema.Schema // by schemaURL
	facets map[string]facetSchema        // by _schemaURL
	own    map[string]facetSchema        // by the part of _schemaURL behind the producer
}

// facetSchema is one facet's definition and the keys under which its file says that it may stand.
type facetSchema struct {
	schema *jsonschema.Schema
	keys   []string // empty: any
}

// Open reads the schemas below a folder that holds the spec as upstream lays it out: OpenLineage.json at its top,
// facets in any folder named facets below it.
func Open(dir string) (*Validator, error) {
	files, err := readSchemas(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("reading schemas in %s: %w", dir, err)
	}
	own, err := readSchemas(facets.Schemas)
	if err != nil {
		return nil, fmt.Errorf("reading own schemas: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for _, file := range slices.Concat(files, own) {
		if err := compiler.AddResource(file.id, file.doc); err != nil {
			return nil, fmt.Errorf("adding schema %s: %w", file.id, err)
		}
	}
	v := &Validator{
		events: map[string]*jsonschema.Schema{},
		facets: map[string]facetSchema{},
		own:    map[string]facetSchema{},
	}
	for _, name := range []string{"RunEvent", "JobEvent", "DatasetEvent"} {
		url := coreURL + "#/$defs/" + name
		if v.events[url], err = compiler.Compile(url); err != nil {
			return nil, fmt.Errorf("compiling %s: %w", name, err)
		}
	}
	for _, file := range files {
		if err := file.compile(compiler, v.facets, file.id); err != nil {
			return nil, err
		}
	}
	for _, file := range own {
		if err := file.compile(compiler, v.own, "/openlineage/facets/"+file.name); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// schemaFile is one schema file, parsed.
type schemaFile struct {
	name, id string
	doc      any
}

func readSchemas(fsys fs.FS) ([]schemaFile, error) {
	var files []schemaFile
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".json" {
			return err
		}
		raw, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		object, _ := doc.(map[string]any)
		id, _ := object["$id"].(string)
		if id == "" {
			return nil // a registry's list, not a schema
		}
		files = append(files, schemaFile{name: path.Base(name), id: id, doc: doc})
		return nil
	})
	if err == nil && len(files) == 0 {
		err = errors.New("there are none")
	}
	return files, err
}

// compile adds each definition of a file whose name ends in Facet, under the file's URL.
func (f schemaFile) compile(compiler *jsonschema.Compiler, into map[string]facetSchema, url string) error {
	object, _ := f.doc.(map[string]any)
	defs, _ := object["$defs"].(map[string]any)
	for name := range defs {
		if !strings.HasSuffix(name, "Facet") {
			continue
		}
		schema, err := compiler.Compile(f.id + "#/$defs/" + name)
		if err != nil {
			return fmt.Errorf("compiling %s of %s: %w", name, f.id, err)
		}
		facet := facetSchema{schema: schema}
		if f.id != coreURL {
			properties, _ := object["properties"].(map[string]any)
			facet.keys = slices.Sorted(maps.Keys(properties))
		}
		into[url+"#/$defs/"+name] = facet
	}
	return nil
}

// facet returns the schema that a _schemaURL names.
func (v *Validator) facet(url string) (facetSchema, bool) {
	if facet, ok := v.facets[url]; ok {
		return facet, true
	}
	// Our own stand below the producer, which differs from version to version.
	if i := strings.LastIndex(url, "/openlineage/facets/"); i >= 0 {
		facet, ok := v.own[url[i:]]
		return facet, ok
	}
	return facetSchema{}, false
}

// Knows says whether there is a facet schema of this _schemaURL.
func (v *Validator) Knows(url string) bool {
	_, ok := v.facet(url)
	return ok
}
