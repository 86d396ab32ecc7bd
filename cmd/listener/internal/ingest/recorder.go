package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

// CursorName is the name under which the poll's reading position is stored.
const CursorName = "poll"

// Ledger is what the recorder needs of the store.
type Ledger interface {
	Told(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]adapter.Told, error)
	Commit(ctx context.Context, batch state.Batch) (state.Committed, error)
	// LastGoodEdges returns the datasets that the last completed run of a job named.
	LastGoodEdges(ctx context.Context, job adapter.RunRef) ([]adapter.Edge, error)
}

// Reader reads from Prefect what a portion does not hold itself.
type Reader interface {
	Snapshots(ctx context.Context, flowRuns []prefect.FlowRun, taskRuns []prefect.TaskRun,
		flowOf map[uuid.UUID]prefect.FlowRef) ([]prefect.Snapshot, []prefect.BadRow, error)
	// ReadAhead reads what Snapshots will be asked for in a moment.
	ReadAhead(ctx context.Context, flowRuns []prefect.FlowRun, taskRuns []prefect.TaskRun) error
	FlowRunsByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]prefect.FlowRun, []prefect.BadRow, error)
	TaskRunsByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]prefect.TaskRun, []prefect.BadRow, error)
	// Names reads the flow and the deployment of each flow run.
	Names(ctx context.Context, of map[uuid.UUID]prefect.FlowRef) (map[uuid.UUID]prefect.Snapshot, error)
	Server(ctx context.Context) (prefect.Server, error)

	// What a flow run and its tasks made, a page at a time.
	EachTaskRun(ctx context.Context, flowRuns []uuid.UUID, take func([]prefect.TaskRun) error) error
	EachTable(ctx context.Context, flowRuns []uuid.UUID, take func([]prefect.Artifact) error) error
	AnyOpenTaskRun(ctx context.Context, flowRuns []uuid.UUID) (prefect.TaskRun, bool, error)

	// Events about assets; prefect.ErrNoEvents where the server shows none.
	AssetsOfTaskRuns(ctx context.Context, ids []uuid.UUID, since time.Time) (map[uuid.UUID][]prefect.AssetEvent, []prefect.BadRow, error)
	AssetsOfFlowRuns(ctx context.Context, ids []uuid.UUID, since time.Time) (map[uuid.UUID][]prefect.AssetEvent, []prefect.BadRow, error)
	NewestAssetEvents(ctx context.Context, since time.Time, pages int) ([]prefect.AssetEvent, error)
}

// Recorder turns portions of changes into transactions. It is safe for use by several goroutines, which take turns: a
// portion reads the ledger and writes it, and two at once could each believe to be the first to tell of a run.
type Recorder struct {
	adapter *adapter.Adapter
	reader  Reader
	ledger  Ledger
	log     *zap.Logger
	metrics *Metrics
	stored  func()
	// AssetsQuiet says for how long it is certain that nothing happened to an asset. Nil: it never is.
	AssetsQuiet func() time.Duration

	mu       sync.Mutex
	familiar *familiar
	assets   *assetWatch
	holds    *holds
	rolled   rolledRuns
}

// NewRecorder makes a recorder. Stored is called after each transaction that put events into the outbox; nil: nobody
// waits for them.
func NewRecorder(a *adapter.Adapter, reader Reader, ledger Ledger, log *zap.Logger, metrics *Metrics, stored func()) *Recorder {
	if stored == nil {
		stored = func() {}
	}
	metrics.expect(a.DecidedBy())
	return &Recorder{adapter: a, reader: reader, ledger: ledger, log: log, metrics: metrics, stored: stored,
		familiar: newFamiliar(), assets: newAssetWatch(), holds: newHolds(), rolled: rolledRuns{}}
}

// Resume tells up to when, of Prefect's time, an earlier process had read; zero: there was none. Assets of what that one told
// are looked for too. It is to be called before the first Record.
func (r *Recorder) Resume(ended time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.assets.left = ended
}

// Mode says how a portion is to be recorded.
type Mode struct {
	// Live portions may leave a run for the next poll when something it refers to cannot be read yet, and believe that
	// a run which is gone twice has ended.
	Live bool
	// Destinations limits the deliveries; nil: all. Those that are named get what they were never given, though it was
	// told to others before.
	Destinations []string
	// Resend gives a destination again what it was given before.
	Resend bool
	// Explain is told of each run why it is or is not told about. Nil: nobody asks.
	Explain func(Reason)
	// Stored is told what came of a portion's runs, once it is stored. Nil: nobody asks.
	Stored func(Stored)
}

// again says whether runs are told anew that were told before. That leaves their ledger entries alone; the store knows
// which destination is to get what comes of it.
func (m Mode) again() bool { return m.Resend || m.Destinations != nil }

// Record commits one portion and everything that its events need to stand on. After an error nothing of it is stored.
func (r *Recorder) Record(ctx context.Context, changes prefect.Changes, mode Mode) (state.Committed, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	p := newPortion(r, changes, mode)
	if err := p.gather(ctx); err != nil {
		return state.Committed{}, err
	}
	if err := p.tell(ctx); err != nil {
		return state.Committed{}, err
	}
	if mode.Live {
		if err := p.retellFlows(ctx); err != nil {
			return state.Committed{}, err
		}
		if err := p.tellGone(ctx); err != nil {
			return state.Committed{}, err
		}
	}
	p.explain()
	p.bad = r.familiar.without(p.bad)
	batch, err := p.batch()
	if err != nil {
		return state.Committed{}, err
	}
	committed, err := r.ledger.Commit(ctx, batch)
	if err != nil {
		return state.Committed{}, fmt.Errorf("storing %d events: %w", len(batch.Events), err)
	}
	p.report(committed, batch)
	r.familiar.add(p.bad)
	for _, remember := range p.onStored {
		remember()
	}
	if committed.Enqueued > 0 {
		r.stored()
	}
	if mode.Stored != nil {
		mode.Stored(p.outcome())
	}
	return committed, nil
}

// readAhead reads from Prefect what Record will need for a portion, as far as the ledger can tell before those that come
// first are recorded.
func (r *Recorder) readAhead(ctx context.Context, changes prefect.Changes, mode Mode) error {
	p := newPortion(r, changes, mode)
	if err := p.recall(ctx, p.rowIDs()); err != nil {
		return err
	}
	// What rests is known to the portion that is being recorded meanwhile: here it counts as news, which costs at most a read.
	flowRows := keepRows(p.changes.FlowRuns, func(row *prefect.FlowRun) bool { return p.isNews(row.ID, prefect.Snapshot{FlowRun: row}) })
	taskRows := keepRows(p.changes.TaskRuns, func(row *prefect.TaskRun) bool { return p.isNews(row.ID, prefect.Snapshot{TaskRun: row}) })
	if len(flowRows)+len(taskRows) == 0 {
		return nil
	}
	if err := r.reader.ReadAhead(ctx, flowRows, taskRows); err != nil {
		return fmt.Errorf("reading the details of %d flow runs and %d task runs: %w", len(flowRows), len(taskRows), err)
	}
	return nil
}

func keepRows[T any](rows []T, want func(*T) bool) []T {
	var kept []T
	for i := range rows {
		if want(&rows[i]) {
			kept = append(kept, rows[i])
		}
	}
	return kept
}

func encodeCursor(c *prefect.Cursor) (map[string][]byte, error) {
	if c == nil {
		return nil, nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encoding the cursor: %w", err)
	}
	return map[string][]byte{CursorName: text}, nil
}
