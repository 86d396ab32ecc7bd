package httptransport

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

// Options are what a transport gets besides its settings.
type Options struct {
	UserAgent string
	// Proxy chooses the way out. Nil: HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment, which never apply to
	// this machine itself.
	Proxy func(*http.Request) (*url.URL, error)
	// Now is the clock; nil: the system's.
	Now func() time.Time

	// The following are for kinds that are HTTP underneath and speak a dialect of their own.

	// Token gets bearer tokens in place of the settings' auth; nil: as the settings say.
	Token TokenFunc
	// Query returns what is added to the address for an event; nil: nothing.
	Query func(transport.Event) url.Values
	// Mark sets headers of an event's request beyond those that all have; nil: none.
	Mark func(event transport.Event, header http.Header)
	// Sign puts a signature on a request, of an event or a probe, once all else of it is settled, and returns what of it
	// no answer may repeat in a text. Its error is, or wraps, a *transport.Error. Nil: requests are not signed.
	Sign func(ctx context.Context, req *http.Request, body []byte) (secrets []string, err error)
	// Judge says what an answer means, nil that the consumer has the event, and in a few words without secrets what it
	// said and what to do; nil: transport.Classify.
	Judge func(transport.Answer) (*transport.Error, string)
}

// filled returns the options with what is left out in them.
func (o Options) filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	return o
}

// Transport posts events to one endpoint. It is safe for concurrent use.
type Transport struct {
	config    Config
	userAgent string
	now       func() time.Time
	mask      *mask.Masker
	auth      authorizer
	pool      *pool
	gzip      compression
	query     func(transport.Event) url.Values
	judge     func(transport.Answer) (*transport.Error, string)
	mark      func(transport.Event, http.Header)
	signing   func(context.Context, *http.Request, []byte) ([]string, error)
	// healthy: the last attempt was answered by a consumer that works. Only then is a failure tried again at once.
	healthy atomic.Bool
	close   sync.Once
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Prober    = (*Transport)(nil)
)

// New returns a transport. It opens no connection; its error is about a certificate file.
func New(c Config, o Options) (*Transport, error) {
	o = o.filled()
	m := newMasker(c)
	auth, err := newAuthorizer(c, m, o)
	if err != nil {
		return nil, err
	}
	pool, err := newPool(c, o, m)
	if err != nil {
		return nil, err
	}
	t := &Transport{
		config: c, userAgent: o.UserAgent, now: o.Now, mask: m, auth: auth, pool: pool, query: o.Query, judge: o.Judge,
		mark: o.Mark, signing: o.Sign,
	}
	t.healthy.Store(true)
	if c.GzipTaken {
		t.gzip.accept()
	}
	return t, nil
}

// Emit posts one event. See the package's text for the tries and the time that it takes.
func (t *Transport) Emit(ctx context.Context, event transport.Event) error {
	err := t.emit(ctx, event)
	refused, ok := errors.AsType[*transport.Error](err)
	t.healthy.Store(!ok || refused.Outcome == transport.Permanent)
	return err
}

// Close releases the connections. It may be called again.
func (t *Transport) Close(context.Context) error {
	t.close.Do(func() {
		t.pool.close()
		t.auth.close()
	})
	return nil
}

// attempt is one way of sending an event.
type attempt struct {
	event         transport.Event
	authorization string
	gzip          bool
	quick         bool // a failure may be tried again at once
}

func (t *Transport) emit(ctx context.Context, event transport.Event) error {
	authorization, err := t.auth.Authorization(ctx)
	if err != nil {
		return err
	}
	a := attempt{
		event: event, authorization: authorization,
		gzip:  t.config.Gzip && t.gzip.wanted(),
		quick: t.healthy.Load(),
	}
	e := t.post(ctx, a)
	if e != nil && e.Status == http.StatusUnauthorized && t.auth.Refused(authorization) {
		// The token was revoked, or the key's file holds a new one: once more with that.
		if a.authorization, err = t.auth.Authorization(ctx); err != nil {
			return err
		}
		a.quick = false
		e = t.post(ctx, a)
	}
	if a.gzip && t.gzip.blamed(e) {
		a.gzip, a.quick = false, false
		if e = t.post(ctx, a); e == nil {
			t.gzip.refuse()
		}
	}
	if e == nil {
		if a.gzip {
			t.gzip.accept()
		}
		return nil
	}
	return e
}
