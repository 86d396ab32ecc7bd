package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

const (
	// guardEvery is how often it is made sure that Prefect is still the one that the store was filled from, and
	// guardAgain how often at most because open runs are gone.
	guardEvery = 5 * time.Minute
	guardAgain = time.Minute
	// knownRuns bounds how many runs a Prefect is recognized by, and fewestMissing is how many of the newest must be
	// missing to speak of a restored database: people delete single runs.
	knownRuns     = 1000
	askedAtOnce   = 50
	fewestMissing = 3
	// clockSlack is how much the clocks of a server's replicas may differ without it meaning anything.
	clockSlack = 5 * time.Second
)

// Belongings is what the guard keeps in the store.
type Belongings interface {
	Owner(ctx context.Context) (state.Owner, error)
	SetOwner(ctx context.Context, owner state.Owner) error
	Acquaintances(ctx context.Context, after time.Time, limit int) ([]state.Acquaintance, error)
}

// Directory is what the guard asks Prefect for.
type Directory interface {
	FlowRunsByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]prefect.FlowRun, []prefect.BadRow, error)
	TaskRunsByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]prefect.TaskRun, []prefect.BadRow, error)
	FlowsThere(ctx context.Context, ids []uuid.UUID) (int, error)
}

// Stranger says that the Prefect at hand has nothing that the store knows: it is another workspace or another database.
type Stranger struct{ reason string }

func (s *Stranger) Error() string { return s.reason }

// Guard is a Poller that reads on only while the Prefect at hand is the one that the store was filled from. Runs are told
// about under Prefect's ids; beside those of another Prefect, open runs would end for no reason and the position would
// mean nothing. Any of the newest runs that were told about, or any of their flows, proves that it is the same.
type Guard struct {
	Poller  Poller
	Store   Belongings
	Prefect Directory
	// API is the address that is read, without credentials.
	API string
	// Begun is called once, after the first poll that passed, with the server's time.
	Begun   func(ctx context.Context, now time.Time) error
	Metrics *Metrics
	Log     *zap.Logger

	begun   bool
	looked  time.Time // the last look that was answered; zero: none yet
	missed  time.Time // the last look because of runs that are gone
	doubt   bool      // something happened that a look has to explain
	noticed uuid.UUID // the newest missing run that was spoken of
}

// Poll polls as the poller does, after a look where one is due. Its error is a *Stranger where reading must rest.
func (g *Guard) Poll(ctx context.Context, cur prefect.Cursor, open prefect.OpenRuns, yield func(context.Context, prefect.Changes) error) error {
	if g.due() {
		restored, err := g.look(ctx)
		if err != nil {
			return err
		}
		if restored { // what was written anew may have old times
			cur.Swept10m, cur.SweptDay = time.Time{}, time.Time{}
		}
	}
	var now time.Time
	err := g.Poller.Poll(ctx, cur, open, func(ctx context.Context, c prefect.Changes) error {
		if now.IsZero() {
			g.compareClocks(cur, c)
		}
		now = c.Now
		if len(c.Gone) > 0 && (g.missed.IsZero() || time.Since(g.missed) >= guardAgain) {
			g.missed = time.Now()
			if _, err := g.look(ctx); err != nil {
				return err
			}
		}
		return yield(ctx, c)
	})
	if err != nil { // a server that was away may come back with another database
		g.doubt = true
	}
	if err == nil && !g.begun && g.Begun != nil {
		err = g.Begun(ctx, now)
		g.begun = err == nil
	}
	return err
}

// Stored passes on what is stored.
func (g *Guard) Stored(changes prefect.Changes, left []uuid.UUID) { g.Poller.Stored(changes, left) }

func (g *Guard) due() bool {
	return g.looked.IsZero() || g.doubt || time.Since(g.looked) >= guardEvery
}

// compareClocks says when Prefect's clock is behind the position, from where the poller goes on then.
func (g *Guard) compareClocks(cur prefect.Cursor, c prefect.Changes) {
	back := cur.Ended.Sub(c.Now)
	if c.Now.IsZero() || back <= clockSlack {
		return
	}
	g.doubt = true
	g.Log.Warn("Prefect's clock is behind what was read already: it was set back, or the server was restored from a copy; the last 24 h are read again",
		zap.Duration("behind", back.Round(time.Second)))
}

