// Package rest sends metadata change proposals to DataHub's metadata service (GMS) over HTTP. It does what the REST
// emitter of DataHub's Python SDK does, with the same requests, and says what became of each proposal.
//
//	emitter, err := rest.New(rest.Config{Server: "http://localhost:8080"})
//	...
//	proposal, err := mcp.New(urn, aspect)
//	...
//	result, err := emitter.Emit(ctx, proposal)
//
// # Two ways to the same place
//
// GMS takes proposals at its Rest.li endpoint (/aspects?action=ingestProposal) and, in newer servers, at
// /openapi/v3/entity/{type}. With APIAuto the emitter asks GET /config once what the server is: OpenAPI from 1.0.1.0
// (DataHub Cloud: 0.3.11.0) on, else Rest.li. What the array form of OpenAPI can't say (any change type but UPSERT,
// PATCH and DELETE) goes over Rest.li in either case.
//
// # Modes
//
// SyncPrimary waits for the primary store, SyncWait for the search index too, Async for the queue only, AsyncWait for
// the queue and then, by polling the write's trace, for both stores. A call's WithMode goes before Config.Mode.
//
// # Outcomes
//
// A call ends with one Result for each proposal. Its error is nil only when every proposal got what its mode asks for.
// Errors are found with errors.AsType or errors.Is: *Error (the server's answer, or none), *TraceError (the write was taken and
// failed), *WaitTimeoutError (not known in time), ErrWaitUnsupported, ErrNotGMS, *mcp.ValidationError, *BatchError.
//
// The package's departures from the Python emitter and their reasons are listed in docs/datahub.md.
package rest
