package app

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/transport"
)

// maxRemarks is how many different remarks are told one by one; the others are counted.
const maxRemarks = 200

// reviewing shows what one destination would make of events: the copies that it would get, and what of them its consumer
// would refuse, hide or show otherwise.
type reviewing struct {
	to   transport.Destination
	out  *bufio.Writer
	json bool
	log  *zap.Logger

	events, changed, remarked, untold int
	said                              map[string]int // how many events a remark is about
	order                             []string       // of the remarks that were told
}

// newReviewing makes the destination of the settings that has a name. It is not opened. Its error is a SettingsError.
func newReviewing(o Options, name string, out *bufio.Writer, show Show, done *cleanup) (*reviewing, error) {
	if o.Config.OpenLineage.Disabled {
		o.Log.Warn("nothing would be sent: OPENLINEAGE_DISABLED is true")
	}
	all, err := newDestinations(o, o.Config.OpenLineage)
	if err != nil {
		return nil, err
	}
	done.push("closing the transports", closeDestinations(all))
	known := make([]string, len(all))
	for i, d := range all {
		known[i] = d.Name
	}
	i := slices.Index(known, name)
	if i < 0 {
		return nil, &SettingsError{fmt.Errorf("--destination %s: there is no such destination; there are %q", name, known)}
	}
	return &reviewing{
		to: all[i], out: out, json: show == ShowReviewJSON, log: o.Log.Named("preview"), said: map[string]int{},
	}, nil
}

// reviewLine is what is shown of an event as JSON. Keys may be added.
type reviewLine struct {
	Run         string            `json:"run"`
	Type        string            `json:"type"`
	Namespace   string            `json:"namespace"`
	Job         string            `json:"job"`
	Destination string            `json:"destination"`
	Changed     bool              `json:"changed"` // the destination would get something else than the event
	Remarks     []string          `json:"remarks"`
	Copies      []json.RawMessage `json:"copies"`
}

// tell shows one event.
func (r *reviewing) tell(e adapter.Event) {
	event := deliver.TransportEvent(e)
	review := transport.ReviewOf(r.to.Transport, event)
	changed := len(review.Copies) != 1 || !bytes.Equal(review.Copies[0], event.Body)
	r.count(changed, review.Remarks, event)
	if !r.json {
		for _, body := range review.Copies {
			writeLine(r.out, body)
		}
		return
	}
	line := reviewLine{
		Run: event.RunID, Type: event.Type, Namespace: event.Namespace, Job: event.Name, Destination: r.to.Name,
		Changed: changed, Remarks: append([]string{}, review.Remarks...), Copies: []json.RawMessage{},
	}
	for _, body := range review.Copies {
		line.Copies = append(line.Copies, body)
	}
	lines := json.NewEncoder(r.out)
	lines.SetEscapeHTML(false)
	_ = lines.Encode(line) // the writer keeps its first error for Flush
}

// count notes what was found, and tells each remark once.
func (r *reviewing) count(changed bool, remarks []string, event transport.Event) {
	r.events++
	if changed {
		r.changed++
	}
	if len(remarks) > 0 {
		r.remarked++
	}
	for _, remark := range remarks {
		r.said[remark]++
		switch {
		case r.said[remark] > 1:
		case len(r.order) == maxRemarks:
			r.untold++
		default:
			r.order = append(r.order, remark)
			if !r.json {
				r.log.Warn(remark, zap.String("destination", r.to.Name), zap.String("job", event.Name),
					zap.String("run", event.RunID), zap.String("type", event.Type))
			}
		}
	}
}

// end sums up.
func (r *reviewing) end() {
	if r.json {
		return
	}
	for _, remark := range r.order {
		if n := r.said[remark]; n > 1 {
			r.log.Warn("of several events: "+remark, zap.String("destination", r.to.Name), zap.Int("events", n))
		}
	}
	if r.untold > 0 {
		r.log.Warn("there were further remarks, which -o json shows", zap.Int("remarks", r.untold))
	}
	r.log.Info("what the destination would make of the events", zap.String("destination", r.to.Name), zap.Int("events", r.events),
		zap.Int("changed", r.changed), zap.Int("with_remarks", r.remarked))
}
