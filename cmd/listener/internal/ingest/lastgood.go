package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// good is what a completed run of this portion named: the store doesn't know of it yet.
type good struct {
	end   time.Time
	edges []adapter.Edge
}

// noteGood remembers a completed run's datasets for those that fail after it.
func (p *portion) noteGood(told adapter.Told, edges []adapter.Edge) {
	if p.adapter.Repeats() && told.EndType == adapter.Complete && len(edges) > 0 {
		job := [2]string{told.Run.Namespace, told.Run.Name}
		p.goods[job] = append(p.goods[job], good{told.End, edges})
	}
}

// lastOf returns the datasets that a run's end has to repeat if it named none itself.
func (p *portion) lastOf(ctx context.Context, id uuid.UUID, s prefect.Snapshot) ([]adapter.Edge, error) {
	told := p.known[id]
	if !p.adapter.MayRepeat(s) || told.Ruling.Silent() {
		return nil, nil
	}
	end := s.State().Timestamp
	var newest good
	for _, g := range p.goods[[2]string{told.Run.Namespace, told.Run.Name}] {
		if !g.end.After(end) && g.end.After(newest.end) {
			newest = g
		}
	}
	if len(newest.edges) > 0 {
		return newest.edges, nil
	}
	return p.lastGood(ctx, told)
}

// lastGood returns the datasets of the last good run of a run's job, as the store knows it.
func (r *Recorder) lastGood(ctx context.Context, told adapter.Told) ([]adapter.Edge, error) {
	if !r.adapter.Repeats() {
		return nil, nil
	}
	edges, err := r.ledger.LastGoodEdges(ctx, told.Run)
	if err != nil {
		return nil, fmt.Errorf("reading the datasets of the last good run: %w", err)
	}
	return edges, nil
}
