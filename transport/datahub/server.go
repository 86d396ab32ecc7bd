package datahub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
	"github.com/prefect-openlineage/listener/transport/settings"
)

const (
	// DefaultTimeout bounds connecting and each silence of the server.
	DefaultTimeout = 30 * time.Second
	// DefaultWaitTimeout is how long ASYNC_WAIT waits for DataHub to confirm. What is not confirmed by then is sent again.
	DefaultWaitTimeout = time.Minute
	// DefaultRetries is how often a request that failed is made again at once. Longer waits are the outbox's matter.
	DefaultRetries = 1
	maxRetries     = 4
	// maxPause is the longest pause within one delivery. What needs a longer one goes back to the outbox, which lets the
	// events of other runs pass meanwhile.
	maxPause = 2 * time.Second
)

// errLater says that a try would have to wait for longer than one delivery may take.
var errLater = errors.New("the next try has to wait")

// ServerConfig is how DataHub's server is reached.
type ServerConfig struct {
	URL *url.URL // nil: the address could not be read
	// Token is a personal access token, TokenFile the path of a file that holds one and is read for each request.
	Token, TokenFile string
	// SystemClientID and SystemClientSecret count when there is no token.
	SystemClientID, SystemClientSecret string
	Mode                               rest.Mode
	API                                rest.API
	Timeout, WaitTimeout               time.Duration
	Retries                            int
	Headers                            map[string]string
	TLS                                rest.TLS

	address string // as it is written
}

func parseServer(s *settings.Section, getenv func(string) string) ServerConfig {
	c := ServerConfig{
		address: s.String("url"), Token: s.String("token"), TokenFile: s.String("tokenFile"),
		SystemClientID: s.String("system_client_id"), SystemClientSecret: s.String("system_client_secret"),
		Timeout:     s.Seconds(DefaultTimeout, "timeout", "timeout_sec"),
		WaitTimeout: s.Seconds(DefaultWaitTimeout, "wait_timeout"),
		Retries:     parseRetries(s), Headers: parseHeaders(s.Map("extra_headers")),
		TLS: rest.TLS{
			CA: s.String("ca_certificate_path"), Cert: s.String("client_certificate_path"), Key: s.String("client_key_path"),
			SkipVerify: s.Bool(false, "disable_ssl_verification"),
		},
	}
	if c.address == "" {
		c.address = addressOf(getenv)
	}
	if c.Token == "" && c.TokenFile == "" {
		c.Token = getenv("DATAHUB_GMS_TOKEN")
	}
	if c.SystemClientID == "" && c.SystemClientSecret == "" {
		c.SystemClientID, c.SystemClientSecret = getenv("DATAHUB_SYSTEM_CLIENT_ID"), getenv("DATAHUB_SYSTEM_CLIENT_SECRET")
	}
	if c.TLS.Cert == "" {
		c.TLS.Cert, c.TLS.Key = getenv("DATAHUB_CLIENT_CERT_PATH"), getenv("DATAHUB_CLIENT_KEY_PATH")
	}
	c.Mode = parseWord(s, getenv, "emit_mode", rest.ModeVariable, rest.ParseMode)
	if c.Mode == "" {
		c.Mode = rest.SyncPrimary
	}
	c.API = parseWord(s, getenv, "endpoint", "DATAHUB_REST_EMITTER_DEFAULT_ENDPOINT", rest.ParseAPI)
	c.check(s)
	s.Finish()
	return c
}

// addressOf returns the server's address from the variables of DataHub's own clients; a host with a port goes before.
func addressOf(getenv func(string) string) string {
	host, port := getenv("DATAHUB_GMS_HOST"), getenv("DATAHUB_GMS_PORT")
	if host == "" || port == "" {
		return getenv("DATAHUB_GMS_URL")
	}
	protocol := getenv("DATAHUB_GMS_PROTOCOL")
	if protocol == "" {
		protocol = "http"
	}
	return protocol + "://" + host + ":" + port
}

// parseWord reads one of a few words, from the settings or else from a variable.
func parseWord[T ~string](s *settings.Section, getenv func(string) string, key, variable string, parse func(string) (T, error)) T {
	text, from := s.String(key), ""
	if text == "" {
		text, from = getenv(variable), " ("+variable+")"
	}
	word, err := parse(text)
	if err != nil {
		s.Refuse(key, err.Error()+from, "")
	}
	return word
}

func parseRetries(s *settings.Section) int {
	n := s.Number(DefaultRetries, "retry_max_times")
	if n < 0 || n != math.Trunc(n) {
		s.Refuse("retry_max_times", "must be a number from 0 on", "")
		return 0
	}
	return int(min(n, maxRetries))
}

