package prefect

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// How a lost or refused websocket is tried again.
const (
	firstReconnect = time.Second
	lastReconnect  = 30 * time.Second
	// refusedPause is between two tries at a server, or a proxy before it, that refuses the websocket: somebody has to
	// change something first.
	refusedPause = 5 * time.Minute
	// steady is how long a websocket has to last for the next reconnect to be a quick one again.
	steady = time.Minute
)

// Hint says that a run came into a state, as an event told it, or that something happened to an asset. It is no more than a
// reason to read what it names: events get lost, and come late, twice and out of order.
type Hint struct {
	Run  uuid.UUID
	Task bool // a task run; else a flow run
	// State and At are the state's type and timestamp. Empty: the event didn't say.
	State StateType
	At    time.Time
	// Asset: it is about an asset, whichever, and all else but Stream is empty.
	Asset bool
	// Stream is the number of the connection that brought it, from 0. Each loses events by itself.
	Stream int
}

// HintListener hears what Hints bring. Hint is called from several goroutines at once. No method may block: a server throws
// events away when they are taken too slowly.
type HintListener interface {
	// HintsUp tells that events are heard from now on. What happened before is not told.
	HintsUp()
	// HintsDown tells that none are heard any more, until HintsUp.
	HintsDown()
	// Hint tells of one run, or of an asset.
	Hint(Hint)
}

// Hints listens to a server's events over its websocket, /events/out, with the client's address, credentials, custom
// headers and TLS settings, and through a proxy of its own where one is set.
type Hints struct {
	client *Client
	to     HintListener
	log    *zap.Logger

	up    bool
	fails int    // connections in a row that did not last
	said  string // the kind of trouble that was logged last; empty: none
}

// Hints returns a listener to the server's events. It connects with Run.
func (c *Client) Hints(to HintListener, log *zap.Logger) *Hints {
	return &Hints{client: c, to: to, log: log}
}

// Run listens until the context ends, over as many connections as it takes. Trouble is logged once for each kind.
func (h *Hints) Run(ctx context.Context) {
	for {
		renewed := h.client.creds.renewed()
		began := time.Now()
		err := h.connect(ctx)
		if h.up {
			h.up = false
			h.to.HintsDown()
		}
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= steady {
			h.fails = 0
		}
		h.sayDown(err)
		timer := time.NewTimer(h.pause(err))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-renewed: // what was refused may pass now
			timer.Stop()
		case <-timer.C:
		}
	}
}

// connect listens until a connection ends, and returns why it did.
func (h *Hints) connect(ctx context.Context) error {
	sockets, err := h.client.openSockets(ctx)
	if err != nil {
		return err
	}
	defer closeAll(sockets)
	h.up = true
	h.to.HintsUp()
	h.sayUp()
	return listenAll(ctx, sockets, h.to.Hint)
}

// pause returns the time until the next try: with jitter, so that several listeners don't come back together.
func (h *Hints) pause(err error) time.Duration {
	h.fails++
	if fault, ok := errors.AsType[*Error](err); ok {
		if refused(fault) {
			return refusedPause + rand.N(refusedPause/5) //nolint:gosec // it spreads waits, it guards nothing
		}
		if fault.RetryAfter > 0 {
			return fault.RetryAfter
		}
	}
	ceiling := min(lastReconnect, firstReconnect<<min(h.fails-1, 10))
	return ceiling/2 + rand.N(ceiling/2) //nolint:gosec // as above
}

// refused says whether trying again soon is of no use.
func refused(fault *Error) bool { return fault.Kind != ErrUnavailable && fault.Kind != ErrTimeout } //nolint:errorlint // Kind is one of the package's own

func (h *Hints) sayUp() {
	h.said = ""
	h.log.Info("Prefect's events are heard over its websocket")
}

// sayDown warns where somebody should look: a server that has no events is as good as another, only slower.
func (h *Hints) sayDown(err error) {
	kind, never, none := "lost", true, false
	fault, ok := errors.AsType[*Error](err)
	if ok {
		kind, never, none = fault.Reason, refused(fault), fault.Kind == ErrRefused //nolint:errorlint // Kind is one of the package's own
	}
	if kind == h.said {
		return
	}
	h.said = kind
	switch {
	case none:
		h.log.Info("Prefect's events cannot be heard here; runs are found by polling alone (LISTENER_HINTS=off leaves the websocket out)", zap.Error(err))
	case never:
		h.log.Warn("Prefect's events cannot be heard; runs are found by polling alone (LISTENER_HINTS=off leaves the websocket out)", zap.Error(err))
	default:
		h.log.Info("Prefect's websocket is away; runs are found by polling alone until it is back", zap.Error(err))
	}
}

// TryHints connects, proves who is asking and hears a sign of life, and closes the connection again. Its error says in
// which way the websocket fails.
func (c *Client) TryHints(ctx context.Context) error {
	s, err := c.openSocket(ctx, streams()[0])
	if err != nil {
		return err
	}
	defer s.close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var ended error
	var listening sync.WaitGroup
	listening.Go(func() { ended = s.listen(ctx, func(Hint) {}) })
	err = s.ping(ctx)
	if err == nil || errors.Is(err, errNoPong) {
		stop()
	}
	listening.Wait()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoPong):
		return s.fault(ctx, c.socketRequest(context.WithoutCancel(ctx)), err)
	default:
		return ended // with the connection, and knows why it did
	}
}

// socketRequest stands for the websocket in errors.
func (c *Client) socketRequest(ctx context.Context) *http.Request {
	address := *c.base.JoinPath("events", "out")
	return (&http.Request{Method: http.MethodGet, URL: &address, Header: http.Header{}}).WithContext(ctx)
}
