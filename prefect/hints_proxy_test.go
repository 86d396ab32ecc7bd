package prefect_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// tunnelProxy is an HTTP proxy that opens tunnels for ann alone, and does nothing else.
type tunnelProxy struct {
	server *httptest.Server
	asked  atomic.Int64
}

func newTunnelProxy(t *testing.T) *tunnelProxy {
	t.Helper()
	p := &tunnelProxy{}
	p.server = httptest.NewServer(p)
	t.Cleanup(p.server.Close)
	return p
}

func (p *tunnelProxy) url(t *testing.T, user string) *url.URL {
	t.Helper()
	address, err := url.Parse("http://" + user + "@" + p.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func (p *tunnelProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked.Add(1)
	switch {
	case r.Header.Get("Proxy-Authorization") != annsAuthorization():
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	case r.Method != http.MethodConnect:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	far, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		far.Close()
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(way[1], way[0])
			near.Close()
			far.Close()
		})
	}
	both.Wait()
}
