// Package httptransport posts events to an OpenLineage HTTP endpoint: Marquez, DataHub, and all that speak like them. It
// serves the types http and async_http with the settings of the OpenLineage Python client.
//
// # What it does otherwise than the Python client
//
// Only a 2xx delivers. 307 and 308 are followed with the body, on the same scheme, without credentials to another host;
// any other redirect would turn the event into a GET and lose it, so it holds the destination. verify and sslContext
// work for async_http too. A netrc file is not read.
//
// # Retries
//
// The caller owns retrying: it keeps the event until it is settled. Inside one Emit there is at most one further quick
// try, and none while the destination is down (the last Emit failed), so that a server in trouble is not hit twice.
// The retry settings mean:
//
//   - total, connect, read, status: 0 switches off the quick try, after any failure or after those of that kind; more
//     than 1 is what the caller does anyhow, without an end.
//   - backoff_factor: seconds before the quick try, half of it at random, at most backoff_max and never over a second.
//   - status_forcelist: the answers that get the quick try. One in it that would be final (a 404, say) is retried by the
//     caller instead. A 5xx that is not in it is retried by the caller all the same: an event is never given up for it.
//   - respect_retry_after_header, retry_after_max: whether the consumer's wait counts, and its limit; never over
//     transport.MaxRetryAfter.
//   - allowed_methods without POST switches off the quick try.
//
// # Time
//
// The timeout bounds connecting, the TLS handshake and waiting for the answer's first byte, each; three times the
// timeout bounds a whole attempt. With the default of 5 s and the quick try, Emit takes at most 31 s.
//
// # Connections
//
// HTTP/1.1 with kept-alive connections, as many as events may be under way. Idle ones are closed after 20 s: servers
// close them after 30 s or so, and who closes first avoids the race. Where the race is lost all the same, the request
// goes out again at once on another connection; net/http does so because the request carries an Idempotency-Key header
// (its value is the event's key, the same for each copy of an event, so that a consumer can tell copies).
package httptransport
