package kafka

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/prefect-openlineage/listener/transport/kafka/producer"
)

// outcome is what the client said of a record.
type outcome struct {
	record   *record
	delivery Delivery
	err      error
}

// hit are records whose outcome does not count, since it may be another one's, in the order in which the client was done
// with them.
type hit struct {
	limit   time.Duration // how long a record may take; 0: for ever
	records []*record

	entities map[string]bool // whose records are among them
	refused  bool            // brokers refused something
	expired  bool            // the time of a record was over
}

// keep takes a record whose outcome does not count. False: it counts. A record that overtook one of its entity is kept
// too, so that the last word about an entity stays last.
func (h *hit) keep(o outcome) bool {
	switch {
	case o.err == nil:
		if !h.entities[string(o.record.key)] {
			return false
		}
	case producer.Refused(o.err):
		h.refused = true
	case !gaveUp(o.err):
		return false
	case o.record.isOver(h.limit):
		h.expired = true
		return false
	case !h.expired:
		return false // no other one's fault, as where retries are bounded
	}
	if h.entities == nil {
		h.entities = map[string]bool{}
	}
	h.entities[string(o.record.key)] = true
	h.records = append(h.records, o.record)
	return true
}

// take removes and returns all.
func (h *hit) take() []*record {
	records := h.records
	*h = hit{limit: h.limit}
	return records
}

// isOver says whether a record's time is over, by the client's own reckoning.
func (r *record) isOver(limit time.Duration) bool {
	return limit > 0 && time.Since(r.at.Truncate(time.Millisecond)) > limit
}

// gaveUp says of a client's error that it would have gone on trying if there had been time.
func gaveUp(err error) bool {
	for _, end := range []error{kgo.ErrRecordTimeout, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return true
		}
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true
	}
	return kgo.IsRetryableBrokerErr(err) || kerr.IsRetriable(err)
}
