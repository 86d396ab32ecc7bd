package prefect

import (
	"context"
	"sync"
)

// aheadPages is how many pages a feed holds. They bridge the time in which a portion is stored, so that the server is
// never waited for with nothing asked of it.
const aheadPages = 6

// feeds are reads that run ahead of whoever takes what they bring, by a few pages each, so that reading and storing
// overlap. Their owner stops them, and waits for them, before it returns.
type feeds struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// newFeeds returns feeds and the context to start them with.
func newFeeds(ctx context.Context) (*feeds, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	return &feeds{cancel: cancel}, ctx
}

// stop ends all feeds, finished or not, and waits for them.
func (f *feeds) stop() {
	f.cancel()
	f.wg.Wait()
}

// feed is one read that runs ahead.
type feed struct {
	out chan Changes
	err error // of the read, once out is closed
}

// start begins a read. The read hands each page to emit.
func (f *feeds) start(ctx context.Context, read func(ctx context.Context, emit func(Changes) error) error) *feed {
	one := &feed{out: make(chan Changes, aheadPages)}
	f.wg.Go(func() {
		defer close(one.out)
		one.err = read(ctx, func(c Changes) error {
			select {
			case one.out <- c:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	return one
}

// each takes all that the read brings and returns its error.
func (f *feed) each(take func(Changes) error) error {
	for c := range f.out {
		if err := take(c); err != nil {
			return err
		}
	}
	return f.err
}
