package gcplineage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

// scope is the only one that the Data Lineage API knows.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// credentials get tokens by Google's own library: of a service account's key, by workload identity federation, by
// impersonation, of a user's login, or from the metadata server of a machine in Google's cloud.
type credentials struct {
	path     string // empty: what the machine has
	universe string
	now      func() time.Time
	mask     *mask.Masker
}

func newCredentials(c Config, now func() time.Time) *credentials {
	return &credentials{path: c.Credentials, universe: c.Universe, now: now, mask: &mask.Masker{}}
}

// token gets one token. Everything is read anew for it, since a file may have been exchanged; the caller keeps the token
// while it lives. Only the metadata server is asked beside client, and without ctx: the library knows no other way.
func (c *credentials) token(ctx context.Context, client *http.Client) (string, time.Duration, error) {
	watch := &witness{ctx: ctx, next: client.Transport, mask: c.mask}
	watched := &http.Client{Transport: watch, Timeout: client.Timeout, CheckRedirect: client.CheckRedirect}
	source, err := c.find(context.WithValue(ctx, oauth2.HTTPClient, watched))
	if err != nil {
		return "", 0, hold(c.mask.Text(oneLine(err.Error())))
	}
	token, err := source.Token()
	if err != nil {
		return "", 0, c.failed(ctx, watch, err)
	}
	if token.Expiry.IsZero() {
		return token.AccessToken, 0, nil
	}
	return token.AccessToken, token.Expiry.Sub(c.now()), nil
}

// file is what is looked at of a credentials file.
type file struct {
	Type         string `json:"type"`
	PrivateKey   string `json:"private_key"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`
	Universe     string `json:"universe_domain"`
	Source       *file  `json:"source_credentials"`
}

// secrets are the values that no text may show.
func (f *file) secrets() []string {
	all := []string{f.PrivateKey, f.ClientSecret, f.RefreshToken}
	if f.Source != nil {
		all = append(all, f.Source.secrets()...)
	}
	return all
}

// find returns where tokens come from.
func (c *credentials) find(ctx context.Context) (oauth2.TokenSource, error) {
	if c.path == "" {
		found, err := google.FindDefaultCredentials(ctx, scope)
		if err != nil {
			return nil, fmt.Errorf("there are no default credentials on this machine: set credentials_path or GOOGLE_APPLICATION_CREDENTIALS to a file, or run in Google's cloud with a service account: %w", err)
		}
		return found.TokenSource, nil
	}
	text, err := httptransport.Secret{File: c.path}.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the credentials: %w", err)
	}
	var f file
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return nil, fmt.Errorf("%s is no credentials file: it holds no JSON object", c.path)
	}
	c.mask.Set("file", f.secrets()...)
	if f.Type == "" {
		return nil, fmt.Errorf("%s is no credentials file: it has no type, such as service_account or external_account", c.path)
	}
	universe := f.Universe
	if universe == "" {
		universe = DefaultUniverse
	}
	if universe != c.universe {
		return nil, fmt.Errorf("%s is for %s, and the settings are for %s: set universe_domain (or GOOGLE_CLOUD_UNIVERSE_DOMAIN)",
			c.path, universe, c.universe)
	}
	found, err := google.CredentialsFromJSONWithType(ctx, []byte(text), google.CredentialsType(f.Type), scope)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	return found.TokenSource, nil
}

// failed classes a token that could not be had by what was seen on the way, since the library's errors are texts.
func (c *credentials) failed(ctx context.Context, watch *witness, err error) error {
	said := c.mask.Text(oneLine(err.Error()))
	switch {
	case ctx.Err() != nil:
		return transport.ClassifyError(fmt.Errorf("getting a token: %w", context.Cause(ctx)))
	case watch.err != nil:
		e := *transport.ClassifyError(watch.err)
		e.Err = fmt.Errorf("getting a token from %s: %s", watch.from, c.mask.Text(oneLine(watch.err.Error())))
		return &e
	case watch.answer.Status != 0 && watch.answer.Status/100 != 2:
		e := transport.Classify(watch.answer)
		if e.Outcome != transport.Retry {
			e.Outcome, e.Reason = transport.Hold, transport.ReasonAuth
		}
		e.Status = 0 // the API itself said nothing
		e.Err = fmt.Errorf("getting a token: %s answered %s: %s", watch.from,
			transport.StatusLine(watch.answer.Status), oneLine(string(watch.answer.Body)))
		return e
	case unreachable(err):
		return &transport.Error{Outcome: transport.Retry, Reason: transport.ReasonConnection, Err: errors.New("getting a token: " + said)}
	case watch.from != "":
		return hold("getting a token: what " + watch.from + " answered is none: " + said)
	default:
		return hold("getting a token: " + said)
	}
}

// hold is what becomes of an event whose credentials are not to be had.
func hold(text string) *transport.Error {
	return &transport.Error{Outcome: transport.Hold, Reason: transport.ReasonAuth, Err: errors.New(text)}
}
