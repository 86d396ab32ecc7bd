package rest

import "context"

// State is what is known of a proposal at the end of a call.
type State string

// The states.
const (
	// Written: the primary store has the aspect, or the entity is deleted; with SyncWait the search index has it too.
	Written State = "written"
	// Queued: the server will write it, and has not said that it did.
	Queued State = "queued"
	// Confirmed: queued, and by its trace in both stores.
	Confirmed State = "confirmed"
	// Failed: not written. The server or the emitter refused it, or its trace says that the write failed.
	Failed State = "failed"
	// Unknown: sent without a clear answer. It may be written.
	Unknown State = "unknown"
	// Unsent: not sent.
	Unsent State = "unsent"
)

// Result is what became of one proposal.
type Result struct {
	State State
	// Err is nil when the proposal got what the mode asks for.
	Err error
	// Mode and API are those that were used.
	Mode Mode
	API  API
	// Status is that of the answer that the proposal was in; 0: none.
	Status int
	// TraceID names the write for Emitter.Status; "" where the server gave none.
	TraceID string
	// Notice says what was done otherwise than asked for, see Config.AllowDegraded; mostly "".
	Notice string
}

// CallOption changes one call.
type CallOption func(*call)

// call is what holds for one Emit or EmitAll.
type call struct {
	mode     Mode
	wait     WaitPolicy
	degrade  bool
	single   bool // Emit: Rest.li has a form of its own for one proposal
	api      API
	notice   string
	results  []Result
	awaiting []*trace
}

// WithMode sends in another mode than the emitter's. The zero Mode changes nothing.
func WithMode(m Mode) CallOption {
	return func(c *call) { c.mode = orDefault(m, c.mode) }
}

// WithWait waits otherwise than the emitter. With a Timeout of 0 nothing is asked: the call queues
// the proposals and fails with *WaitTimeoutError.
func WithWait(w WaitPolicy) CallOption {
	return func(c *call) {
		timeout := w.Timeout
		c.wait = w.withDefaults()
		c.wait.Timeout = timeout
	}
}

// WithAllowDegraded is Config.AllowDegraded for one call.
func WithAllowDegraded(allow bool) CallOption {
	return func(c *call) { c.degrade = allow }
}

// settle writes the same result for all items of a batch.
func (c *call) settle(b batch, r Result) {
	r.Mode, r.API, r.Notice = orDefault(r.Mode, c.mode), b.api(), orDefault(r.Notice, c.notice)
	for _, it := range b.items {
		c.results[it.index] = r
	}
}

// api returns the way that a batch takes.
func (b batch) api() API {
	if b.kind == kindRestli || b.kind == kindRestliDelete {
		return APIRestli
	}
	return APIOpenAPI
}

// summary returns the error of a call: nil when each proposal got what its mode asks for.
func (c *call) summary() error {
	e := &BatchError{Total: len(c.results)}
	for _, r := range c.results {
		if r.Err == nil {
			continue
		}
		if e.First == nil {
			e.First = r.Err
		}
		switch r.State {
		case Queued:
			e.Unconfirmed++
		case Unknown:
			e.Unknown++
		case Unsent:
			e.Unsent++
		case Failed, Written, Confirmed:
			e.Failed++
		}
	}
	if e.First == nil {
		return nil
	}
	return e
}

// lost returns the state of what was sent when its context ended or no answer came.
func lost(ctx context.Context, err *Error) State {
	if ctx.Err() != nil || err == nil || err.Status == 0 || err.Status >= 500 {
		return Unknown
	}
	return Failed
}
