package adapter

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// maxMetadata is how much metadata of an asset goes into an event, in bytes.
const maxMetadata = 32 << 10

// assets adds a task run's assets: those that it materialized are outputs, those that they were made of inputs, also of
// a materialization that failed. What can't be used is refused alone.
func (a *Adapter) assets(s prefect.Snapshot, t Told, inputs, outputs datasetSet) []Warning {
	var warnings []Warning
	add := func(to datasetSet, asset prefect.Asset, event *prefect.AssetEvent) {
		namespace, name, err := a.nameAsset(asset.Key)
		if err != nil {
			key := cutBytes(openlineage.MaskURI(asset.Key), maxFault)
			warnings = append(warnings, warning(t, "dataset-refused", "asset %q is left out: %v", key, err))
			return
		}
		facets, io := a.assetFacets(asset, event)
		to.add(datasetID{namespace, name}, facets, io)
	}
	// Events carry an asset's properties only where the code gave them; an upstream has its own in an event of its own.
	known := make(map[string]prefect.Asset)
	for _, e := range s.Assets {
		if e.Referenced() {
			known[e.Asset.Key] = e.Asset
		}
	}
	for _, e := range s.Assets {
		if e.Materialized() {
			add(outputs, e.Asset, &e)
		}
		if !e.Materialized() && !e.Failed() {
			continue
		}
		for _, key := range e.Upstream {
			asset, ok := known[key]
			if !ok {
				asset = prefect.Asset{Key: key}
			}
			add(inputs, asset, nil)
		}
	}
	return warnings
}

// nameAsset names the dataset that an asset is, by the settings.
func (a *Adapter) nameAsset(key string) (namespace, name string, err error) {
	namespace, name, err = openlineage.NameAsset(key, a.naming())
	if err != nil {
		return "", "", err
	}
	if to, as, ok := a.settings.DatasetMap.Rename(namespace, name); ok {
		return openlineage.CheckDataset(to, as)
	}
	return namespace, name, nil
}

// assetFacets returns what is known of an asset: its properties, and what the task added to it, where the keys are those
// that a table's row may have. Other metadata stands in our own facet alone, so nothing in it is a fault.
func (a *Adapter) assetFacets(asset prefect.Asset, event *prefect.AssetEvent) (facets, io openlineage.Facets) {
	own := openlineage.PrefectAssetDatasetFacet{
		AssetKey: openlineage.MaskURI(asset.Key), AssetName: freeText(asset.Name), URL: pageOf(asset.URL),
	}
	if event != nil {
		own.MaterializedBy = freeText(event.By)
		if len(event.Metadata) > 0 {
			// As a parameter: names count here, a secret among them is one.
			if masked := openlineage.MaskParameter("", event.Metadata); len(masked) <= maxMetadata {
				own.Metadata = json.RawMessage(masked)
			}
			if rows, err := columnRows(event.Metadata); err == nil && len(rows) == 1 {
				described := a.describe(rows[0], marks{output: true})
				facets, io = described.facets.Merge(described.written), described.output
			}
		}
	}
	if asset.Description != "" {
		facets.Add(openlineage.DocumentationDatasetFacet{Description: freeText(asset.Description)})
	}
	if owners := ownersOf(asset.Owners); len(owners) > 0 {
		facets.Add(openlineage.OwnershipDatasetFacet{Owners: owners})
	}
	facets.Add(own)
	return facets, io
}

func ownersOf(names []string) []openlineage.Owner {
	var owners []openlineage.Owner
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			owners = append(owners, openlineage.Owner{Name: freeText(name)})
		}
	}
	return owners
}

// pageOf returns the address of an asset's page without credentials, empty if it is none.
func pageOf(text string) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return openlineage.MaskURI(u.String())
}
