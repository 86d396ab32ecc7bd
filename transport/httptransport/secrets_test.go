package httptransport_test

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// What net/http says of a failure may hold the address, a redirect's too, and what the consumer sent.
func TestTextsOfTheNetworkHoldNoSecret(t *testing.T) {
	t.Parallel()
	gone := transporttest.NewSink(t)
	gone.Close()
	redirecting := transporttest.NewSink(t)
	redirecting.Script(transporttest.Always(to(307, gone.URL()+"/?token=red1rect-s3cr3t")))
	echoing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var server sync.WaitGroup
	server.Go(func() {
		for {
			conn, err := echoing.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write([]byte("HTTP/1.1 k3y-value?\r\n\r\n"))
			_ = conn.Close()
		}
	})
	defer server.Wait()
	defer echoing.Close()
	auth := map[string]any{"type": "api_key", "apiKey": "k3y-value"}
	tests := []struct {
		name, secret, prefix string
		values               map[string]any
	}{
		{"the address", "qu3ry-s3cr3t", "POST " + gone.URL() + "/x?***: dial tcp", map[string]any{"url": gone.URL(), "endpoint": "x?k=qu3ry-s3cr3t"}},
		{"a redirect", "red1rect-s3cr3t", "POST " + redirecting.URL() + "/api/v1/lineage: dial tcp", map[string]any{"url": redirecting.URL()}},
		{"a garbled answer", "k3y-value", "POST http://" + echoing.Addr().String() + "/api/v1/lineage: net/http: ", map[string]any{"url": "http://" + echoing.Addr().String(), "auth": auth}},
	}
	for _, tt := range tests {
		err := emit(t, build(t, with(map[string]any{"retry": fast}, tt.values)))
		if err == nil || strings.Contains(err.Error(), tt.secret) || !strings.HasPrefix(err.Error(), tt.prefix) {
			t.Errorf("%s: %v\nwant %s", tt.name, err, tt.prefix)
		}
	}
}
