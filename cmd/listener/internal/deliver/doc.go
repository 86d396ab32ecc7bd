// Package deliver drains the outbox into the destinations. Every destination has a loop of its own with its own
// position, backoff and errors, so that a slow or dead one costs the others nothing.
//
// # The way of an event
//
// A loop claims lane heads (the oldest unsettled event of each run, ancestors first) from the outbox, sends up to
// Parallel of them at once, and settles what has gathered in one transaction. A claim is a mere reading: until an
// attempt is settled the event is pending, so a crash at any moment repeats at most the events that were sent and not
// yet settled, which are never more than sixteen for each of Parallel. Runs of which an event is claimed and not yet
// settled are left out of the next claim; with the outbox's rule that only lane heads are handed out this keeps every
// run's order, over retries and restarts too.
//
// # What an answer means
//
// The decisions are in standing.go and what stands beside it (alone.go, breaker.go, backoff.go); they do no I/O.
//
//   - Retry: the event's lane waits, with full jitter, at most from 1 s up to 5 min (30 s until it is known that other
//     events pass). Failures of several runs with no success between, or answers that don't come at all, or a
//     Retry-After, mean that the destination is down: then one event at a time is tried, a different one each time, and
//     the waits grow to 30 s at most, so that a recovery is seen within that time. A Retry-After is honoured up to 15 min.
//     One run's time-outs alone do not mean it: its event may be one that takes the consumer too long.
//   - Hold: the destination is set up wrongly. Nothing is sent but one event every 30 s, and one at once when Recheck
//     tells that credentials have changed. No event is to blame, none becomes a dead letter.
//   - Permanent: a dead letter, and the run's later events go on. Twenty runs refused for good with no success between
//     are not the events' fault: the destination is held, and the dead letters of that streak are put back, which is
//     safe because nothing was delivered since the first of them. Should one of these be refused once more after the
//     destination has taken something, its refusal is final.
//   - An event that alone is met with 5xx or with silence while others pass becomes a dead letter after a dozen tries.
//
// An attempt takes two minutes at most, its transport's own quick tries included, and nothing but a permanent answer, the
// dozen tries or an operator ends the trying.
//
// An answer to something that was sent before the destination was found to be down or held only settles its own event;
// from then on the probes alone decide.
package deliver
