package ingest

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// How events about assets are waited and looked for. Prefect's server writes events down in batches, every 5 s unless
// it is told otherwise, so they can be read up to that much later than the end of the task run that they belong to.
const (
	assetWait    = 7 * time.Second  // after its end, a task run that is known to make assets is told
	sweepAfter   = 10 * time.Second // after an end, the server is asked for events of assets that nobody expected
	sweepEvery   = 30 * time.Second // at the most often
	sweepFor     = 3 * time.Minute  // after the last such end, or what was last heard: a busy server writes its events down late
	sweepAnyway  = 10 * time.Minute // though no event was heard about an asset
	sweepBack    = 10 * time.Minute // how far each of these looks goes back
	firstLook    = 7 * 24 * time.Hour
	firstPages   = 4  // of the newest events of the first look, from which it is known who makes assets
	sweepPages   = 40 // of later ones
	probeFor     = 10 * time.Minute
	maxAssetJobs = 20_000 // known to make assets
)

// assetWatch knows which jobs make assets, so that only their runs are asked about and waited for. All of it can be found
// out anew: it is kept in memory alone. The recorder's lock guards it.
type assetWatch struct {
	jobs  map[[2]string]struct{}
	uses  bool      // the server has shown an event about an asset
	asked time.Time // of the server's time, when it was last found out whether it has any
	swept time.Time // of the server's time, the last look for unexpected ones; zero: none yet
	due   time.Time // of the next; zero: no task run has ended lately
	// ended is, of the server's time, the last end of a task run that was told without assets and may have some, or a later
	// moment up to which events may be unheard.
	ended time.Time
	// seen are how many events were told with a task run's end, and when the newest of them occurred.
	seen   map[uuid.UUID]assetsSeen
	broken string    // how the last reading failed; empty: it did not
	left   time.Time // of the server's time, up to when an earlier process had read; zero: there was none
}

type assetsSeen struct {
	events int
	newest time.Time
}

func newAssetWatch() *assetWatch {
	return &assetWatch{jobs: map[[2]string]struct{}{}, seen: map[uuid.UUID]assetsSeen{}}
}

func (w *assetWatch) makes(job adapter.RunRef) bool {
	_, ok := w.jobs[[2]string{job.Namespace, job.Name}]
	return ok
}

func (w *assetWatch) learn(job adapter.RunRef) {
	w.uses = true
	if job.Name != "" && len(w.jobs) < maxAssetJobs {
		w.jobs[[2]string{job.Namespace, job.Name}] = struct{}{}
	}
}

// note remembers what a task run's end was told with.
func (w *assetWatch) note(run uuid.UUID, events []prefect.AssetEvent) {
	if len(events) > 0 {
		w.seen[run] = assetsSeen{len(events), events[len(events)-1].Occurred}
	}
}

// gatherAssets reads the events about assets of the task runs that have ended. Where they can't be read, the runs are
// told without them: lineage never waits for assets for long.
func (p *portion) gatherAssets(ctx context.Context) error {
	if p.mode.Live {
		if err := p.sweepAssets(ctx); err != nil {
			return err
		}
	} else if err := p.probeAssets(ctx); err != nil {
		return err
	}
	ask := p.assetRuns()
	if len(ask.ids) == 0 {
		return nil
	}
	found, bad, err := p.reader.AssetsOfTaskRuns(ctx, ask.ids, ask.since)
	if err = p.assetsRead(ctx, err); err != nil {
		return err
	}
	if p.assets.broken != "" {
		p.holdYoung(ask.ids)
		return nil
	}
	p.bad = append(p.bad, bad...)
	for i := range p.tasks {
		id := p.tasks[i].TaskRun.ID
		if events := found[id]; len(events) > 0 {
			p.tasks[i].Assets = events
			p.assets.learn(p.known[id].Run)
		}
	}
	if p.mode.Live {
		p.lookForLacking(ask.ids, found)
	}
	return nil
}

// lookForLacking makes the next look due where a run has none yet: they may come later than they were waited for, or than
// the run was read.
func (p *portion) lookForLacking(asked []uuid.UUID, found map[uuid.UUID][]prefect.AssetEvent) {
	for _, id := range asked {
		if len(found[id]) == 0 {
			p.assets.expect(p.changes.Now)
		}
	}
}

// assetQuestion says of which task runs the events are asked for, and since when they may have occurred.
type assetQuestion struct {
	ids   []uuid.UUID
	since time.Time
}

func (q *assetQuestion) add(t *prefect.TaskRun) {
	q.ids = append(q.ids, t.ID)
	began := t.State.Timestamp
	if t.StartTime != nil && t.StartTime.Before(began) {
		began = *t.StartTime
	}
	if q.since.IsZero() || began.Before(q.since) {
		q.since = began
	}
}

// assetRuns picks the ended task runs that are to be asked about, and holds those back whose events may not have been
// written down yet.
func (p *portion) assetRuns() assetQuestion {
	var ask assetQuestion
	for _, s := range p.tasks {
		t := s.TaskRun
		told := p.known[t.ID]
		if t.State == nil || !t.State.Type.Terminal() || told.Ruling.Silent() {
			continue
		}
		switch makes := p.assets.makes(told.Run); {
		case !p.mode.Live:
			if p.assets.uses {
				ask.add(t)
			}
		case p.again[t.ID]:
			ask.add(t)
		case makes && p.since(t.State) < assetWait:
			p.hold(t.ID, t.State.Timestamp.Add(assetWait))
		case makes, p.assets.uses && !p.young(t.State): // reading is behind, and so are they
			ask.add(t)
		default:
			p.assets.expect(p.changes.Now)
		}
	}
	return ask
}

// expect makes the next look for assets due that nobody expects.
func (w *assetWatch) expect(now time.Time) {
	w.ended = later(w.ended, now)
	due := later(now.Add(sweepAfter), w.swept.Add(sweepEvery))
	if w.due.IsZero() || due.Before(w.due) {
		w.due = due
	}
}

// since is how long ago a state was reached.
func (p *portion) since(s *prefect.State) time.Duration { return p.changes.Now.Sub(s.Timestamp) }

// holdYoung leaves runs for a later poll whose events could not be read now.
func (p *portion) holdYoung(ids []uuid.UUID) {
	asked := make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		asked[id] = true
	}
	for _, s := range p.tasks {
		if asked[s.TaskRun.ID] && p.young(s.TaskRun.State) {
			p.held[s.TaskRun.ID] = true
		}
	}
}

// assetsRead notes whether events could be read, and says so once. What is not the server's fault is returned.
func (p *portion) assetsRead(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		if p.assets.broken != "" {
			p.log.Info("events about assets can be read again")
		}
		p.assets.broken = ""
		return nil
	}
	kind := failureKind(err)
	if errors.Is(err, prefect.ErrNoEvents) {
		kind, p.assets.uses = "none", false
	}
	if kind != p.assets.broken {
		p.assets.broken = kind
		if kind == "none" {
			p.log.Info("Prefect shows no events, so assets are left out", zap.Error(err))
		} else {
			p.log.Warn("events about assets cannot be read; runs are told without their assets until they can", zap.Error(err))
		}
	}
	return nil
}
