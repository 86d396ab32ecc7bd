package prefect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// HistoryConfig says how a History reads.
type HistoryConfig struct {
	// Progress, where set, is told after each portion what was read so far. It is called by the goroutine that called
	// Read.
	Progress func(HistoryProgress)
}

// HistoryProgress is how far a read has come.
type HistoryProgress struct {
	FlowRuns, TaskRuns, Bad int
	// UpTo is the start time of the newest flow run that was handed over. Zero: none yet.
	UpTo time.Time
}

// History reads what ran in a stretch of time, for a backfill or a preview.
type History struct {
	api    RunLister
	cfg    HistoryConfig
	prober *prober
}

// NewHistory returns a history that reads from api.
func NewHistory(api RunLister, cfg HistoryConfig) *History {
	return &History{api: api, cfg: cfg, prober: newProber(api)}
}

// Read hands the runs of q to yield, in portions of a few pages at most and in an order that depends on the runs
// alone: flow runs by their start, the ones that were under way when the stretch began first, each before its task
// runs; last, task runs that have no flow run or whose flow run lies outside the stretch.
//
// Where q names runs, those are read, whatever flow they are of, with the task runs of those that are flow runs. They,
// too, are left out where they neither started nor ended in the stretch that q names. Runs that are not there are
// given as gone.
func (h *History) Read(ctx context.Context, q HistoryQuery, yield func(context.Context, Changes) error) error {
	known, err := h.prober.get(ctx)
	if err != nil {
		return err
	}
	now, err := serverClock(ctx, h.api)
	if err != nil {
		return err
	}
	if q.Since.IsZero() && len(q.Runs) == 0 {
		q.Since = longAgo
	}
	p := &past{api: h.api, known: known, query: q, within: span{from: q.Since, to: q.Until}}
	p.tasksEach = &fit{first: flowRunsAtOnce, most: mostFlowRunsAtOnce, page: MaxPage}
	if p.within.to.IsZero() && !q.Since.IsZero() {
		p.within.to = now.Add(time.Second) // the clock tells whole seconds
	}
	var progress HistoryProgress
	out := newPortion(now, func(ctx context.Context, c Changes) error {
		if err := yield(ctx, c); err != nil {
			return err
		}
		h.report(&progress, c)
		return nil
	})
	return unwrapYield(p.handOver(ctx, out))
}

func (h *History) report(so *HistoryProgress, c Changes) {
	so.FlowRuns += len(c.FlowRuns)
	so.TaskRuns += len(c.TaskRuns)
	so.Bad += len(c.Bad)
	for _, run := range c.FlowRuns {
		if run.StartTime != nil {
			so.UpTo = later(so.UpTo, *run.StartTime)
		}
	}
	if h.cfg.Progress != nil {
		h.cfg.Progress(*so)
	}
}

// past is one read of history under way.
type past struct {
	api    RunLister
	known  features
	query  HistoryQuery
	within span // zero: whenever

	tasksEach *fit // of task runs to flow runs
}

// handOver reads ahead and puts what comes into out.
func (p *past) handOver(ctx context.Context, out *portion) error {
	read := p.readStretch
	if len(p.query.Runs) > 0 {
		read = p.readRuns
	}
	ahead, reading := newFeeds(ctx)
	defer ahead.stop()
	if err := ahead.start(reading, read).each(func(c Changes) error { return out.add(ctx, c) }); err != nil {
		return err
	}
	return out.flush(ctx, nil)
}

// filter is what every query of the read has in common.
func (p *past) filter() Filter {
	if p.query.Flow == "" {
		return Filter{}
	}
	return Filter{Flows: &IDFilter{Name: &AnyText{Any: []string{p.query.Flow}}}}
}

// belongs says whether a run started or ended in the stretch.
func belongs[T run](in span, row T) bool {
	if in == (span{}) {
		return true
	}
	return in.holds(row.began()) || in.holds(row.ended())
}

// readStretch reads all that started or ended in the stretch.
func (p *past) readStretch(ctx context.Context, emit func(Changes) error) error {
	flows := stretch[FlowRun]{
		api: p.api, of: flowRunKind(p.api), filters: p.known.flowEnd, base: p.filter(), within: p.within, first: firstGathered,
	}
	err := flows.read(ctx, func(page Page[FlowRun]) error {
		return p.withTaskRuns(ctx, page, emit)
	})
	if err != nil {
		return fmt.Errorf("reading flow runs of the stretch: %w", err)
	}
	if err := p.readStrays(ctx, emit); err != nil {
		return fmt.Errorf("reading task runs whose flow run lies outside: %w", err)
	}
	return nil
}

// readRuns reads the runs that the query names.
func (p *past) readRuns(ctx context.Context, emit func(Changes) error) error {
	var others []uuid.UUID // what is no flow run
	err := readIDs(ctx, p.api, flowRunKind(p.api), p.query.Runs, func(c Changes) error {
		others = append(others, c.Gone...)
		rows := keep(c.FlowRuns, func(row FlowRun) bool { return belongs(p.within, row) })
		slices.SortFunc(rows, byStart[FlowRun])
		return p.withTaskRuns(ctx, Page[FlowRun]{Rows: rows, Bad: c.Bad, Served: c.Now}, emit)
	})
	if err != nil {
		return err
	}
	return readIDs(ctx, p.api, taskRunKind(p.api), others, func(c Changes) error {
		c.TaskRuns = keep(c.TaskRuns, func(row TaskRun) bool {
			return belongs(p.within, row) && (row.FlowRunID == nil || !slices.Contains(p.query.Runs, *row.FlowRunID))
		})
		slices.SortFunc(c.TaskRuns, byStart[TaskRun])
		return emit(c)
	})
}
