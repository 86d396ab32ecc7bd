package transport

// Reviewer is a transport that knows what its consumer makes of an event.
type Reviewer interface {
	// Review says what would become of an event. Nothing is sent and nobody is asked.
	Review(event Event) Review
}

// Review is what would become of an event at a destination.
type Review struct {
	// Copies are what the consumer would get: one in most cases, several where the event goes in parts, none where it
	// could not go at all.
	Copies [][]byte
	// Remarks say what of the event the consumer would refuse, hide or show otherwise. Each is one line for people
	// without secrets, and the same words for the same cause, so that they can be counted.
	Remarks []string
}

// ReviewOf reviews an event at a transport. Of one that is no Reviewer nothing is known: it gets the event as it is.
func ReviewOf(t Transport, event Event) Review {
	if reviewer, ok := t.(Reviewer); ok {
		return reviewer.Review(event)
	}
	return Review{Copies: [][]byte{event.Body}}
}
