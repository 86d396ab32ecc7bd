package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// What a Config says by leaving fields zero.
const (
	DefaultTimeout        = 30 * time.Second
	DefaultWaitTimeout    = time.Hour
	DefaultChunkProposals = 200
	DefaultChunkBytes     = 15 << 20
	DefaultClient         = "prefect-openlineage-listener"
	DefaultClientMode     = "SDK"
	DefaultServerRefresh  = time.Hour
)

// Config is how to reach a server and how to send. Only Server is needed.
type Config struct {
	// Server is GMS's address, with the path under which it stands: http://gms:8080, https://host/api/gms,
	// https://name.acryl.io/gms. See ServerURL for what is put right in it.
	Server string
	// Token is a personal access token, sent as Authorization: Bearer.
	Token string
	// TokenSource hands out tokens that change, and goes before Token.
	TokenSource TokenSource
	// SystemClientID and SystemClientSecret are DataHub's own credentials between its services. They count when there is
	// no token, and are sent as GMS takes them: Authorization: Basic id:secret, not encoded.
	SystemClientID, SystemClientSecret string
	// Headers are added to every request and go before the emitter's own of the same name.
	Headers map[string]string
	TLS     TLS
	// Proxy chooses the proxy of a request, such as http.ProxyFromEnvironment; nil: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Transport replaces the connections that the emitter makes. TLS, Proxy and ConnectTimeout are then its matter.
	Transport http.RoundTripper

	// ConnectTimeout bounds connecting and the TLS handshake, each; ReadTimeout every stretch without a byte in either
	// direction. 0: DefaultTimeout. Neither bounds a call, which may retry and wait: its context does.
	ConnectTimeout, ReadTimeout time.Duration
	Retry                       RetryPolicy

	// Mode is the emitter's mode; empty: SyncPrimary.
	Mode Mode
	API  API
	Wait WaitPolicy
	// AllowDegraded sends a proposal in the nearest mode where the server can't do the one asked for, with a Notice in the
	// result, where the call would otherwise fail with ErrWaitUnsupported.
	AllowDegraded bool
	// RespectSyncMarker makes a call synchronous if the system metadata of one of its proposals has the property
	// emitModeMarker with the value sync.
	RespectSyncMarker bool

	// ChunkProposals and ChunkBytes bound what one request of EmitAll carries. A proposal that is larger than ChunkBytes
	// is sent alone. 0: DefaultChunkProposals and DefaultChunkBytes.
	ChunkProposals, ChunkBytes int
	// Parallel is how many chunks of one EmitAll are under way at once. 0 and 1: one after the other, in the order given.
	// With more, only the proposals of one entity keep their order among themselves.
	Parallel int

	// Client and ClientVersion name the program, in the User-Agent and in the system metadata of what it writes (clientId,
	// clientVersion). Client empty: DefaultClient.
	Client, ClientVersion string
	// ClientMode is what X-DataHub-Client-Mode says: SDK, INGESTION or CLI. Empty: SDK.
	ClientMode string
	// RunID is the run id of proposals that have none; empty: mcp.DefaultRunID.
	RunID string

	// ServerRefresh is for how long the answer of /config counts; 0: DefaultServerRefresh.
	ServerRefresh time.Duration
	// Now and Sleep are the clock; nil: the system's. Sleep returns early with the context's cause.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	// Observe is told of each attempt at a request; nil: nobody is.
	Observe func(Attempt)
}

// TokenSource hands out the token of each attempt. It is called from several goroutines.
type TokenSource interface {
	Token(ctx context.Context) (string, error)
}

// TokenRefresher is a TokenSource that can do better after a token was answered with 401: the request is then made once
// more. Refused returns whether the next token may be another one.
type TokenRefresher interface {
	TokenSource
	Refused(token string) bool
}

// Attempt is one try at a request. It holds no secret.
type Attempt struct {
	Method, URL string
	// Number counts the tries at one request from 1.
	Number int
	// Status is 0 and Err set when there was no answer.
	Status   int
	Err      error
	Duration time.Duration
}

