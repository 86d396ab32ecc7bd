package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// isolationBudget bounds the failing requests that finding the culprits in one chunk may cost, for the troubles of which
// it is not clear that they are about a proposal.
const isolationBudget = 16

// lane sends batches one after the other. It owns the results of its items.
type lane struct {
	emitter *Emitter
	call    *call
	traces  []*trace
	// failed says that the batch before failed as a whole, with a status that may but need not be about its content.
	failed bool
	// stop is why nothing more is to be sent.
	stop error
}

func (l *lane) run(ctx context.Context, batches []batch) {
	for i, b := range batches {
		stop := l.send(ctx, b)
		if stop == nil {
			continue
		}
		for _, unsent := range batches[i+1:] {
			l.call.settle(unsent, Result{State: Unsent, Err: fmt.Errorf("%w: %w", ErrUnsent, stop)})
		}
		return
	}
}

// send sends a batch, in parts where it is refused, and returns why later ones need not be tried.
func (l *lane) send(ctx context.Context, b batch) error {
	err := l.post(ctx, b, l.emitter.client)
	if err == nil {
		l.failed = false
		return nil
	}
	problem, ok := errors.AsType[*Error](err)
	if !ok || ctx.Err() != nil {
		l.call.settle(b, Result{State: lost(ctx, problem), Err: err})
		return err
	}
	if problem.refused() {
		l.failed = false
		if len(b.items) > 1 {
			l.isolate(ctx, b, err, nil)
			return l.stop
		}
		l.call.settle(b, Result{State: Failed, Status: problem.Status, Err: err})
		return nil
	}
	if !mayBlameOne(problem.Status) || errors.Is(err, ErrNotGMS) {
		l.call.settle(b, Result{State: lost(ctx, problem), Status: problem.Status, Err: err})
		return err
	}
	passed := false
	if len(b.items) > 1 {
		budget := isolationBudget
		passed = l.isolate(ctx, b, err, &budget)
	} else {
		l.call.settle(b, Result{State: lost(ctx, problem), Status: problem.Status, Err: err})
	}
	before := l.failed
	l.failed = !passed
	if l.stop == nil && before && l.failed {
		return err // two in a row: the server is in trouble, not a proposal
	}
	return l.stop
}

// mayBlameOne reports whether a status may be about one proposal of a batch as well as about the server or the token:
// GMS answers 403 when the token's owner may not write one of the entities, 404 for an entity type that it does not know,
// and 500 for whatever it did not foresee.
func mayBlameOne(status int) bool {
	return status == http.StatusForbidden || status == http.StatusNotFound || status == http.StatusInternalServerError
}

// isolate sends the halves of a batch that failed as a whole, and their halves, until each proposal's own answer is
// known. budget bounds the failing requests, nil does not; what is left when it is used up gets the batch's error. It
// returns whether anything was taken.
func (l *lane) isolate(ctx context.Context, b batch, cause error, budget *int) (passed bool) {
	whole, _ := errors.AsType[*Error](cause)
	for _, half := range b.halves() {
		switch {
		case l.stop != nil && whole.refused():
			l.call.settle(half, Result{State: Unsent, Err: fmt.Errorf("%w: %w", ErrUnsent, l.stop)})
			continue
		case l.stop != nil, budget != nil && *budget <= 0:
			l.call.settle(half, Result{State: lost(ctx, whole), Status: statusOf(whole), Err: cause})
			continue
		}
		err := l.post(ctx, half, l.emitter.client.sparing())
		if err == nil {
			passed = true
			continue
		}
		if budget != nil {
			*budget--
		}
		problem, ok := errors.AsType[*Error](err)
		if ok && ctx.Err() == nil && (problem.refused() || mayBlameOne(problem.Status)) {
			if len(half.items) > 1 {
				passed = l.isolate(ctx, half, err, budget) || passed
				continue
			}
		} else {
			l.stop = err
		}
		l.call.settle(half, Result{State: lost(ctx, problem), Status: statusOf(problem), Err: err})
	}
	return passed
}

func statusOf(e *Error) int {
	if e == nil {
		return 0
	}
	return e.Status
}

// post makes the request of a batch and settles it when it is taken.
func (l *lane) post(ctx context.Context, b batch, c *client) error {
	mode := l.call.mode
	r, err := b.request(mode, l.call.single)
	if err != nil {
		return err
	}
	ans, err := c.do(ctx, r)
	if err != nil {
		return l.explainWait(ctx, b, c, err)
	}
	result := Result{State: Written, Status: ans.status, TraceID: traceID(ans.header)}
	if b.plain {
		result.Mode, result.Notice = SyncPrimary, "in the primary store only: the server is too old to wait for the search index"
	}
	if mode.async() && !b.kind.deletes() {
		result.State = Queued
		if mode == AsyncWait {
			l.expect(b, &result)
		}
	}
	l.call.settle(b, result)
	return nil
}

// expect notes a queued batch for the wait, and says in its result where the server gave nothing to ask by.
func (l *lane) expect(b batch, result *Result) {
	if result.TraceID != "" {
		l.traces = append(l.traces, newTrace(result.TraceID, b))
		return
	}
	if l.call.degrade {
		result.Notice = "queued only: the answer has no trace to ask by"
	} else {
		result.Err = fmt.Errorf("%w: it was queued, and the answer has no traceparent to ask by", ErrWaitUnsupported)
	}
}

// explainWait looks at a refusal that may come from the header with which SyncWait asks for the search index: servers
// older than the headers of a proposal refuse the field over Rest.li.
func (l *lane) explainWait(ctx context.Context, b batch, c *client, err error) error {
	problem, ok := errors.AsType[*Error](err)
	if !ok || l.call.mode != SyncWait || b.kind != kindRestli || b.plain || problem.Status != http.StatusBadRequest ||
		!strings.Contains(problem.Message, tooOld) || !strings.Contains(problem.Message, "headers") {
		return err
	}
	if !l.call.degrade {
		return fmt.Errorf("%w: it is too old to wait for the search index: %w", ErrWaitUnsupported, err)
	}
	plain, err := b.withoutSyncHeader()
	if err != nil {
		return err
	}
	return l.post(ctx, plain, c)
}
