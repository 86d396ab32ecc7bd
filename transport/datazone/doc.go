// Package datazone posts events to a domain of Amazon DataZone or Amazon SageMaker Unified Studio, by the call
// PostLineageEvent of DataZone's API (version 2018-05-10). It serves the type amazon_datazone_api with the settings of the
// OpenLineage Python client and a few of its own.
//
// The call is one POST of the event as it is, so it is package httptransport underneath, with a signature of AWS
// (Signature Version 4) on each request. Credentials and signature are AWS's own library's. Its client for DataZone would
// add little to the binary and nothing to this: what it has beside the POST, its retries, is the outbox's matter here, and
// what the other transports have (one set of connections, proxies, certificates, limits on time and answers) it has not.
//
// # Copies
//
// DataZone takes a second request with the same client token for the first one. The token is made of the event's key and
// its bytes, so a copy has the token that the event had, on any machine and after any restart, and an event that had to
// be made smaller has one of its own.
//
// # Credentials
//
// They come from AWS's usual chain: variables, the shared files and their profiles (single sign-on, assumed roles and
// processes too), a web identity token (as EKS gives), the container's endpoint (ECS, EKS Pod Identity) and the
// instance's metadata. They are renewed before they end. When DataZone says that they have ended all the same, they are
// fetched anew and the event is sent once more.
package datazone
