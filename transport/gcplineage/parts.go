package gcplineage

import (
	"fmt"

	"github.com/prefect-openlineage/listener/transport"
)

const (
	// MaxLinks is how many pairs of an input and an output Google takes in one message.
	MaxLinks = 1000
	// maxParts bounds the requests for one event: beyond that the datasets are left out (package fit does so with what is
	// refused as too large).
	maxParts = 20
)

// copies returns what is sent of an event: one copy in most cases, several where it has more links than one message may
// have. What is no event is sent as it is.
func (c Config) copies(sent transport.Event) ([]transport.Event, error) {
	e, err := read(sent.Body)
	if err != nil {
		return []transport.Event{sent}, nil //nolint:nilerr // Google says what is wrong with it, and that is kept for the operator
	}
	if err := e.adapt(c.Unmapped); err != nil {
		return nil, &transport.Error{Outcome: transport.Permanent, Reason: transport.ReasonRefused, Err: err}
	}
	inputs, outputs := share(len(e.inputs), len(e.outputs))
	ins, outs := chunks(e.inputs, inputs), chunks(e.outputs, outputs)
	if len(ins)*len(outs) > maxParts {
		return nil, tooLarge("the event links %d inputs to %d outputs, and Google takes %d links in one message",
			len(e.inputs), len(e.outputs), MaxLinks)
	}
	var all []transport.Event
	for i, in := range ins {
		for j, out := range outs {
			part := sent
			if part.Body, err = e.body(in, out); err != nil {
				return nil, &transport.Error{Outcome: transport.Permanent, Reason: transport.ReasonRefused, Err: err}
			}
			if c.MaxBytes > 0 && len(part.Body) > c.MaxBytes {
				return nil, tooLarge("Google's copy of the event has %d bytes, and Google takes %d", len(part.Body), c.MaxBytes)
			}
			if n := i*len(outs) + j; n > 0 {
				part.Key = fmt.Sprintf("%s.%d", sent.Key, n) // another message, not another copy of one
			}
			all = append(all, part)
		}
	}
	return all, nil
}

func tooLarge(format string, args ...any) *transport.Error {
	return &transport.Error{Outcome: transport.Permanent, Reason: transport.ReasonTooLarge, Err: fmt.Errorf(format, args...)}
}

// share returns how many inputs and outputs go into one message, so that as few messages as possible have at most MaxLinks
// pairs each.
func share(inputs, outputs int) (in, out int) {
	if inputs*outputs <= MaxLinks {
		return inputs, outputs
	}
	fewest := 0
	for b := 1; b <= min(outputs, MaxLinks); b++ {
		a := min(inputs, MaxLinks/b)
		if n := ceil(inputs, a) * ceil(outputs, b); fewest == 0 || n < fewest {
			fewest, in, out = n, a, b
		}
	}
	return in, out
}

func ceil(n, by int) int { return (n + by - 1) / by }

// chunks cuts a list into pieces of a size; an empty one is one empty piece.
func chunks(all []dataset, size int) [][]dataset {
	if len(all) == 0 {
		return [][]dataset{nil}
	}
	var pieces [][]dataset
	for len(all) > size {
		pieces = append(pieces, all[:size])
		all = all[size:]
	}
	return append(pieces, all)
}
