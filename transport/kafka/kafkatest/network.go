package kafkatest

import (
	"context"
	"net"
	"sync"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

// firstPort is the port of the first listener of a network in memory.
const firstPort = 40000

// Network is a network in memory. Waiting for it lets time pass in a bubble of testing/synctest, which waiting for a
// real one does not.
type Network struct {
	mu     sync.Mutex
	halls  map[string]*hall // by address
	open   map[net.Conn]bool
	broken bool
}

// Listen makes brokers listen on the network.
func (n *Network) Listen() kfake.Opt {
	return kfake.ListenFn(func(string, string) (net.Listener, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.halls == nil {
			n.halls, n.open = map[string]*hall{}, map[net.Conn]bool{}
		}
		h := &hall{
			at:   &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: firstPort + len(n.halls)},
			come: make(chan net.Conn), closed: make(chan struct{}),
		}
		n.halls[h.at.String()] = h
		return h, nil
	})
}

// Dial connects to a listener.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	refused := &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	n.mu.Lock()
	h, broken := n.halls[address], n.broken
	n.mu.Unlock()
	if h == nil || broken {
		return nil, refused
	}
	here, there := net.Pipe()
	select {
	case h.come <- there:
	case <-h.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open[here] = true
	return here, nil
}

// Break cuts all connections and refuses new ones until Mend.
func (n *Network) Break() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = true
	for conn := range n.open {
		_ = conn.Close()
	}
	clear(n.open)
}

// Mend ends what Break began.
func (n *Network) Mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = false
}

// hall is a listener.
type hall struct {
	at     net.Addr
	come   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (h *hall) Accept() (net.Conn, error) {
	select {
	case conn := <-h.come:
		return conn, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *hall) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

func (h *hall) Addr() net.Addr { return h.at }
