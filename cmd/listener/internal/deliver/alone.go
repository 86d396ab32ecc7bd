package deliver

import (
	"net/http"

	"github.com/prefect-openlineage/listener/transport"
)

// maxAlone bounds how many failing events are remembered. One more than that is merely not found guilty.
const maxAlone = 10_000

// aloneness finds the events that fail again and again while others pass, each by its place in the outbox. It counts
// a try only when something was delivered since the one before: failures of an outage accuse nobody. The counts are
// lost at a restart, which costs a guilty event another dozen tries.
type aloneness struct {
	events map[int64]aloneEvent
}

type aloneEvent struct {
	class string
	tries int
	// successes is the destination's count of deliveries at the last try.
	successes uint64
}

// failed takes note of a failed try and returns how many tries count against the event, and whether another event was
// delivered since its last try.
func (a *aloneness) failed(seq int64, err *transport.Error, successes uint64) (tries int, othersPass bool) {
	class := faultClass(err)
	was, known := a.events[seq]
	othersPass = known && successes > was.successes
	if class == "" {
		delete(a.events, seq)
		return 0, othersPass
	}
	if !known && len(a.events) >= maxAlone {
		return 0, false
	}
	now := aloneEvent{class: class, tries: 1, successes: successes}
	if known && was.class == class {
		now.tries = was.tries
		if othersPass {
			now.tries++
		}
	}
	if a.events == nil {
		a.events = make(map[int64]aloneEvent)
	}
	a.events[seq] = now
	return now.tries, othersPass
}

// forget drops an event that is settled.
func (a *aloneness) forget(seq int64) { delete(a.events, seq) }

// faultClass says which tries may belong together: those that the consumer failed at, or those with one kind of
// silence. A consumer that says "later" accuses no event: empty.
func faultClass(err *transport.Error) string {
	switch {
	case err.Status >= http.StatusInternalServerError:
		return "5xx"
	case err.Status != 0:
		return ""
	default:
		return err.Reason
	}
}
