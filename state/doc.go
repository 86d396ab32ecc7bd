// Package state says what the listener keeps between two moments: the ledger of what was told of each run, the
// reading position in Prefect, and the outbox with one delivery row per event and destination. These change together
// in one transaction, so after a crash at any moment nothing is half-known.
//
// # What is promised
//
// A call that returned without an error is on the disk. A Commit holds a portion of what was read: ledger entries, the
// events made of them, a delivery row for each destination, and the cursor behind that portion. Where it is lost, the
// cursor is lost with it, the portion is read again, and the same events come out of it; where it is kept, the keys of
// its events keep a second reading from saying them twice. So a store may fall back to an older moment (a torn log
// after a power cut) without losing an event.
//
// # Order
//
// Of each run only the oldest event that is not settled may be sent to a destination, and only once the first event of
// the run's nearest told ancestor is settled there. Settled is: delivered, dead, skipped, or never enqueued there.
// Within a group, a destination may have an event only once the one before it has it; the dead letter of the one before
// settles it for the rest. Each row carries whether it may be sent, and each change asks anew for the few rows that it
// can free or hold: Claim costs the same with a million rows pending.
//
// Claim writes nothing. Who claims keeps the runs under way apart by Claim's busy, and a crash between a send and its
// Settle sends that event again: at least once.
//
// # Dead letters
//
// A dead letter keeps its event, the answer and the last attempts. Later events of its run that are delivered after it
// are kept too, since a replay sends them again behind it: a consumer takes what it hears last for the run's state. A
// drop lets go of all of that. In a group, what was skipped behind a dead letter comes back with it.
//
// # Repeats
//
// An event's key is its run, type and time. It is known while the run's ledger entry lives and its event is in the
// outbox, with the destinations it was given to. A portion that names no destinations leaves known events out; one that
// does (a backfill for one of them) gives it to those that never had it; Resend gives it again, but not beside a row of
// it that is still pending.
//
// # Space
//
// ErrFull passes by itself: the same write may be tried again. Because deliveries need room to be settled too, reading
// must stop before the disk is full; Size says how far that is. ErrFatalIO does not pass: after a failed fsync nobody
// knows what is on the disk, and only a new process finds out.
package state
