package rest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// Emitter sends proposals to one server. It is safe for concurrent use.
type Emitter struct {
	config Config
	client *client
	known  knowledge
	closed atomic.Bool
}

// New returns an emitter. It reads the TLS files and asks the server nothing; TestConnection does.
func New(config Config) (*Emitter, error) {
	config = config.withDefaults()
	config.Headers = maps.Clone(config.Headers)
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("setting up the DataHub emitter: %w", err)
	}
	c, err := newClient(config)
	if err != nil {
		return nil, fmt.Errorf("setting up the DataHub emitter: %w", err)
	}
	return &Emitter{config: config, client: c, known: knowledge{asking: make(chan struct{}, 1)}}, nil
}

// Close gives the connections back. Calls that are under way go on; later ones fail with ErrClosed.
func (e *Emitter) Close() error {
	e.closed.Store(true)
	e.client.close()
	return nil
}

// Server returns the address that the emitter sends to, without credentials.
func (e *Emitter) Server() string { return display(e.client.base) }

// Emit sends one proposal. Its error is the result's.
func (e *Emitter) Emit(ctx context.Context, p mcp.Proposal, options ...CallOption) (Result, error) {
	c := e.newCall(1, options)
	c.single = true
	e.run(ctx, c, []mcp.Proposal{p})
	return c.results[0], c.results[0].Err
}

// EmitAll sends many proposals, in chunks, and returns a result for each, in their order. Its error is a *BatchError, nil
// when each got what the mode asks for.
//
// A chunk that the server refuses is sent again in halves until the refused proposals are found, so the others are
// written; with a change type that must not be repeated (ChangeCreate) those of a chunk that was written and refused
// count as failed then. Chunks after a trouble that is not about their content are not sent.
func (e *Emitter) EmitAll(ctx context.Context, proposals []mcp.Proposal, options ...CallOption) ([]Result, error) {
	c := e.newCall(len(proposals), options)
	if len(proposals) == 0 {
		return c.results, nil
	}
	e.run(ctx, c, proposals)
	return c.results, c.summary()
}

func (e *Emitter) newCall(n int, options []CallOption) *call {
	c := &call{mode: e.config.Mode, wait: e.config.Wait, degrade: e.config.AllowDegraded, results: make([]Result, n)}
	for _, option := range options {
		option(c)
	}
	for i := range c.results {
		c.results[i] = Result{State: Unsent, Mode: c.mode}
	}
	return c
}

// fail writes an error for each proposal that has none.
func (c *call) fail(err error) {
	for i := range c.results {
		if c.results[i].Err == nil {
			c.results[i].Err = err
		}
	}
}

// run takes a call through: choose the way, encode, send, wait.
func (e *Emitter) run(ctx context.Context, c *call, proposals []mcp.Proposal) {
	if e.closed.Load() {
		c.fail(ErrClosed)
		return
	}
	if _, err := ParseMode(string(c.mode)); err != nil {
		c.fail(err)
		return
	}
	if err := ctx.Err(); err != nil {
		c.fail(context.Cause(ctx))
		return
	}
	if e.config.RespectSyncMarker && c.mode.async() && slices.ContainsFunc(proposals, marked) {
		c.mode, c.notice = SyncPrimary, "sent synchronously, as a proposal's emitModeMarker asks"
	}
	api, err := e.way(ctx)
	if err == nil {
		c.api = api
		err = e.checkWait(ctx, c)
	}
	if err != nil {
		c.fail(err)
		return
	}
	items := e.encodeAll(c, proposals)
	if len(items) == 0 {
		return
	}
	e.send(ctx, c, items)
	e.await(ctx, c)
}

// marked reports whether a proposal asks to be sent synchronously, see Config.RespectSyncMarker.
func marked(p mcp.Proposal) bool {
	return p.SystemMetadata != nil &&
		strings.EqualFold(strings.TrimSpace(p.SystemMetadata.Properties["emitModeMarker"]), "sync")
}

// checkWait says before anything is sent whether the server can tell what AsyncWait waits for.
func (e *Emitter) checkWait(ctx context.Context, c *call) error {
	if c.mode != AsyncWait {
		return nil
	}
	s, err := e.server(ctx)
	if err != nil {
		return err
	}
	if s.SupportsTracing() {
		return nil
	}
	if !c.degrade {
		return fmt.Errorf("%w: its version is %q and writes can be traced from %s (DataHub Cloud: %s) on; nothing was sent",
			ErrWaitUnsupported, s.Version, coreComplete, cloudComplete)
	}
	c.mode, c.notice = Async, "queued only: the server is too old to confirm it"
	return nil
}

// encodeAll returns what can be sent, and writes the results of what can't.
func (e *Emitter) encodeAll(c *call, proposals []mcp.Proposal) []item {
	now := e.config.Now()
	items := make([]item, 0, len(proposals))
	for i, p := range proposals {
		err := p.Validate()
		var encoded []byte
		if err == nil {
			p = e.prepare(p, c.mode, now)
			encoded, err = encodeFor(c.api, p)
		}
		if err != nil {
			c.results[i] = Result{State: Failed, Err: err, Mode: c.mode, API: c.api}
			continue
		}
		items = append(items, item{index: i, proposal: p, encoded: encoded})
	}
	return items
}

// encodeFor returns a proposal as the way wants it; nil for a deletion, which is all in the address.
func encodeFor(api API, p mcp.Proposal) ([]byte, error) {
	switch kindOf(api, p.ChangeType) {
	case kindRestli:
		return encodeRestli(p)
	case kindOpenAPI, kindOpenAPIPatch:
		return encodeOpenAPI(p)
	default:
		return nil, nil
	}
}

// send sends items in lanes: each lane one batch after the other.
func (e *Emitter) send(ctx context.Context, c *call, items []item) {
	var group sync.WaitGroup
	traces := make([][]*trace, e.config.Parallel)
	for i, own := range lanes(items, e.config.Parallel) {
		group.Go(func() {
			l := lane{emitter: e, call: c}
			l.run(ctx, plan(own, c.api, limits{e.config.ChunkProposals, e.config.ChunkBytes}))
			traces[i] = l.traces
		})
	}
	group.Wait()
	c.awaiting = slices.Concat(traces...)
}
