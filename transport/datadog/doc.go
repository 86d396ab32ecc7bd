// Package datadog posts events to Datadog's intake for lineage. It is package httptransport underneath, with what the
// OpenLineage Python client's transport of this type settles itself: the address by the site, gzip, and the API key as
// bearer token.
//
// # Sync and async
//
// The Python client has two ways to the same address: one that waits for each answer, and one that has up to
// max_concurrent_requests under way and forgets what it could not send. async_transport_rules choose between them by
// the facet jobType of an event's job. Here every event waits in the outbox until its answer is there, and a run's
// events keep their order, so nothing is lost by either. What is left of the choice is how many events may be under way
// at once: max_concurrent_requests of those that the rules call async, eight of the others.
//
// # Datadog's own copy
//
// Datadog shows a job's namespace as its env and the run's tag _dd.ol_service as its service. With DD_ENV and
// DD_SERVICE, the variables that set both for everything else that reports to Datadog, the copy that goes to Datadog
// says what they say; what other destinations get, and what waits in the outbox, does not.
package datadog
