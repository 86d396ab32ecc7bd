package datahub

import (
	"bytes"
	"encoding/json"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datahub/mapping"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

var _ transport.Reviewer = (*Transport)(nil)

// shownProposal is a proposal as DataHub's own tools write one.
type shownProposal struct {
	EntityType string          `json:"entityType"`
	EntityURN  string          `json:"entityUrn"`
	ChangeType mcp.ChangeType  `json:"changeType"`
	AspectName string          `json:"aspectName"`
	Aspect     json.RawMessage `json:"aspect"`
}

// Review returns all proposals of an event, those too that DataHub may know already, and what of the event has no place
// in DataHub.
func (t *Transport) Review(event transport.Event) transport.Review {
	mapped, err := t.mapper.Map(event.Body, t.memory(event))
	if err != nil {
		return transport.Review{Remarks: []string{err.Error()}}
	}
	proposals := mapped.Structure
	for _, addition := range mapped.Additions {
		p, err := addition.Proposal(addition.Ops)
		if err != nil {
			return transport.Review{Remarks: []string{err.Error()}}
		}
		proposals = append(proposals, p)
	}
	review := transport.Review{Remarks: mapped.Refused}
	for _, p := range append(proposals, mapped.Run...) {
		review.Copies = append(review.Copies, shown(p))
	}
	return review
}

func shown(p mcp.Proposal) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(shownProposal{p.EntityType, p.EntityURN, p.ChangeType, p.AspectName, p.Aspect}) // it is valid
	return bytes.TrimRight(b.Bytes(), "\n")
}

// memory is what earlier events said of an event's run and of jobs.
func (t *Transport) memory(event transport.Event) mapping.Memory {
	started, _ := t.runs.get(event.RunID)
	return mapping.Memory{Started: started, Job: func(namespace, name string) string {
		job, _ := t.jobs.get(jobKey(namespace, name))
		return job
	}}
}