func parseHeaders(s *settings.Section) map[string]string {
	headers := map[string]string{}
	for _, name := range s.Keys() {
		value, ok := settings.Text(s.Raw(name))
		if !ok {
			s.Refuse(name, "must be a text", "")
			continue
		}
		headers[name] = value
	}
	return headers
}

// check says what is wrong with the values, each by its key.
func (c *ServerConfig) check(s *settings.Section) {
	switch u, err := rest.ServerURL(c.address); {
	case c.address == "":
		s.Refuse("url", "is missing", "set it, or DATAHUB_GMS_URL, to DataHub's metadata service, such as http://datahub-gms:8080")
	case err != nil:
		s.Refuse("url", err.Error(), "")
	default:
		c.URL = u
	}
	if c.Token != "" && c.TokenFile != "" {
		s.Refuse("tokenFile", "stands beside token", "keep one of them")
	}
	if strings.ContainsFunc(c.Token, isControl) {
		s.Refuse("token", "holds a line break or another control character", "")
	}
	if (c.SystemClientID == "") != (c.SystemClientSecret == "") {
		s.Refuse("system_client_id", "goes with system_client_secret, and one of them is missing", "")
	}
	if c.TLS.SkipVerify {
		s.Warn("disable_ssl_verification", "believes whoever answers, who then gets the token")
	}
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// settings returns the effective settings under their documented names, secrets masked.
func (c ServerConfig) settings() map[string]any {
	shown := map[string]any{
		"emit_mode": string(c.Mode), "timeout": c.Timeout.String(), "retry_max_times": c.Retries,
		"disable_ssl_verification": c.TLS.SkipVerify,
	}
	if c.URL != nil {
		shown["url"] = display(c.URL)
	}
	if c.Mode == rest.AsyncWait {
		shown["wait_timeout"] = c.WaitTimeout.String()
	}
	for name, value := range map[string]string{
		"token": mask(c.Token), "tokenFile": c.TokenFile, "system_client_id": c.SystemClientID,
		"system_client_secret": mask(c.SystemClientSecret), "endpoint": string(c.API), "ca_certificate_path": c.TLS.CA,
		"client_certificate_path": c.TLS.Cert, "client_key_path": c.TLS.Key,
	} {
		if value != "" {
			shown[name] = value
		}
	}
	if len(c.Headers) > 0 {
		headers := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
			headers[name] = transport.Masked
		}
		shown["extra_headers"] = headers
	}
	return shown
}

func mask(secret string) string {
	if secret == "" {
		return ""
	}
	return transport.Masked
}

// emitter makes the emitter of a configuration. Its error is about a file or a header.
func (c ServerConfig) emitter(o Options) (*rest.Emitter, error) {
	config := rest.Config{
		Server: c.address, Token: c.Token, SystemClientID: c.SystemClientID, SystemClientSecret: c.SystemClientSecret,
		Headers: c.Headers, TLS: c.TLS, Proxy: o.Proxy, ConnectTimeout: c.Timeout, ReadTimeout: c.Timeout,
		Mode: c.Mode, API: c.API, Wait: rest.WaitPolicy{Timeout: c.WaitTimeout, Max: maxPause}, ClientVersion: o.version(),
		Retry: rest.RetryPolicy{
			Max: c.Retries, MaxThrottled: -1, Factor: maxPause / 8, MaxWait: transport.MaxRetryAfter,
		},
		Now: o.Now, Sleep: pause,
	}
	if c.Retries == 0 {
		config.Retry.Max = -1
	}
	if c.TokenFile != "" {
		config.TokenSource = tokenFile(c.TokenFile)
	}
	return rest.New(config)
}

// tokenFile is the path of a file that holds a token. It is read for each request, so that a new one counts at once.
type tokenFile string

// Token returns what the file holds now.
func (f tokenFile) Token(context.Context) (string, error) {
	content, err := os.ReadFile(string(f))
	token := strings.TrimSpace(string(content))
	if err == nil && token == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", &transport.Error{
			Outcome: transport.Hold, Reason: transport.ReasonAuth, Err: fmt.Errorf("reading the token's file %s: %w", string(f), err),
		}
	}
	return token, nil
}

// Refused reports whether the file holds another token by now.
func (f tokenFile) Refused(token string) bool {
	now, err := f.Token(context.Background())
	return err == nil && now != token
}

// pause waits for a short time, and refuses to wait for a long one.
func pause(ctx context.Context, d time.Duration) error {
	if d > maxPause {
		return errLater
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
