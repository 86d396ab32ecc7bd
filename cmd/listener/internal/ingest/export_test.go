package ingest

// Chronological is tested by itself.
var Chronological = chronological
