// Package prefect reads what ran in Prefect over its REST API. It knows nothing of OpenLineage.
//
// The Client is a careful guest: few requests at once, a cap on requests per second, waits that the server asks for,
// and no more than two quick tries at one request. Whoever calls it owns every longer retry. The server is never
// written to: each POST is a query.
//
// What a server sends is taken as it comes. A row that can't be understood is handed over raw beside the good ones,
// fields and state types that nobody knew of when this was written are no error, and an answer that is no answer of a
// Prefect API (a proxy's login page, half a JSON document) never passes for an empty list.
package prefect
