package main

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// proxy stands between the listener and Prefect and counts the requests. A websocket is one.
type proxy struct {
	url string // of the API behind it

	mu     sync.Mutex
	counts map[string]int // by path below the API
}

func (b *bench) newProxy(api string) *proxy {
	target, err := url.Parse(api)
	if err != nil {
		b.Fatal(err)
	}
	p := &proxy{counts: map[string]int{}}
	forward := &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host },
		ErrorLog: log.New(io.Discard, "", 0), // a listener that stops breaks off what it asked for
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.note(strings.TrimPrefix(r.URL.Path, target.Path+"/"))
		forward.ServeHTTP(w, r)
	})}
	listener := b.listen()
	p.url = "http://" + listener.Addr().String() + target.Path
	b.serve(server, listener)
	return p
}

func (p *proxy) note(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[path]++
}

// count is how many requests there were so far.
func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := 0
	for _, n := range p.counts {
		all += n
	}
	return all
}

// String says how many requests there were of each kind, the most frequent first.
func (p *proxy) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	paths := slices.SortedFunc(maps.Keys(p.counts), func(a, b string) int {
		return cmp.Or(p.counts[b]-p.counts[a], strings.Compare(a, b))
	})
	words := make([]string, len(paths))
	for i, path := range paths {
		words[i] = fmt.Sprintf("%d %s", p.counts[path], path)
	}
	return strings.Join(words, ", ")
}
