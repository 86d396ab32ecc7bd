package openlineage_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/openlineage/facets"
	"github.com/prefect-openlineage/listener/openlineage/oltest"
)

func canonicalFacets(t *testing.T, f openlineage.Facets) string {
	t.Helper()
	raw, err := f.Canonical("urn:us")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestFacetsCanonical(t *testing.T) {
	t.Parallel()
	var f openlineage.Facets
	if got := canonicalFacets(t, f); got != "{}" {
		t.Errorf("no facets: %s", got)
	}
	f.Add(openlineage.DocumentationJobFacet{Description: "old"}, openlineage.TagsJobFacet{})
	f.Add(openlineage.DocumentationJobFacet{Description: "new"})
	const want = `{"documentation":{"_producer":"urn:us",` +
		`"_schemaURL":"https://openlineage.io/spec/facets/1-1-0/DocumentationJobFacet.json#/$defs/DocumentationJobFacet",` +
		`"description":"new"},"tags":{"_producer":"urn:us",` +
		`"_schemaURL":"https://openlineage.io/spec/facets/1-0-0/TagsJobFacet.json#/$defs/TagsJobFacet"}}`
	if got := canonicalFacets(t, f); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if diff := cmp.Diff([]string{"documentation", "tags"}, f.Keys()); diff != "" || f.Len() != 2 || !f.Has("tags") || f.Has("x") {
		t.Errorf("keys: %s", diff)
	}
}

// The ledger pins a job's facets as bytes; they must come back as they were under whatever version reads them.
func TestPinnedFacetsComeBackUnchanged(t *testing.T) {
	t.Parallel()
	f := openlineage.NewFacets(jobFacets()...)
	if err := f.AddRaw(openlineage.JobEntity, "custom_x", []byte(`{"n": 1.0, "text": "é <&>", "list": [], "o": {}}`)); err != nil {
		t.Fatal(err)
	}
	pinned, err := f.Canonical(openlineage.Producer("1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := openlineage.ParseFacets(pinned)
	if err != nil {
		t.Fatal(err)
	}
	e := smallest()
	e.Job.Facets = parsed
	body := string(canonicalOf(t, e))
	if !strings.Contains(body, `"job":{"facets":`+string(pinned)+`,`) {
		t.Errorf("changed:\n%s\n%s", pinned, body)
	}
	for _, bad := range []string{"", "[]", "null", `{"a":1}`, `{"a":null}`, `{} {}`} {
		if _, err := openlineage.ParseFacets([]byte(bad)); err == nil {
			t.Errorf("ParseFacets(%q) took it", bad)
		}
	}
}

func TestFacetsAreValues(t *testing.T) {
	t.Parallel()
	one := openlineage.NewFacets(openlineage.DocumentationJobFacet{Description: "one"})
	two := one
	two.Add(openlineage.OwnershipJobFacet{})
	if one.Has("ownership") {
		t.Error("adding to a copy changed the original")
	}
	merged := one.Merge(openlineage.NewFacets(openlineage.DocumentationJobFacet{Description: "two"}, openlineage.TagsJobFacet{}))
	if got := canonicalFacets(t, merged); !strings.Contains(got, `"two"`) || merged.Len() != 2 {
		t.Errorf("merged: %s", got)
	}
	if got := canonicalFacets(t, one); !strings.Contains(got, `"one"`) || one.Len() != 1 {
		t.Errorf("merging changed the original: %s", got)
	}
}

func TestAddRaw(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		entity openlineage.Entity
		key    string
		raw    string
		want   string // the facet, or its error behind !
	}{
		{"own producer and schema stay", openlineage.RunEntity, "x", `{"_producer":"urn:p","_schemaURL":"urn:s","a":null}`, `{"_producer":"urn:p","_schemaURL":"urn:s"}`},
		{"unknown key", openlineage.RunEntity, "x", `{"b":1,"a":2}`, `{"_producer":"urn:us","_schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet","a":2,"b":1}`},
		{"known key", openlineage.DatasetEntity, "storage", `{"storageLayer":"delta"}`, `{"_producer":"urn:us","_schemaURL":"https://openlineage.io/spec/facets/1-0-1/StorageDatasetFacet.json#/$defs/StorageDatasetFacet","storageLayer":"delta"}`},
		{"empty producer", openlineage.InputDatasetEntity, "x", `{"_producer":"x:","_schemaURL":""}`, `{"_producer":"x:","_schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/InputDatasetFacet"}`},
		{"output's base facet", openlineage.OutputDatasetEntity, "x", `{}`, `{"_producer":"urn:us","_schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/OutputDatasetFacet"}`},
		{"symlinks are cleaned", openlineage.DatasetEntity, "symlinks", `{"_schemaURL":"urn:s","identifiers":[{"namespace":"hive://u:p@h a","name":" b ","type":"TABLE"}]}`, `{"_producer":"urn:us","_schemaURL":"urn:s","identifiers":[{"name":"b","namespace":"hive://h_a","type":"TABLE"}]}`},
		{"no key", openlineage.RunEntity, " ", `{}`, "!no key"},
		{"no JSON", openlineage.RunEntity, "x", `{`, "!reading JSON"},
		{"no object", openlineage.RunEntity, "x", `[]`, "!not a JSON object"},
		{"producer that is no URI", openlineage.RunEntity, "x", `{"_producer":"me and you"}`, "!_producer is not a URI"},
		{"symlink without a name", openlineage.DatasetEntity, "symlinks", `{"identifiers":[{"namespace":"a","name":"","type":"TABLE"}]}`, "!name is empty"},
		{"symlinks without identifiers", openlineage.DatasetEntity, "symlinks", `{}`, "!identifiers is missing"},
		{"symlink that is no object", openlineage.DatasetEntity, "symlinks", `{"identifiers":[1]}`, "!identifiers[0] is no object"},
		{"documentation without a description", openlineage.DatasetEntity, "documentation", `{"text":"x"}`, "!description is missing"},
		{"schema field without a name", openlineage.DatasetEntity, "schema", `{"fields":[{"name":"a"},{"type":"int"}]}`, "!fields[1].name is missing"},
		{"data source without a URI", openlineage.DatasetEntity, "dataSource", `{"name":"x","uri":"x y"}`, "!uri is not a URI"},
		{"column lineage as a list", openlineage.DatasetEntity, "columnLineage", `{"fields":[]}`, "!fields is missing or no object"},
		{"column without inputs", openlineage.DatasetEntity, "columnLineage", `{"fields":{"a":{}}}`, `!column "a": inputFields is missing`},
		{"input field without a field", openlineage.DatasetEntity, "columnLineage", `{"fields":{"a":{"inputFields":[{"namespace":"a","name":"b"}]}}}`, `!inputFields[0].field is missing`},
		{"same key elsewhere", openlineage.RunEntity, "documentation", `{}`, `{"_producer":"urn:us","_schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var f openlineage.Facets
			err := f.AddRaw(tt.entity, tt.key, []byte(tt.raw))
			if reason, refused := strings.CutPrefix(tt.want, "!"); refused {
				if err == nil || !strings.Contains(err.Error(), reason) || f.Len() != 0 {
					t.Errorf("got %v, want an error with %q", err, reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, want := canonicalFacets(t, f), `{"`+tt.key+`":`+tt.want+`}`; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

// Every typed facet stands under the key and the URL that its schema file in the spec gives, at the newest version.
func TestTypedFacetsNameTheirSchemas(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(oltest.SpecDir(t), "facets")
	all := slices.Concat(runFacets(), jobFacets(), datasetFacets(), inputFacets(), outputFacets())
	for _, facet := range all {
		url := facet.SchemaURL(openlineage.Producer("1"))
		file, pointer, _ := strings.Cut(url, "#/$defs/")
		var raw []byte
		var err error
		if strings.HasPrefix(facet.Key(), "prefect_") {
			raw, err = facets.Schemas.ReadFile(filepath.Base(file))
		} else {
			raw, err = os.ReadFile(filepath.Join(dir, filepath.Base(file)))
		}
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			ID         string                     `json:"$id"`
			Defs       map[string]json.RawMessage `json:"$defs"`
			Properties map[string]struct {
				Ref string `json:"$ref"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(facet.Key(), "prefect_") && schema.ID != file {
			t.Errorf("%s names %s, its schema is %s", facet.Key(), file, schema.ID)
		}
		if ref := schema.Properties[facet.Key()].Ref; ref != "#/$defs/"+pointer || schema.Defs[pointer] == nil {
			t.Errorf("%s names %s, its schema has %s", facet.Key(), pointer, ref)
		}
	}
}

// The _schemaURL that a raw facet gets must exist in the spec, for each key that the spec has.
func TestRawFacetsGetSchemasOfTheSpec(t *testing.T) {
	t.Parallel()
	v := oltest.Validator(t)
	entities := map[openlineage.Entity][]string{
		openlineage.RunEntity: {"parent", "nominalTime", "processing_engine", "jobDependencies", "errorMessage", "tags",
			"executionParameters", "environmentVariables", "externalQuery", "extractionError", "test"},
		openlineage.JobEntity: {"jobType", "documentation", "ownership", "sourceCode", "sourceCodeLocation", "sql", "tags",
			"lineage"},
		openlineage.DatasetEntity: {"schema", "dataSource", "columnLineage", "documentation", "ownership", "symlinks",
			"version", "storage", "lifecycleStateChange", "catalog", "datasetType", "hierarchy", "dataQualityMetrics",
			"tags", "lineage"},
		openlineage.InputDatasetEntity:  {"dataQualityMetrics", "dataQualityAssertions", "inputStatistics", "subset"},
		openlineage.OutputDatasetEntity: {"outputStatistics", "subset"},
	}
	for entity, keys := range entities {
		for _, key := range append(keys, "custom") {
			url := rawSchemaURL(t, entity, key)
			if !v.Knows(url) {
				t.Errorf("%s facet %s gets the unknown schema %s", entity, key, url)
			}
			if based := strings.Contains(url, "/OpenLineage.json#"); based != (key == "custom") {
				t.Errorf("%s facet %s gets %s", entity, key, url)
			}
		}
	}
}

// rawSchemaURL returns what AddRaw puts in for a missing _schemaURL.
func rawSchemaURL(t *testing.T, entity openlineage.Entity, key string) string {
	t.Helper()
	const everything = `{"description":"d","fields":{},"name":"n","uri":"x:y","owners":[],"identifiers":[],
		"datasetVersion":"1","storageLayer":"s","lifecycleStateChange":"DROP","framework":"f","type":"t",
		"datasetType":"t","hierarchy":[],"tags":[],"assertions":[]}`
	raw := everything
	if key == "schema" {
		raw = `{}`
	}
	var f openlineage.Facets
	if err := f.AddRaw(entity, key, []byte(raw)); err != nil {
		t.Fatal(err)
	}
	var object map[string]struct {
		SchemaURL string `json:"_schemaURL"`
	}
	if err := json.Unmarshal([]byte(canonicalFacets(t, f)), &object); err != nil {
		t.Fatal(err)
	}
	return object[key].SchemaURL
}
