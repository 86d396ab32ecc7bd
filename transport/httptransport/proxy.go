package httptransport

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

// safeProxy keeps the proxy's password out of texts: that of an address it can't read would stand in the error.
func safeProxy(choose func(*http.Request) (*url.URL, error), m *mask.Masker) func(*http.Request) (*url.URL, error) {
	return func(req *http.Request) (*url.URL, error) {
		proxy, err := choose(req)
		if err != nil {
			return nil, &transport.Error{
				Outcome: transport.Hold, Reason: transport.ReasonProxy,
				Err: errors.New("the proxy's address in the environment cannot be read"),
			}
		}
		if proxy != nil && proxy.User != nil {
			password, _ := proxy.User.Password()
			m.Set("proxy "+proxy.Host, password, proxy.User.Username()+":"+password)
		}
		return proxy, nil
	}
}

// checkProxy classes a proxy's refusal to make a tunnel.
func checkProxy(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	outcome := transport.Hold
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		outcome = transport.Retry
	}
	return &transport.Error{
		Outcome: outcome, Reason: transport.ReasonProxy,
		Err: errors.New("the proxy answered " + transport.StatusLine(resp.StatusCode)),
	}
}
