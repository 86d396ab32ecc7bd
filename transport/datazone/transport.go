package datazone

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
)

// Options are what a transport gets besides its settings.
type Options struct {
	UserAgent string
	// Proxy chooses the way out to DataZone; nil: HTTPS_PROXY and the like, which hold for AWS's token service in any case.
	Proxy func(*http.Request) (*url.URL, error)
	// Now is the clock; nil: the system's.
	Now func() time.Time
	// Credentials replace those of AWS's chain; nil: the chain.
	Credentials aws.CredentialsProvider
}

// Transport posts events to one domain. It is safe for concurrent use.
type Transport struct {
	config Config
	keeper *keeper
	about  *url.URL
	// overridden: the address is not the region's own.
	overridden bool
	http       *httptransport.Transport
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Prober    = (*Transport)(nil)
)

// Errors of New that are about the region, and about a profile that is in none of AWS's shared files.
var (
	ErrNoRegion = errors.New("is missing: set it, or AWS_REGION, or region in AWS's shared configuration file")
	ErrRegion   = errors.New("is not a region: look at AWS_REGION and at AWS's shared configuration file")
	ErrProfile  = errors.New("there is no such profile in AWS's shared files")
)

// New returns a transport. It opens no connection and asks nobody for credentials; its error is about AWS's variables and
// shared files, or a certificate file.
func New(c Config, o Options) (*Transport, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	found, err := load(context.Background(), c)
	if err != nil {
		return nil, err
	}
	if o.Credentials != nil {
		found.Credentials = o.Credentials
	}
	c.Region = found.Region
	overridden := c.Endpoint != nil
	switch {
	case c.Region == "":
		return nil, ErrNoRegion
	case !IsRegion(c.Region):
		return nil, ErrRegion
	case c.Endpoint == nil:
		c.Endpoint = regional(c.Region, c.FIPS)
	}
	t := &Transport{config: c, keeper: &keeper{provider: found.Credentials}, overridden: overridden}
	events, about := eventsAt(c.Endpoint, c.Domain)
	t.about = about
	t.http, err = httptransport.New(httptransport.Config{
		URL: events, Timeout: c.Timeout, Retry: httptransport.DefaultRetry(), Parallel: httptransport.DefaultParallel,
		TLS: httptransport.TLS{CA: c.CA},
	}, httptransport.Options{
		UserAgent: o.UserAgent, Proxy: o.Proxy, Now: o.Now,
		Judge: func(a transport.Answer) (*transport.Error, string) { return judge(a, t.keeper.refused) },
		Sign:  newSigner(t.keeper, c.Region, o.Now).sign,
		Mark:  mark,
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Emit posts one event.
func (t *Transport) Emit(ctx context.Context, event transport.Event) error {
	before := t.keeper.expired.Load()
	err := t.http.Emit(ctx, event)
	e, ok := errors.AsType[*transport.Error](err)
	if ok && e.Reason == transport.ReasonAuth && t.keeper.expired.Load() != before {
		return t.http.Emit(ctx, event) // once more, with credentials that were fetched anew
	}
	return err
}

// Close releases the connections. It may be called again.
func (t *Transport) Close(ctx context.Context) error { return t.http.Close(ctx) }

// Parallel returns how many events may be under way at once.
func (t *Transport) Parallel() int { return httptransport.DefaultParallel }

// Target returns where events are posted, for people and as an identity.
func (t *Transport) Target() string {
	events, _ := eventsAt(t.config.Endpoint, t.config.Domain)
	return httptransport.Display(events)
}

// Settings returns the effective settings under their documented names, defaults included. No secret is among them.
func (t *Transport) Settings() map[string]any {
	c := t.config
	shown := map[string]any{
		"domainId": c.Domain, "region": c.Region, "timeout": c.Timeout.String(),
		"max_event_bytes": c.MaxBytes, "parallel": t.Parallel(),
	}
	if t.overridden {
		shown["endpointOverride"] = httptransport.Display(c.Endpoint)
	}
	for key, value := range map[string]string{"aws_profile": c.Profile, "role_arn": c.Role} {
		if value != "" {
			shown[key] = value
		}
	}
	return shown
}
