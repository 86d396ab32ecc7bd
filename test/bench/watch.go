package main

import (
	"context"
	"sync"
	"time"
)

const (
	watchEvery = 50 * time.Millisecond
	// leastOverlap is how far a look reaches back at least behind the newest end that was seen: rows show out of order, and
	// a server with much to do shows them late.
	leastOverlap = 3 * time.Second
	mostOverlap  = 2 * time.Minute
)

// sight is when a state could first be read.
type sight struct {
	at    time.Time
	stamp time.Time // the state's own
}

// watch is a bare poller. It asks for what runs and for what ended lately, and notes when it sees each state first.
type watch struct {
	b      *bench
	api    *bare
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex // guards sights while it looks
	sights map[moment]sight
	newest time.Time     // end that was seen
	late   time.Duration // that a state showed at most
	looks  int
	began  time.Time
	err    error
}

func (b *bench) newWatch(api string) *watch {
	ctx, cancel := context.WithCancel(b.Context())
	w := &watch{b: b, api: newBare(api), cancel: cancel, sights: map[moment]sight{}, began: time.Now(), newest: time.Now()}
	w.done.Go(func() { w.run(ctx) })
	b.Cleanup(func() {
		cancel()
		w.done.Wait()
		w.api.close()
	})
	return w
}

func (w *watch) run(ctx context.Context) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		for _, resource := range []string{"flow_runs", "task_runs"} {
			if err := w.look(ctx, resource); err != nil {
				if ctx.Err() == nil {
					w.err = err
				}
				return
			}
		}
		w.looks++
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (w *watch) look(ctx context.Context, resource string) error {
	since := w.newest.Add(-min(leastOverlap+2*w.late, mostOverlap))
	for offset := 0; ; offset += pageSize {
		var page []bareRow
		err := w.api.list(ctx, resource, filter{
			"sort": "ID_DESC", "limit": pageSize, "offset": offset,
			resource: filter{
				"operator": "or_",
				"state":    filter{"type": oneOf([]string{"RUNNING"})},
				"end_time": filter{"after_": since.UTC()},
			},
		}, &page)
		if err != nil {
			return err
		}
		now := time.Now()
		for _, row := range page {
			w.see(row, now)
		}
		if len(page) < pageSize {
			return nil
		}
	}
}

func (w *watch) see(row bareRow, now time.Time) {
	if row.State == nil || row.Start == nil {
		return
	}
	w.note(moment{row.ID, false}, now, *row.Start)
	if row.End != nil {
		w.note(moment{row.ID, true}, now, *row.End)
		if row.End.After(w.newest) {
			w.newest = *row.End
		}
	}
}

func (w *watch) note(what moment, now, stamp time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, again := w.sights[what]; !again {
		w.sights[what] = sight{now, stamp}
		w.late = max(w.late, now.Sub(stamp))
	}
}

// seen is how many states it has seen.
func (w *watch) seen() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sights)
}

// end ends the watch and returns what it saw.
func (w *watch) end() map[moment]sight {
	w.cancel()
	w.done.Wait()
	if w.err != nil {
		w.b.Fatalf("the bare poller failed: %v", w.err)
	}
	return w.sights
}

// pace is how often it asked in truth.
func (w *watch) pace() time.Duration { return time.Since(w.began) / time.Duration(max(w.looks, 1)) }
