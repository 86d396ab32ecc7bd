package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// proxy stands between the listener and Prefect and counts the requests.
type proxy struct {
	url   string // of the API behind it
	count atomic.Int64
}

func (b *bench) newProxy(api string) *proxy {
	target, err := url.Parse(api)
	if err != nil {
		b.Fatal(err)
	}
	p := &proxy{}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
	}}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.count.Add(1)
		forward.ServeHTTP(w, r)
	})}
	listener := b.listen()
	p.url = "http://" + listener.Addr().String() + target.Path
	b.serve(server, listener)
	return p
}
