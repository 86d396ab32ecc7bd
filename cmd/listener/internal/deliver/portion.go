package deliver

import "github.com/prefect-openlineage/listener/state"

// How much is claimed at once. Bodies are a few kB as a rule, but may be megabytes.
const (
	firstPortion    = 16
	maxPortion      = 512
	maxPortionBytes = 4 << 20
)

// portion sizes the claims: it doubles while the bodies are small, so that a burst is read in few queries, and shrinks
// when they are big, so that memory stays flat.
type portion struct{ limit int }

// claimed takes note of what a claim brought.
func (p *portion) claimed(deliveries []state.Delivery) {
	var bytes int
	for i := range deliveries {
		bytes += len(deliveries[i].Event.Body)
	}
	switch {
	case bytes > maxPortionBytes:
		p.limit = max(1, len(deliveries)*maxPortionBytes/bytes)
	case len(deliveries) >= p.limit && 2*bytes <= maxPortionBytes:
		p.limit = min(2*p.limit, maxPortion)
	}
}
