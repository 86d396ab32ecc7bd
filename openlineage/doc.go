// Package openlineage holds the OpenLineage event and facet types, dataset naming, run ids, canonical JSON and
// validation. It does no I/O.
package openlineage
