package prefect

import (
	"context"
	"slices"
	"sync"
)

// nothingTold are the states, by the names that Prefect gives them, of which nothing is told, and the other events of
// runs of which that holds. Whatever has another name is heard of.
var nothingTold = []string{
	"Scheduled", "Late", "AwaitingRetry", "AwaitingConcurrencySlot", "Pending", "Paused", "Suspended", "Cancelling",
	"heartbeat",
}

// eventNames is the server's filter of events by name: all that have one of the names or begin with one of the prefixes,
// without the excluded.
type eventNames struct {
	Name    []string `json:"name,omitempty"`
	Prefix  []string `json:"prefix,omitempty"`
	Exclude []string `json:"exclude_name,omitempty"`
}

// streams are the parts of the events that are heard, each over a connection of its own. A server keeps 256 events for a
// connection and throws away without a word what comes on top. Of 300 tasks that start together come as many events for
// each state; heard over one connection most were lost, the flow's own among them.
func streams() []eventNames {
	const started = taskRunEvents + "Running"
	return []eventNames{
		{Prefix: []string{flowRunEvents, assetEvents}, Exclude: named(flowRunEvents)},
		{Name: []string{started}},
		{Prefix: []string{taskRunEvents}, Exclude: append(named(taskRunEvents), started)},
	}
}

func named(prefix string) []string {
	names := slices.Clone(nothingTold)
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

// openSockets connects for all streams, or for none.
func (c *Client) openSockets(ctx context.Context) ([]*socket, error) {
	var all []*socket
	for _, names := range streams() {
		s, err := c.openSocket(ctx, names)
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func closeAll(sockets []*socket) {
	for _, s := range sockets {
		s.close()
	}
}

// listenAll hands on what the events tell until the first of the connections ends, and returns why it did. It calls hear
// from several goroutines at once.
func listenAll(ctx context.Context, sockets []*socket, hear func(Hint)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var ending sync.Mutex
	var first error
	var listening sync.WaitGroup
	for i, s := range sockets {
		listening.Go(func() {
			err := s.listen(ctx, func(hint Hint) {
				hint.Stream = i
				hear(hint)
			})
			ending.Lock()
			defer ending.Unlock()
			if first == nil {
				first = err
				stop()
			}
		})
	}
	listening.Wait()
	return first
}
