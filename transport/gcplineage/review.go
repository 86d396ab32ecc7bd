package gcplineage

import (
	"fmt"
	"unicode/utf8"

	"github.com/prefect-openlineage/listener/transport"
)

// Review says what Google would make of an event.
func (t *Transport) Review(event transport.Event) transport.Review {
	var review transport.Review
	copies, err := t.config.copies(event)
	for _, message := range copies {
		review.Copies = append(review.Copies, message.Body)
	}
	e, bad := read(event.Body)
	if bad != nil {
		return review
	}
	before := len(e.inputs) + len(e.outputs)
	if e.adapt(t.config.Unmapped) != nil {
		return review
	}
	review.Remarks = append(t.config.unmappedRemarks(e), longRemarks(e)...)
	review.Remarks = append(review.Remarks, linkRemarks(e, before, len(copies))...)
	if err != nil {
		review.Remarks = append(review.Remarks, err.Error()+": goes without the datasets")
	}
	return review
}

// unmappedRemarks are about datasets that Google has no names for.
func (c Config) unmappedRemarks(e event) []string {
	var remarks []string
	for _, d := range e.unmapped {
		what := fmt.Sprintf("Google has no names for the datasets of %s: %s ", d.namespace, d.name)
		switch c.Unmapped {
		case UnmappedDrop:
			what += "is left out (unmapped: drop)"
		case UnmappedCustom:
			what += fmt.Sprintf("goes as %s in the namespace %s (unmapped: custom)", customName(d.namespace, d.name), customNamespace)
		default:
			what += "may be refused or not be shown (unmapped: asis)"
		}
		remarks = append(remarks, what)
	}
	return remarks
}

func longRemarks(e event) []string {
	var remarks []string
	for _, all := range [][]dataset{e.inputs, e.outputs} {
		for _, d := range all {
			if n := utf8.RuneCountInString(d.namespace) + 1 + utf8.RuneCountInString(d.name); n > maxName {
				remarks = append(remarks, fmt.Sprintf("a dataset's name has %d characters, and Google takes %d: the event may be refused", n, maxName))
			}
		}
	}
	return remarks
}

// linkRemarks are about what Google draws: lines from an event's inputs to its outputs, and nothing else.
func linkRemarks(e event, before, messages int) []string {
	in, out := len(e.inputs), len(e.outputs)
	const together = "; Google draws a line only between inputs and outputs of one event (FLOW_DATASETS=rollup puts those of all tasks into the flow's)"
	switch {
	case before == 0:
		return nil
	case in+out == 0:
		return []string{"no dataset is left, so Google draws nothing"}
	case in == 0:
		return []string{"it has outputs and no inputs" + together}
	case out == 0:
		return []string{"it has inputs and no outputs" + together}
	case messages > 1:
		return []string{fmt.Sprintf("its %d inputs and %d outputs make %d links, and Google takes %d in one message: it goes in %d messages",
			in, out, in*out, MaxLinks, messages)}
	default:
		return nil
	}
}
