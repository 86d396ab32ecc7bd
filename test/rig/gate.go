package rig

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// Gate stands in front of a server on a port of its own. While it is shut the port refuses connections, as that of a
// server that has ended does.
type Gate struct {
	t      testing.TB
	addr   string
	target string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]struct{}
	work     sync.WaitGroup
}

// NewGate opens a gate to a server at host:port. It shuts with the test.
func NewGate(t testing.TB, target string) *Gate {
	t.Helper()
	g := &Gate{t: t, addr: "127.0.0.1:0", target: target, conns: map[net.Conn]struct{}{}}
	g.Open()
	g.addr = g.listener.Addr().String()
	t.Cleanup(func() {
		g.Shut()
		g.work.Wait()
	})
	return g
}

// Addr is where the gate listens, as host:port.
func (g *Gate) Addr() string { return g.addr }

// Open lets connections through again.
func (g *Gate) Open() {
	g.t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", g.addr)
	if err != nil {
		g.t.Fatalf("opening the gate to %s: %v", g.target, err)
	}
	g.mu.Lock()
	g.listener = listener
	g.mu.Unlock()
	g.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			g.work.Go(func() { g.forward(conn) })
		}
	})
}

// Shut refuses new connections and breaks those that there are.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listener.Close()
	for conn := range g.conns {
		conn.Close()
	}
}

func (g *Gate) forward(client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(context.Background(), "tcp", g.target)
	if err != nil {
		client.Close()
		return
	}
	g.keep(client, server)
	defer g.drop(client, server)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			_, _ = io.Copy(way[1], way[0])
			client.Close()
			server.Close()
		})
	}
	both.Wait()
}

func (g *Gate) keep(conns ...net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range conns {
		g.conns[c] = struct{}{}
	}
}

func (g *Gate) drop(conns ...net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range conns {
		c.Close()
		delete(g.conns, c)
	}
}
