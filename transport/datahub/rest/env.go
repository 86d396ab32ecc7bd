package rest

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// FromEnv returns a Config from the environment variables of DataHub's clients, read through getenv (mostly os.Getenv):
//
//   - DATAHUB_GMS_URL, or DATAHUB_GMS_HOST with DATAHUB_GMS_PORT and DATAHUB_GMS_PROTOCOL (http), which go before it
//   - DATAHUB_GMS_TOKEN, DATAHUB_SYSTEM_CLIENT_ID, DATAHUB_SYSTEM_CLIENT_SECRET
//   - DATAHUB_CLIENT_CERT_PATH, DATAHUB_CLIENT_KEY_PATH
//   - DATAHUB_EMIT_MODE, DATAHUB_REST_EMITTER_DEFAULT_ENDPOINT (RESTLI, OPENAPI)
//   - DATAHUB_REST_EMITTER_DEFAULT_RETRY_MAX_TIMES, DATAHUB_REST_EMITTER_429_RETRY_MULTIPLIER
//   - DATAHUB_REST_EMITTER_BATCH_MAX_PAYLOAD_LENGTH, DATAHUB_REST_EMITTER_BATCH_MAX_PAYLOAD_BYTES
//
// What is unset is left zero. Its error names every variable that can't be used, and no value of a secret one.
func FromEnv(getenv func(string) string) (Config, error) {
	r := envReader{getenv: getenv}
	c := Config{
		Server:         r.server(),
		Token:          r.text("DATAHUB_GMS_TOKEN"),
		SystemClientID: r.text("DATAHUB_SYSTEM_CLIENT_ID"), SystemClientSecret: r.text("DATAHUB_SYSTEM_CLIENT_SECRET"),
		TLS:            TLS{Cert: r.text("DATAHUB_CLIENT_CERT_PATH"), Key: r.text("DATAHUB_CLIENT_KEY_PATH")},
		ChunkProposals: r.number("DATAHUB_REST_EMITTER_BATCH_MAX_PAYLOAD_LENGTH", 1),
		ChunkBytes:     r.number("DATAHUB_REST_EMITTER_BATCH_MAX_PAYLOAD_BYTES", 1),
	}
	r.retries(&c.Retry)
	var err error
	if c.Mode, err = ModeFromEnv(getenv); err != nil {
		r.problems = append(r.problems, err)
	}
	const endpoint = "DATAHUB_REST_EMITTER_DEFAULT_ENDPOINT"
	if c.API, err = ParseAPI(getenv(endpoint)); err != nil {
		r.problems = append(r.problems, fmt.Errorf("%s: %w", endpoint, err))
	}
	return c, errors.Join(r.problems...)
}

// envReader reads variables and collects what is wrong with them.
type envReader struct {
	getenv   func(string) string
	problems []error
}

func (r *envReader) text(name string) string { return strings.TrimSpace(r.getenv(name)) }

// number reads a whole number of at least least; 0 when unset.
func (r *envReader) number(name string, least int) int {
	text := r.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		r.problems = append(r.problems, fmt.Errorf("%s is %q: use a whole number from %d", name, text, least))
		return 0
	}
	return n
}

// server returns the address; host and port go before the URL when a port is given.
func (r *envReader) server() string {
	host, port := r.text("DATAHUB_GMS_HOST"), r.text("DATAHUB_GMS_PORT")
	if port != "" && host != "" {
		return orDefault(r.text("DATAHUB_GMS_PROTOCOL"), "http") + "://" + net.JoinHostPort(host, port)
	}
	return r.text("DATAHUB_GMS_URL")
}

// retries reads the counts. A Config's 0 stands for the default, so none is negative there.
func (r *envReader) retries(p *RetryPolicy) {
	const most, factor = "DATAHUB_REST_EMITTER_DEFAULT_RETRY_MAX_TIMES", "DATAHUB_REST_EMITTER_429_RETRY_MULTIPLIER"
	maxTries, multiplier := r.number(most, 0), r.number(factor, 1)
	if r.text(most) != "" && maxTries == 0 {
		p.Max, p.MaxThrottled = -1, -1
		return
	}
	p.Max = maxTries
	if multiplier > 0 {
		p.MaxThrottled = multiplier * orDefault(maxTries, 4)
	}
}
