package rig

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// SocketGate stands in front of a Prefect server and lets everything through, but can break the websockets with its
// events, or hold up what they carry, so that they are dead without a word.
type SocketGate struct {
	t        testing.TB
	target   string
	listener net.Listener
	work     sync.WaitGroup

	mu      sync.Mutex
	frozen  bool
	thawed  chan struct{} // closed while nothing is frozen
	sockets map[net.Conn]struct{}
	all     map[net.Conn]struct{}
}

// NewSocketGate opens a gate to a server at host:port until the test ends.
func NewSocketGate(t testing.TB, target string) *SocketGate {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &SocketGate{t: t, target: target, listener: listener, thawed: make(chan struct{}),
		sockets: map[net.Conn]struct{}{}, all: map[net.Conn]struct{}{}}
	close(g.thawed)
	g.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			g.work.Go(func() { g.forward(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		g.Freeze(false)
		g.close(g.all)
		g.work.Wait()
	})
	return g
}

// Addr is where the gate listens, as host:port.
func (g *SocketGate) Addr() string { return g.listener.Addr().String() }

// Sockets is how many websockets go through the gate.
func (g *SocketGate) Sockets() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.sockets)
}

// Cut breaks all websockets.
func (g *SocketGate) Cut() { g.close(g.sockets) }

func (g *SocketGate) close(conns map[net.Conn]struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for conn := range conns {
		conn.Close()
	}
}

// Freeze holds up what all websockets carry, those to come included, or lets it go on.
func (g *SocketGate) Freeze(frozen bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case frozen && !g.frozen:
		g.thawed = make(chan struct{})
	case !frozen && g.frozen:
		close(g.thawed)
	}
	g.frozen = frozen
}

// passable is closed while websockets carry what they are given.
func (g *SocketGate) passable() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.thawed
}

func (g *SocketGate) forward(client net.Conn) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	server, err := dialer.DialContext(context.Background(), "tcp", g.target)
	if err != nil {
		client.Close()
		return
	}
	first := make([]byte, 4096)
	n, _ := client.Read(first) // an error shows again when the rest is read
	socket := bytes.Contains(first[:n], []byte("/events/out "))
	g.mark(socket, true, client, server)
	defer g.mark(socket, false, client, server)
	if _, err := server.Write(first[:n]); err != nil {
		client.Close()
		server.Close()
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			g.carry(way[0], way[1], socket)
			client.Close()
			server.Close()
		})
	}
	both.Wait()
}

func (g *SocketGate) carry(from, to net.Conn, socket bool) {
	if !socket {
		_, _ = io.Copy(to, from)
		return
	}
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		<-g.passable()
		if _, broken := to.Write(piece[:n]); err != nil || broken != nil {
			return
		}
	}
}

func (g *SocketGate) mark(socket, open bool, conns ...net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, conn := range conns {
		if !open {
			conn.Close()
			delete(g.all, conn)
			delete(g.sockets, conn)
			continue
		}
		g.all[conn] = struct{}{}
		if socket && i == 0 {
			g.sockets[conn] = struct{}{}
		}
	}
}
