package prefect

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// Lister lists runs and all that belongs to them; *Client is one.
type Lister interface {
	RunLister
	EventLister
	Artifacts(ctx context.Context, f Filter) (Page[Artifact], error)
	Flows(ctx context.Context, f Filter) (Page[Flow], error)
	Deployments(ctx context.Context, f Filter) (Page[Deployment], error)
	CountArtifacts(ctx context.Context, q ArtifactQuery) (int, error)
}

var _ Lister = (*Client)(nil)

// ReaderConfig says how a Reader reads.
type ReaderConfig struct {
	// UIURL is where people see the server's pages, without a slash at the end. Empty: no links.
	UIURL string
	// Keep is how long flows, deployments and placeholders are kept before they are read again. Zero: DefaultKeep.
	Keep time.Duration
	// KeepMost is how many of each are kept. Zero: DefaultKeepMost.
	KeepMost int
}

// What a ReaderConfig that leaves things out gets.
const (
	DefaultKeep     = 5 * time.Minute
	DefaultKeepMost = 2048
)

// keepAbsent is how long it is believed that a row isn't there: a server's replica may not have it yet.
const keepAbsent = 20 * time.Second

// FlowRef says which flow and deployment a flow run belongs to.
type FlowRef struct {
	FlowID       uuid.UUID
	DeploymentID uuid.UUID // zero: none
}

func refOf(r FlowRun) FlowRef {
	ref := FlowRef{FlowID: r.FlowID}
	if r.DeploymentID != nil {
		ref.DeploymentID = *r.DeploymentID
	}
	return ref
}

// Reader reads what belongs to runs, in batches, and keeps what changes rarely. It may be used by several goroutines.
type Reader struct {
	api     Lister
	cfg     ReaderConfig
	version version

	flows        *cache[Flow]
	deployments  *cache[Deployment]
	placeholders *cache[TaskRun]
	events       eventsOffer
	stock        *stock
	fits         struct{ flows, tasks *fit } // of artifacts to flow runs and task runs
}

// NewReader returns a reader that reads from api.
func NewReader(api Lister, cfg ReaderConfig) *Reader {
	if cfg.Keep <= 0 {
		cfg.Keep = DefaultKeep
	}
	if cfg.KeepMost <= 0 {
		cfg.KeepMost = DefaultKeepMost
	}
	r := &Reader{
		api: api, cfg: cfg, version: version{ask: api.Version},
		flows:        newCache[Flow](cfg.KeepMost, cfg.Keep, keepAbsent),
		deployments:  newCache[Deployment](cfg.KeepMost, cfg.Keep, keepAbsent),
		placeholders: newCache[TaskRun](cfg.KeepMost, cfg.Keep, keepAbsent),
		stock:        newStock(),
	}
	r.fits.flows = &fit{first: artifactFlowRuns, most: mostArtifactFlowRuns, page: MaxPage}
	r.fits.tasks = &fit{first: artifactTaskRuns, most: mostArtifactTaskRuns, page: MaxPage}
	return r
}

// Server returns what is known of the server. Its version is asked for again every few minutes; where a server has
// none, or keeps it to itself, it is empty.
func (r *Reader) Server(ctx context.Context) (Server, error) {
	version, err := r.version.get(ctx)
	if err != nil {
		return Server{}, err
	}
	return Server{Version: version, UIURL: r.cfg.UIURL}, nil
}