// WaitPolicy is how AsyncWait polls.
type WaitPolicy struct {
	// Timeout bounds the waiting of one call; 0: DefaultWaitTimeout.
	Timeout time.Duration
	// First is the wait before the first poll; 0: 250 ms; negative: none.
	First time.Duration
	// Next is the wait before the second poll, doubled each time up to Max; 0: 1 s and 1 min.
	Next, Max time.Duration
}

func (w WaitPolicy) withDefaults() WaitPolicy {
	w.Timeout = orDefault(w.Timeout, DefaultWaitTimeout)
	w.First = max(orDefault(w.First, 250*time.Millisecond), 0)
	w.Next = orDefault(w.Next, time.Second)
	w.Max = orDefault(w.Max, time.Minute)
	return w
}

// orDefault returns v, else the default where v is zero.
func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

func (c Config) withDefaults() Config {
	c.ConnectTimeout = orDefault(c.ConnectTimeout, DefaultTimeout)
	c.ReadTimeout = orDefault(c.ReadTimeout, DefaultTimeout)
	c.Retry = c.Retry.withDefaults()
	c.Wait = c.Wait.withDefaults()
	c.Mode = orDefault(c.Mode, SyncPrimary)
	c.ChunkProposals = orDefault(c.ChunkProposals, DefaultChunkProposals)
	c.ChunkBytes = orDefault(c.ChunkBytes, DefaultChunkBytes)
	c.Parallel = max(c.Parallel, 1)
	c.Client = orDefault(c.Client, DefaultClient)
	c.ClientMode = orDefault(strings.ToUpper(c.ClientMode), DefaultClientMode)
	c.ServerRefresh = orDefault(c.ServerRefresh, DefaultServerRefresh)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return c
}

// validate says what is wrong with a config that has its defaults, all of it.
func (c Config) validate() error {
	var problems []error
	if _, err := ParseMode(string(c.Mode)); err != nil {
		problems = append(problems, err)
	}
	if _, err := ParseAPI(string(c.API)); err != nil {
		problems = append(problems, err)
	}
	if !slices.Contains([]string{"SDK", "INGESTION", "CLI"}, c.ClientMode) {
		problems = append(problems, fmt.Errorf("the client mode is %q: use SDK, INGESTION or CLI", c.ClientMode))
	}
	if (c.SystemClientID == "") != (c.SystemClientSecret == "") {
		problems = append(problems, errors.New("the system client's id and secret go together, and one of them is missing"))
	}
	for _, d := range []time.Duration{c.ConnectTimeout, c.ReadTimeout, c.Wait.Timeout, c.Wait.Next, c.Wait.Max, c.ServerRefresh} {
		if d < 0 {
			problems = append(problems, fmt.Errorf("a time of %s is negative", d))
		}
	}
	if c.ChunkProposals < 0 || c.ChunkBytes < 0 {
		problems = append(problems, errors.New("a chunk's limit is negative"))
	}
	if c.TLS.Key != "" && c.TLS.Cert == "" {
		problems = append(problems, errors.New("a client key without its certificate"))
	}
	for name, value := range c.Headers {
		if !validHeader(name, value) {
			problems = append(problems, fmt.Errorf("the header %q has a name or value that HTTP can't carry", name))
		}
	}
	for what, value := range map[string]string{
		"token": c.Token, "system client": c.SystemClientID + c.SystemClientSecret, "client": c.Client + c.ClientVersion,
	} {
		if !validHeader("X", value) {
			problems = append(problems, fmt.Errorf("the %s holds a line break or another character that HTTP can't carry", what))
		}
	}
	return errors.Join(problems...)
}

// validHeader reports whether HTTP can carry a header: RFC 9110, 5.1 and 5.5.
func validHeader(name, value string) bool {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}) {
		return false
	}
	return !strings.ContainsFunc(value, func(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f })
}

// sleep waits for d or for the context.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
