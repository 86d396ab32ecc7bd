package transport

import "context"

// Prober is a transport that can look at its consumer without sending an event.
type Prober interface {
	// Probe returns what was seen in plain words, without secrets, such as "answered 200 to OPTIONS". An error is, or
	// wraps, an *Error. A probe proves less than an event: a nil error says that nothing stands in the way as far as
	// can be told, and some servers answer a probe worse than they answer an event. Who has an event to send tries
	// that instead.
	Probe(ctx context.Context) (string, error)
}