// Snapshots reads what belongs to runs: their flow and deployment, a subflow's placeholder, and, where a run has
// ended, its table artifacts by their time of creation. The snapshots come in the order of the runs, flow runs first.
//
// flowOf names the flow and deployment of task runs' flow runs, by the flow run's id. Flow runs that are neither in
// it nor among flowRuns are read. What is not there is nil in the snapshot, and so is what can't be understood; the
// latter comes as a bad row too. An error means that the server didn't answer: nothing is known then.
func (r *Reader) Snapshots(ctx context.Context, flowRuns []FlowRun, taskRuns []TaskRun, flowOf map[uuid.UUID]FlowRef) ([]Snapshot, []BadRow, error) {
	refs, bad, err := r.refs(ctx, flowRuns, taskRuns, flowOf)
	if err != nil {
		return nil, nil, err
	}
	server, err := r.Server(ctx)
	if err != nil {
		return nil, nil, err
	}
	var (
		names  naming
		holds  map[uuid.UUID]*TaskRun
		tables artifacts
	)
	reading, ctx := errgroup.WithContext(ctx)
	reading.Go(func() (err error) { names, err = r.names(ctx, refs); return err })
	reading.Go(func() (err error) { holds, err = r.standIns(ctx, flowRuns, taskRuns); return err })
	reading.Go(func() (err error) { tables, err = r.artifacts(ctx, flowRuns, taskRuns); return err })
	if err := reading.Wait(); err != nil {
		return nil, nil, err
	}

	snapshots := make([]Snapshot, 0, len(flowRuns)+len(taskRuns))
	for i := range flowRuns {
		run := &flowRuns[i]
		s := Snapshot{FlowRun: run, Artifacts: tables.ofFlowRuns[run.ID], Server: server}
		s.Flow, s.Deployment = names.of(refs[run.ID])
		if run.ParentTaskRunID != nil {
			s.Placeholder = holds[*run.ParentTaskRunID]
		}
		snapshots = append(snapshots, s)
	}
	for i := range taskRuns {
		run := &taskRuns[i]
		s := Snapshot{TaskRun: run, Artifacts: tables.ofTaskRuns[run.ID], Server: server}
		if run.FlowRunID != nil {
			s.Flow, s.Deployment = names.of(refs[*run.FlowRunID])
		}
		snapshots = append(snapshots, s)
	}
	return snapshots, slices.Concat(bad, names.bad, tables.bad), nil
}

// refs returns the flow and deployment of every flow run that the runs belong to.
func (r *Reader) refs(ctx context.Context, flowRuns []FlowRun, taskRuns []TaskRun, flowOf map[uuid.UUID]FlowRef) (map[uuid.UUID]FlowRef, []BadRow, error) {
	refs := make(map[uuid.UUID]FlowRef, len(flowRuns)+len(flowOf))
	for _, run := range flowRuns {
		refs[run.ID] = refOf(run)
	}
	missing := newIDSet()
	for _, run := range taskRuns {
		if run.FlowRunID == nil {
			continue
		}
		id := *run.FlowRunID
		if _, known := refs[id]; known {
			continue
		}
		if ref, given := flowOf[id]; given {
			refs[id] = ref
			continue
		}
		missing.add(id)
	}
	found, bad, err := r.FlowRunsByID(ctx, missing.ids)
	if err != nil {
		return nil, nil, err
	}
	for id, run := range found {
		refs[id] = refOf(run)
	}
	return refs, bad, nil
}

// FlowRunsByID reads flow runs. An id that is neither among them nor in a bad row is not there; a bad row whose own
// id can't be read may be any of them.
func (r *Reader) FlowRunsByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]FlowRun, []BadRow, error) {
	found := make(map[uuid.UUID]FlowRun, len(ids))
	bad, err := gather(ctx, r.api, flowRunKind(r.api), ids, func(c Changes) {
		for _, run := range c.FlowRuns {
			found[run.ID] = run
		}
	})
	return found, bad, err
}

// TaskRunsByID reads task runs, as FlowRunsByID reads flow runs.
func (r *Reader) TaskRunsByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]TaskRun, []BadRow, error) {
	found := make(map[uuid.UUID]TaskRun, len(ids))
	bad, err := gather(ctx, r.api, taskRunKind(r.api), ids, func(c Changes) {
		for _, run := range c.TaskRuns {
			found[run.ID] = run
		}
	})
	return found, bad, err
}

func gather[T run](ctx context.Context, api RunLister, of kind[T], ids []uuid.UUID, take func(Changes)) ([]BadRow, error) {
	var bad []BadRow
	err := readIDs(ctx, api, of, ids, func(c Changes) error {
		bad = append(bad, c.Bad...)
		take(c)
		return nil
	})
	return bad, err
}

// idSet is a set of ids in the order in which they came, without the zero id.
type idSet struct {
	ids  []uuid.UUID
	seen map[uuid.UUID]struct{}
}

func newIDSet() *idSet { return &idSet{seen: make(map[uuid.UUID]struct{})} }

func (s *idSet) add(id uuid.UUID) {
	if _, seen := s.seen[id]; seen || id == uuid.Nil {
		return
	}
	s.seen[id] = struct{}{}
	s.ids = append(s.ids, id)
}
