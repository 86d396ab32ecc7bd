// Package adapter turns what Prefect shows of its runs into OpenLineage run events.
//
// It is pure: it does no I/O, reads no clock, makes no random choice and logs nothing, so the same rows and the same
// ledger entry give the same bytes on every machine and at any time. An Adapter is safe for concurrent use.
//
// A run's story has three steps. News says from a row alone whether there is something to tell. Pin fixes the run's
// facts (job, run id, parent, root, job facets) the first time it is seen, and later events repeat them. Tell makes the
// events that are new, given what was told before. An end that Prefect never tells is made by InferEnd and InferGone.
package adapter
