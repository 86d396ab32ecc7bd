package prefect_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prefect-openlineage/listener/prefect"
)

// handlerClient returns a client of a handler at a path of a loopback server.
func handlerClient(t *testing.T, handler http.Handler, path string) *prefect.Client {
	t.Helper()
	return handlerClientWith(t, handler, path, nil)
}

func handlerClientWith(t *testing.T, handler http.Handler, path string, change func(*prefect.Config)) *prefect.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	cfg := prefect.Config{URL: server.URL + path}
	if change != nil {
		change(&cfg)
	}
	client, err := prefect.NewClient(cfg, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func raws(values ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(values))
	for i, value := range values {
		out[i] = json.RawMessage(value)
	}
	return out
}

func rawMap(values map[string]string) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(values))
	for name, value := range values {
		out[name] = json.RawMessage(value)
	}
	return out
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func countDials(dial dialer, count *atomic.Int64) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		count.Add(1)
		return dial(ctx, network, address)
	}
}

func countOpen(dial dialer, count *atomic.Int64) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		count.Add(1)
		return &countedConn{Conn: conn, open: count}, nil
	}
}

type countedConn struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
