package kafka

import "sync"

// settler runs callbacks, one after another, on a goroutine of its own. What settles proposals, franz-go's promises
// among it, never waits for a callback, so a callback may emit.
type settler struct {
	mu      sync.Mutex
	queue   []func()
	running sync.WaitGroup
	wake    chan struct{} // holds one
	stop    chan struct{}
}

func newSettler() *settler {
	s := &settler{wake: make(chan struct{}, 1), stop: make(chan struct{})}
	s.running.Go(s.run)
	return s
}

// add has f called soon. The queue has no limit of its own: what is in it still has its room in the buffer.
func (s *settler) add(f func()) {
	s.mu.Lock()
	s.queue = append(s.queue, f)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *settler) run() {
	for {
		s.drain()
		select {
		case <-s.wake:
		case <-s.stop:
			s.drain()
			return
		}
	}
}

func (s *settler) drain() {
	for {
		s.mu.Lock()
		batch := s.queue
		s.queue = nil
		s.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, f := range batch {
			f()
		}
	}
}

// close runs what is queued and waits. Nothing may be added once it was called.
func (s *settler) close() {
	close(s.stop)
	s.running.Wait()
}
