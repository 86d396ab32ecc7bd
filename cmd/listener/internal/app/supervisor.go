package app

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Supervisor is what started the daemon and wants to hear how it is.
type Supervisor interface {
	// Ready tells that the start is over, and Stopping that the stop has begun.
	Ready() error
	Stopping() error
	// Alive is a sign of life. It is given only while reading goes on.
	Alive() error
	// Patience is how long the supervisor waits for a sign of life before it starts the daemon anew; 0: for ever.
	Patience() time.Duration
}

// longestStep is how long reading may take from one sign to the next besides one request and its wait under the cap on
// requests: a portion that is stored, the wait between two tries. It is generous, because a restart heals nothing but a
// program that is stuck.
const longestStep = 3 * time.Minute

// watched tells a supervisor how the daemon is. Without one it does nothing.
type watched struct {
	by  Supervisor // nil: nobody
	log *zap.Logger
	// step is how long reading may take from one sign to the next.
	step time.Duration

	mu    sync.Mutex
	until time.Time // reading will be heard of by then; zero: it has not begun
}

func newWatched(o Options) *watched {
	step := o.Config.Prefect.RequestTimeout + longestStep
	if rate := o.Config.Prefect.MaxRequestsPerSecond; rate > 0 {
		step += time.Duration(float64(time.Second) / rate)
	}
	return &watched{by: o.Supervisor, log: o.Log, step: step}
}

func (w *watched) started() {
	if w.by != nil {
		w.say(w.by.Ready())
	}
}

func (w *watched) stopping() {
	if w.by != nil {
		w.say(w.by.Stopping())
	}
}

// say logs what went wrong. The supervisor notices itself that it hears nothing.
func (w *watched) say(err error) {
	if err != nil {
		w.log.Warn("the supervisor could not be told how the listener is", zap.Error(err))
	}
}

// heard notes a sign of reading, which then rests for a while.
func (w *watched) heard(rest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = time.Now().Add(rest + w.step)
}

// listen takes each request under the context, and each answer, for a sign of reading. One poll makes many requests where
// there is much to catch up with, and a Prefect that is slow must not make the supervisor impatient.
func (w *watched) listen(ctx context.Context) context.Context {
	if w.by == nil || w.by.Patience() == 0 {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              func(string) { w.heard(0) },
		GotFirstResponseByte: func() { w.heard(0) },
	})
}

// run gives the supervisor signs of life, as long as reading gives some, until the context ends.
func (w *watched) run(ctx context.Context) {
	if w.by == nil || w.by.Patience() == 0 {
		return
	}
	tick := time.NewTicker(w.by.Patience() / 3)
	defer tick.Stop()
	stuck := false
	for {
		switch late := w.late(time.Now()); {
		case late <= 0:
			stuck = false
			w.say(w.by.Alive())
		case !stuck:
			stuck = true
			w.log.Error("reading is stuck; the supervisor gets no more signs of life and will start the listener anew",
				zap.Duration("late", late.Round(time.Second)))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// late is for how long reading should have been heard of.
func (w *watched) late(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until.IsZero() {
		return 0
	}
	return now.Sub(w.until)
}
