package ingest

import (
	"context"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
)

// tellGone deals with open runs that the server no longer has. One miss is remembered; a second one the grace later
// ends the run, but only while the server still shows other runs that were told about: a server that forgot them all
// is another server.
func (p *portion) tellGone(ctx context.Context) error {
	if len(p.changes.Gone) == 0 {
		return nil
	}
	voice, err := p.inferring(ctx)
	if err != nil {
		return err
	}
	others := p.seesKnownRuns()
	for _, id := range p.changes.Gone {
		told, ok := p.known[id]
		if !ok || told.Phase != adapter.Open {
			continue
		}
		if told.Missed.IsZero() {
			p.log.Info("an open run is not there any more", zap.Stringer("run", id), zap.String("job", told.Run.Name))
		} else if !others {
			continue
		}
		last, err := p.lastGood(ctx, told)
		if err != nil {
			return err
		}
		telling := voice.InferGone(told, p.changes.Now, last)
		p.events = append(p.events, telling.Events...)
		p.warnings = append(p.warnings, telling.Warnings...)
		p.metrics.inferred(len(telling.Events))
		p.known[id] = telling.Told
		p.fresh[id] = true
	}
	return nil
}

// seesKnownRuns says whether this portion shows a run that was told about before.
func (p *portion) seesKnownRuns() bool {
	for _, row := range p.changes.FlowRuns {
		if p.remembered[row.ID] {
			return true
		}
	}
	for _, row := range p.changes.TaskRuns {
		if p.remembered[row.ID] {
			return true
		}
	}
	return false
}
