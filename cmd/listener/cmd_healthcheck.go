package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// healthcheckCmd asks a daemon's own health endpoints, for container engines: the image has no shell and no curl.
type healthcheckCmd struct {
	Ready   bool          `help:"Want it ready as well: Prefect was read lately, nothing is paused. Without it the process has to answer, no more."`
	Timeout time.Duration `default:"5s" placeholder:"DURATION" help:"How long the answer may take; 5s without it."`
}

// mostWords bounds what is read of an answer, in bytes.
const mostWords = 16 << 10

// Run asks. The exit code is 1 where the answer is not well.
func (c *healthcheckCmd) Run(ctx context.Context, p *process) error {
	if c.Timeout <= 0 {
		return usageError{fmt.Errorf("--timeout=%s: takes a duration above zero", c.Timeout)}
	}
	cfg, err := p.config()
	if err != nil {
		return err
	}
	host, err := healthHost(cfg.HTTP.Addr)
	if err != nil {
		return err
	}
	path := "/livez"
	if c.Ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking the listener: %w", err)
	}
	// No proxy of the environment: what is asked is this machine itself.
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("no answer from http://%s%s: %w", host, path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostWords))
	if err != nil {
		return fmt.Errorf("reading the answer of http://%s%s: %w", host, path, err)
	}
	words := strings.TrimSpace(printable(string(text)))
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("http://%s%s answers %d: %s", host, path, answer.StatusCode, strings.ReplaceAll(words, "\n", "; "))
	}
	if _, err := fmt.Fprintln(p.stdout, words); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// healthHost is the address under which this machine reaches what listens on addr.
func healthHost(addr string) (string, error) {
	if addr == config.OffAddr {
		return "", errors.New("LISTENER_HTTP_ADDR=off: the listener serves no health")
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("LISTENER_HTTP_ADDR=%s: %w", addr, err)
	}
	if port == "0" {
		return "", fmt.Errorf("LISTENER_HTTP_ADDR=%s: the listener took a free port, which nobody here knows; give it a fixed one", addr)
	}
	switch ip := net.ParseIP(host); {
	case host == "":
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified() && ip.To4() != nil:
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port), nil
}
