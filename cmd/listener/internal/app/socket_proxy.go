package app

import (
	"net/http"
	"net/url"

	"golang.org/x/net/http/httpproxy"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// socketProxy returns the choice of the websocket's own proxy, nil where it has none. NO_PROXY holds for it as well.
func socketProxy(c config.Prefect) func(*http.Request) (*url.URL, error) {
	address := c.SocketProxy.Reveal()
	if address == "" {
		return nil
	}
	choose := (&httpproxy.Config{
		HTTPProxy: address, HTTPSProxy: address, NoProxy: httpproxy.FromEnvironment().NoProxy,
	}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}
