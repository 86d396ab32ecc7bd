// Package gcplineage sends events to Google Cloud's Data Lineage API, as the Python client's transport of that name does.
//
// # The request
//
// One event is one POST of its JSON to /v1/projects/P/locations/L:processOpenLineageRunEvent: the REST form of the method
// that the Python client calls over gRPC, where the same JSON travels as a google.protobuf.Struct. The service's own
// library would bring gRPC and more than thirty modules for this one call; here Google's library for credentials is all
// that there is of it.
//
// A requestId makes the call idempotent. Google's own library makes one up for each call; here it is made of the event's key and the copy that is sent, so a copy that is sent
// again has the same one, and one that differs (other settings, less in it) another.
//
// # Google's copy
//
// Each copy gets the job facet gcp_lineage, which says how Google's console names the job and where it is from. Datasets
// of systems that Google has no names for are renamed, left out or kept (see Unmapped). An event with more than MaxLinks
// pairs of an input and an output goes in parts, each with a share of the datasets: Google adds up what it is told of a run.
//
// # What Google says
//
// Answers are google.rpc.Status in JSON. Their status and reason say what becomes of an event; the table is in answer.go.
package gcplineage