// look makes sure of Prefect. It returns whether the newest of the runs that were told about are missing.
func (g *Guard) look(ctx context.Context) (restored bool, err error) {
	owner, err := g.Store.Owner(ctx)
	if err != nil {
		return false, err
	}
	known, err := g.Store.Acquaintances(ctx, owner.Since, knownRuns)
	if err != nil {
		return false, err
	}
	missing, same, err := g.recognize(ctx, known)
	if err != nil {
		return false, err
	}
	if !same {
		return false, &Stranger{reason: g.strange(owner, len(known))}
	}
	g.looked, g.doubt = time.Now(), false
	g.Metrics.missing(len(missing))
	if err := g.moved(ctx, owner, len(known)); err != nil {
		return false, err
	}
	return g.notice(missing), nil
}

// recognize asks for the newest of the known runs. It returns those of them that are missing while older ones, or only
// their flows, are there, and whether Prefect is the same.
func (g *Guard) recognize(ctx context.Context, known []state.Acquaintance) (missing []uuid.UUID, same bool, err error) {
	var flowRuns, taskRuns []uuid.UUID
	flows := map[uuid.UUID]bool{}
	for _, run := range known {
		switch {
		case run.Kind == adapter.FlowRun && len(flowRuns) < askedAtOnce:
			flowRuns = append(flowRuns, run.ID)
		case run.Kind == adapter.TaskRun && len(taskRuns) < askedAtOnce:
			taskRuns = append(taskRuns, run.ID)
		}
		if run.FlowID != uuid.Nil && len(flows) < askedAtOnce {
			flows[run.FlowID] = true
		}
	}
	if len(known) == 0 {
		return nil, true, nil
	}
	found, bad, err := g.Prefect.FlowRunsByID(ctx, flowRuns)
	if err != nil {
		return nil, false, fmt.Errorf("looking for the runs that were told about: %w", err)
	}
	if len(found)+len(bad) > 0 {
		return absentBefore(flowRuns, found, bad), true, nil
	}
	tasks, bad, err := g.Prefect.TaskRunsByID(ctx, taskRuns)
	if err != nil {
		return nil, false, fmt.Errorf("looking for the task runs that were told about: %w", err)
	}
	if len(tasks)+len(bad) > 0 {
		return flowRuns, true, nil
	}
	there, err := g.Prefect.FlowsThere(ctx, sortedIDs(flows))
	if err != nil {
		return nil, false, fmt.Errorf("looking for the flows that were told about: %w", err)
	}
	return flowRuns, there > 0, nil
}

// absentBefore returns the ids before the first one that is there. A row that can't be read is there.
func absentBefore(ids []uuid.UUID, found map[uuid.UUID]prefect.FlowRun, bad []prefect.BadRow) []uuid.UUID {
	there := map[string]bool{}
	for id := range found {
		there[id.String()] = true
	}
	for _, row := range bad {
		there[row.ID] = true
	}
	for i, id := range ids {
		if there[id.String()] {
			return ids[:i]
		}
	}
	return nil
}

func (g *Guard) strange(owner state.Owner, known int) string {
	where := g.API + " has none of the runs that this store last told of, nor their flows: it is another workspace, or its database was reset"
	if owner.API != g.API {
		where = g.API + " has none of the runs that this store last told of, nor their flows; they came from " + owner.API
	}
	return fmt.Sprintf("%s (%d runs looked for). Give this Prefect a store of its own (LISTENER_STATE), or let the store go over to it: listener adopt",
		where, known)
}

// moved notes an address that has changed while the Prefect behind it has not.
func (g *Guard) moved(ctx context.Context, owner state.Owner, known int) error {
	if owner.API == g.API {
		return nil
	}
	before := owner.API
	owner.API = g.API
	if err := g.Store.SetOwner(ctx, owner); err != nil {
		return err
	}
	if before != "" {
		g.Log.Info("Prefect has another address than before and is the same: it has runs that were told about",
			zap.String("before", before), zap.String("now", g.API), zap.Int("known", known))
	}
	return nil
}

// notice says once that the newest runs are gone while Prefect is the same, and whether to read again what lies behind.
func (g *Guard) notice(missing []uuid.UUID) bool {
	if len(missing) < fewestMissing || missing[0] == g.noticed {
		return false
	}
	g.noticed = missing[0]
	g.Log.Warn("the newest runs that were told about are not in Prefect any more: was its database restored from a copy? The last 24 h are read again",
		zap.Int("missing", len(missing)))
	return true
}
