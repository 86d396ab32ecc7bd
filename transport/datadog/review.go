package datadog

import (
	"encoding/json"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
)

var _ transport.Reviewer = (*Transport)(nil)

// reviewed is what a review looks at of an event.
type reviewed struct {
	EventType string
	Job       struct {
		Facets struct{ JobType json.RawMessage }
	}
	Inputs  []struct{ Namespace, Name string }
	Outputs []struct{ Namespace, Name string }
}

// Review returns Datadog's copy of an event, and what of it Datadog would not show.
func (t *Transport) Review(event transport.Event) transport.Review {
	stamped, err := t.stamp.apply(event)
	if err != nil {
		return transport.Review{Remarks: []string{err.Error() + ": it would be a dead letter"}}
	}
	review := transport.Review{Copies: [][]byte{stamped.Body}}
	note := func(text string) { review.Remarks = append(review.Remarks, text) }
	var e reviewed
	if json.Unmarshal(stamped.Body, &e) != nil {
		return review
	}
	if e.Job.Facets.JobType == nil {
		note("Datadog shows no run whose job has no facet jobType")
	}
	if e.EventType == "ABORT" {
		note("Datadog makes no span of a run that was aborted")
	}
	for _, d := range append(e.Inputs, e.Outputs...) {
		switch {
		case strings.HasPrefix(d.Namespace, "redshift://") && strings.Count(strings.TrimPrefix(d.Namespace, "redshift://"), ":") < 2:
			note("Datadog knows Redshift's tables by the namespace redshift://{account}:{region}:{cluster}, and not by " + d.Namespace + " (DATASET_MAP changes names)")
		case strings.HasPrefix(d.Namespace, "arn:aws:glue:") && strings.HasPrefix(d.Name, "table/"):
			note("Datadog knows Glue's tables by the name {db}.{table}, and not by " + d.Name + " (DATASET_MAP changes names)")
		}
	}
	return review
}
