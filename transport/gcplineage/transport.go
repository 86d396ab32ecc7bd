package gcplineage

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
)

// Options are what a transport gets besides its settings.
type Options struct {
	UserAgent string
	// Proxy chooses the way out; nil: HTTPS_PROXY and the like.
	Proxy func(*http.Request) (*url.URL, error)
	// Now is the clock; nil: the system's.
	Now func() time.Time
	// Token gets tokens; nil: as the settings say.
	Token httptransport.TokenFunc
}

// Transport sends events to one project and location. It is safe for concurrent use.
type Transport struct {
	config Config
	http   *httptransport.Transport
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Prober    = (*Transport)(nil)
	_ transport.Reviewer  = (*Transport)(nil)
)

// New returns a transport. It opens no connection and reads no credentials: those are read when a token is needed, and
// again for each new one, so that a file that is exchanged needs no restart.
func New(c Config, o Options) (*Transport, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Token == nil {
		o.Token = newCredentials(c, o.Now).token
	}
	headers := map[string]string{}
	if c.QuotaProject != "" {
		headers["X-Goog-User-Project"] = c.QuotaProject
	}
	over, err := httptransport.New(httptransport.Config{
		URL:     c.at("/v1/" + c.parent() + ":processOpenLineageRunEvent"),
		Timeout: c.Timeout, Headers: headers, Retry: httptransport.DefaultRetry(), Parallel: httptransport.DefaultParallel,
	}, httptransport.Options{
		UserAgent: o.UserAgent, Proxy: o.Proxy, Now: o.Now, Token: o.Token, Judge: judge,
		Query: func(e transport.Event) url.Values { return url.Values{"requestId": {requestID(e)}} },
	})
	if err != nil {
		return nil, err
	}
	return &Transport{config: c, http: over}, nil
}

// at returns the address of a path of the service.
func (c Config) at(path string) *url.URL {
	u := *c.Endpoint
	u.Path += path
	return &u
}

// requestSpace is the namespace of request ids.
var requestSpace = uuid.MustParse("b1c1d7a2-6a2e-5d6c-9a55-0f0c7f1d3e70")

// requestID names a message: the same for the same copy of the same event, so that Google takes it once.
func requestID(e transport.Event) string {
	return uuid.NewSHA1(uuid.NewSHA1(requestSpace, []byte(e.Key)), e.Body).String()
}

// Emit sends Google's copy of an event, or its parts one after the other. Parts that Google has already are known again
// by their request ids when an event is sent anew for a later one.
func (t *Transport) Emit(ctx context.Context, event transport.Event) error {
	copies, err := t.config.copies(event)
	if err != nil {
		return err
	}
	for _, message := range copies {
		if err := t.http.Emit(ctx, message); err != nil {
			return err
		}
	}
	return nil
}

// Close releases the connections. It may be called again.
func (t *Transport) Close(ctx context.Context) error { return t.http.Close(ctx) }
