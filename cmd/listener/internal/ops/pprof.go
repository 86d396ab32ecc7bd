package ops

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
)

// profiles returns the handlers of net/http/pprof on a mux of their own.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// listenLoopback listens for this machine alone: a profile shows what is in memory.
func listenLoopback(ctx context.Context, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if at, ok := listener.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		_ = listener.Close() // nothing was served on it
		return nil, fmt.Errorf("%s is not a loopback address", addr)
	}
	return listener, nil
}
