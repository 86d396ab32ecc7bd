package prefect

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// newSocketTransport returns the connections for websockets. Through an HTTP proxy a websocket needs a tunnel, plain
// ones too (RFC 6455, 4.1); net/http makes tunnels for https only.
func newSocketTransport(cfg Config, settings *tls.Config, base *url.URL) *http.Transport {
	t := newTransport(cfg, settings)
	t.Proxy = cfg.SocketProxy
	if base.Scheme != "http" {
		return t
	}
	tunnels := &tunnels{dial: cfg.DialContext, proxy: cfg.SocketProxy, to: base, tls: settings}
	t.DialContext = tunnels.open
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		proxy, err := cfg.SocketProxy(r)
		if err != nil || proxy == nil || tunnelled(proxy) {
			return nil, err
		}
		return proxy, nil
	}
	return t
}

func tunnelled(proxy *url.URL) bool { return proxy.Scheme == "http" || proxy.Scheme == "https" }

// tunnels opens connections through HTTP proxies.
type tunnels struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	proxy func(*http.Request) (*url.URL, error)
	to    *url.URL
	tls   *tls.Config
}

// open connects to an address, through a proxy where one is set for it.
func (t *tunnels) open(ctx context.Context, network, address string) (net.Conn, error) {
	proxy, err := t.proxy(&http.Request{URL: t.to})
	if err != nil {
		return nil, err
	}
	if proxy == nil || !tunnelled(proxy) {
		return t.dial(ctx, network, address)
	}
	conn, err := t.through(ctx, proxy, address)
	if err != nil {
		return nil, &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err}
	}
	return conn, nil
}

func (t *tunnels) through(ctx context.Context, proxy *url.URL, address string) (net.Conn, error) {
	conn, err := t.dial(ctx, "tcp", hostPort(proxy))
	if err != nil {
		return nil, err
	}
	if proxy.Scheme == "https" {
		settings := t.tls.Clone()
		settings.ServerName = proxy.Hostname()
		conn = tls.Client(conn, settings)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = ask(conn, proxy, address)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// ask has the proxy open the tunnel. Nothing of the tunnel's own can come before a websocket's server is asked, so
// nothing is lost with the reader.
func ask(conn net.Conn, proxy *url.URL, address string) error {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), request) //nolint:bodyclose // what follows is the tunnel's
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy opens no tunnel to %s: %w", address, errors.New(answer.Status))
	}
	return nil
}

func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	port := "80"
	if u.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
