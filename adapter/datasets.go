package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// The cells of a table row that name a dataset.
const (
	uriKey   = "database_uri"
	tableKey = "table"
)

// found holds the datasets that a run's artifacts and assets name.
type found struct {
	inputs, outputs []openlineage.Dataset // sorted by namespace and name, each once
	// recorded says that there are such as the run named on its own: assets that were to be made and were not, and what
	// they were to be made of, name themselves.
	recorded bool
	warnings []Warning
}

// datasets reads the datasets off the run's assets and table artifacts: every row of every version of every key. What
// can't be used is refused alone, with a warning that names artifact and run.
func (a *Adapter) datasets(s prefect.Snapshot, t Told) found {
	r, _ := rowOf(s)
	inputs, outputs := make(datasetSet), make(datasetSet)
	refused := refusals{told: t}
	ofAssets := a.assets(s, t, inputs, outputs) // first: what a row says of the same dataset counts before it
	recorded := slices.ContainsFunc(s.Assets, prefect.AssetEvent.Materialized)
	for _, artifact := range inOrder(s.Artifacts) {
		marks := marksOf(artifact)
		if !marks.input && !marks.output || !r.made(artifact) {
			continue
		}
		refused.artifact = artifact
		rows, err := tableRows(artifact.Data)
		if err != nil {
			refused.add("artifact-refused", "%v, it is left out", err)
			continue
		}
		for i, row := range rows {
			id, err := a.identify(row)
			if err != nil {
				refused.add("dataset-refused", "row %d is left out: %v", i+1, err)
				continue
			}
			recorded = true
			described := a.describe(row, marks)
			for _, fault := range described.faults {
				refused.add("facet-refused", "row %d goes out without its %s", i+1, fault)
			}
			if marks.input {
				inputs.add(id, described.facets, described.input)
			}
			if marks.output {
				outputs.add(id, described.facets.Merge(described.written), described.output)
			}
		}
	}
	return found{
		inputs: inputs.sorted(), outputs: outputs.sorted(), recorded: recorded,
		warnings: append(ofAssets, refused.warnings()...),
	}
}

// identify returns the dataset that a row names. The table may be missing where the URI alone names a dataset, as in an
// object store.
func (a *Adapter) identify(row tableRow) (datasetID, error) {
	if row == nil {
		return datasetID{}, errors.New("it is no row with named cells")
	}
	uri, err := nameCell(row, uriKey)
	if err != nil {
		return datasetID{}, err
	}
	if uri == "" {
		return datasetID{}, errors.New("it has no " + uriKey)
	}
	table, err := nameCell(row, tableKey)
	if err != nil {
		return datasetID{}, err
	}
	namespace, name, err := a.nameDataset(uri, table)
	if err != nil && table == "" {
		return datasetID{}, errors.New("it has no " + tableKey)
	}
	return datasetID{namespace, name}, err
}

// nameDataset gives the namespace and name of what stands at a URI, by the settings: that of a dataset itself and of
// every dataset that its facets speak of.
func (a *Adapter) nameDataset(uri, table string) (namespace, name string, err error) {
	return a.settings.DatasetMap.Name(uri, table, a.naming())
}

// naming is how the settings have datasets named.
func (a *Adapter) naming() openlineage.Naming {
	if a.settings.DatasetNaming == DatasetNamingVerbatim {
		return openlineage.VerbatimNaming
	}
	return openlineage.SpecNaming
}

// nameCell returns the text of a cell that names a dataset, empty if it holds none.
func nameCell(row tableRow, key string) (string, error) {
	raw := row[key]
	var text string
	switch kind := jsonKind(raw); kind {
	case "missing", "null":
		return "", nil
	case "a text":
		if json.Unmarshal(raw, &text) == nil {
			return strings.TrimSpace(text), nil
		}
		fallthrough
	default:
		return "", fmt.Errorf("its %s is %s, not a text", key, kind)
	}
}

// datasetID names a dataset.
type datasetID struct{ namespace, name string }

// datasetSet collects datasets, each once. What a later row says of a dataset counts before what an earlier one said.
type datasetSet map[datasetID]openlineage.Dataset

func (set datasetSet) add(id datasetID, facets, ioFacets openlineage.Facets) {
	d := set[id]
	d.Namespace, d.Name = id.namespace, id.name
	d.Facets, d.IOFacets = d.Facets.Merge(facets), d.IOFacets.Merge(ioFacets)
	set[id] = d
}

// merge adds the datasets of another set; what it says counts before what was said.
func (set datasetSet) merge(over datasetSet) {
	for id, d := range over {
		set.add(id, d.Facets, d.IOFacets)
	}
}

func (set datasetSet) sorted() []openlineage.Dataset {
	list := make([]openlineage.Dataset, 0, len(set))
	for _, d := range set {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b openlineage.Dataset) int {
		if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}
