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
	if err := f.AddRaw(openlineage.JobEntity, "custom_x", []byte(`{"n": 1.0, "text": "é <&>", "list": [], "o": {}}`), openlineage.VerbatimNamer); err != nil {
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

// specNamer names the datasets of raw facets by the naming table.
func specNamer(uri, table string) (namespace, name string, err error) {
	return openlineage.NameDataset(uri, table, openlineage.SpecNaming)
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
		{"empty producer", openlineage.InputDatasetEntity, "x", `{"_producer":"x:y","_schemaURL":""}`, `{"_producer":"x:y","_schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/InputDatasetFacet"}`},
		{"output's base facet", openlineage.OutputDatasetEntity, "x", `{}`, `{"_producer":"urn:us","_schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/OutputDatasetFacet"}`},
		{"symlinks are named", openlineage.DatasetEntity, "symlinks", `{"_schemaURL":"urn:s","identifiers":[{"namespace":"hive://u:p@h a","name":" d.b ","type":"TABLE"}]}`, `{"_producer":"urn:us","_schemaURL":"urn:s","identifiers":[{"name":"d.b","namespace":"hive://h_a:10000","type":"TABLE"}]}`},
		{"texts are masked, names by their own rules", openlineage.DatasetEntity, "columnLineage", `{"fields":{"a":{"inputFields":[{"namespace":"s3://u:p@b","name":"token=x/y","field":"f"}],"transformationDescription":"token=x"}}}`, `{"_producer":"urn:us","_schemaURL":"https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet","fields":{"a":{"inputFields":[{"field":"f","name":"token=x/y","namespace":"s3://b"}],"transformationDescription":"token=***"}}}`},
		{"null is nothing", openlineage.DatasetEntity, "schema", `{"fields":[null,{"name":"a","type":null}],"_deleted":null}`, `{"_producer":"urn:us","_schemaURL":"https://openlineage.io/spec/facets/1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet","fields":[{"name":"a"}]}`},
		{"no key", openlineage.RunEntity, " ", `{}`, "!no key"},
		{"no JSON", openlineage.RunEntity, "x", `{`, "!reading JSON"},
		{"no object", openlineage.RunEntity, "x", `[]`, "!not a JSON object"},
		{"too large", openlineage.RunEntity, "x", `{"a":"` + strings.Repeat("a", 1<<20) + `"}`, "!larger than 1048576 bytes"},
		{"producer that is no URI", openlineage.RunEntity, "x", `{"_producer":"me and you"}`, "!_producer is not a URI"},
		{"producer that is a number", openlineage.RunEntity, "x", `{"_producer":1}`, "!_producer is no text"},
		{"producer that says no more than a scheme", openlineage.RunEntity, "x", `{"_producer":"x:"}`, "!_producer is not a URI"},
		{"schema that is no URI", openlineage.RunEntity, "x", `{"_schemaURL":"mine"}`, "!_schemaURL is not a URI"},
		{"deleted by a text", openlineage.DatasetEntity, "x", `{"_deleted":"yes"}`, "!_deleted is neither"},
		{"symlink without a name", openlineage.DatasetEntity, "symlinks", `{"identifiers":[{"namespace":"a","name":"","type":"TABLE"}]}`, "!identifiers[0]: the dataset's name is empty"},
		{"symlink with a line break", openlineage.DatasetEntity, "symlinks", `{"identifiers":[{"namespace":"a","name":"b\nc","type":"TABLE"}]}`, "!control character"},
		{"symlinks without identifiers", openlineage.DatasetEntity, "symlinks", `{}`, "!identifiers is missing"},
		{"symlink that is no object", openlineage.DatasetEntity, "symlinks", `{"identifiers":[1]}`, "!identifiers[0] is no object"},
		{"documentation without a description", openlineage.DatasetEntity, "documentation", `{"text":"x"}`, "!description is missing"},
		{"schema field without a name", openlineage.DatasetEntity, "schema", `{"fields":[{"name":"a"},{"type":"int"}]}`, "!fields[1].name is missing"},
		{"schema field with an empty name", openlineage.DatasetEntity, "schema", `{"fields":[{"name":" "}]}`, "!fields[0].name is empty"},
		{"schema field with a long name", openlineage.DatasetEntity, "schema", `{"fields":[{"name":"` + strings.Repeat("é", 256) + `"}]}`, "!fields[0].name is longer than 255 characters"},
		{"schema field with a long type", openlineage.DatasetEntity, "schema", `{"fields":[{"name":"a","type":"` + strings.Repeat("x", 2600) + `"}]}`, "!fields[0]: name and type are longer than 2600 bytes"},
		{"symlink of a long type", openlineage.DatasetEntity, "symlinks", `{"identifiers":[{"namespace":"a","name":"b","type":"` + strings.Repeat("x", 65) + `"}]}`, "!identifiers[0].type is longer than 64 characters"},
		{"data source with a long name", openlineage.DatasetEntity, "dataSource", `{"name":"` + strings.Repeat("x", 1025) + `","uri":"a:b"}`, "!name is longer than 1024 characters"},
		{"position that is a fraction", openlineage.DatasetEntity, "schema", `{"fields":[{"name":"a","fields":[{"name":"b","ordinal_position":1.5}]}]}`, "!fields[0].fields[0].ordinal_position is no whole number"},
		{"data source without a URI", openlineage.DatasetEntity, "dataSource", `{"name":"x","uri":"x y"}`, "!uri is not a URI"},
		{"column lineage as a list", openlineage.DatasetEntity, "columnLineage", `{"fields":[]}`, "!fields is no object"},
		{"column without inputs", openlineage.DatasetEntity, "columnLineage", `{"fields":{"a":{}}}`, `!fields "a".inputFields is missing`},
		{"input field without a field", openlineage.DatasetEntity, "columnLineage", `{"fields":{"a":{"inputFields":[{"namespace":"a","name":"b"}]}}}`, `!fields "a".inputFields[0].field is missing`},
		{"input field with a bad name", openlineage.DatasetEntity, "columnLineage", `{"fields":{},"dataset":[{"namespace":"a","name":"` + strings.Repeat("x", 2701) + `","field":"f"}]}`, `!dataset[0]: the dataset's namespace and name are longer than 2600 bytes`},
		{"rename from half a name", openlineage.DatasetEntity, "lifecycleStateChange", `{"lifecycleStateChange":"RENAME","previousIdentifier":{"name":"a"}}`, `!previousIdentifier.namespace is missing`},
		{"unknown change", openlineage.DatasetEntity, "lifecycleStateChange", `{"lifecycleStateChange":"drop"}`, `!lifecycleStateChange takes ALTER, CREATE`},
		{"catalog", openlineage.DatasetEntity, "catalog", `{"framework":"iceberg","type":"glue","name":"g","catalogProperties":{"a":1}}`, `!catalogProperties "a" is no text`},
		{"tags", openlineage.DatasetEntity, "tags", `{"tags":[{"key":"a","value":true}]}`, `!tags[0].value is no text`},
		{"hierarchy", openlineage.DatasetEntity, "hierarchy", `{"hierarchy":{}}`, `!hierarchy is no list`},
		{"lineage of a job", openlineage.DatasetEntity, "lineage", `{"inputs":[{"type":"JOB","namespace":"a","name":"b"}]}`, `!inputs[0].type is not DATASET`},
		{"assertion without success", openlineage.InputDatasetEntity, "dataQualityAssertions", `{"assertions":[{"assertion":"a","success":"yes"}]}`, `!assertions[0].success is neither true nor false`},
		{"metrics without columns", openlineage.InputDatasetEntity, "dataQualityMetrics", `{"rowCount":1}`, `!columnMetrics is missing`},
		{"metrics of words", openlineage.DatasetEntity, "dataQualityMetrics", `{"columnMetrics":{"a":{"quantiles":{"0.5":"x"}}}}`, `!columnMetrics "a".quantiles "0.5" is no number`},
		{"metrics of no time", openlineage.DatasetEntity, "dataQualityMetrics", `{"columnMetrics":{},"lastUpdated":"2026-11-30"}`, `!lastUpdated is not a time`},
		{"statistics", openlineage.OutputDatasetEntity, "outputStatistics", `{"rowCount":1e400}`, `!rowCount is no whole number`},
		{"subset of no kind", openlineage.OutputDatasetEntity, "subset", `{"outputCondition":{"type":"x"}}`, `!outputCondition.type takes location`},
		{"subset by comparison", openlineage.InputDatasetEntity, "subset", `{"inputCondition":{"type":"compare","left":{"type":"field","field":"a"},"right":{"type":"literal"},"comparison":"="}}`, `!inputCondition.right.value is missing`},
		{"same key elsewhere", openlineage.RunEntity, "documentation", `{}`, `{"_producer":"urn:us","_schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var f openlineage.Facets
			err := f.AddRaw(tt.entity, tt.key, []byte(tt.raw), specNamer)
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
		"datasetType":"t","hierarchy":[],"tags":[],"assertions":[],"columnMetrics":{},
		"inputCondition":{"type":"location","locations":[]},"outputCondition":{"type":"location","locations":[]}}`
	raw := everything
	if key == "schema" || key == "lineage" {
		raw = `{}`
	}
	var f openlineage.Facets
	if err := f.AddRaw(entity, key, []byte(raw), specNamer); err != nil {
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
