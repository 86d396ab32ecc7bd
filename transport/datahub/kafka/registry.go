package kafka

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

// maxRegistryAnswer is how much of a registry's answer is read, in bytes: an id, or a sentence about an error.
const maxRegistryAnswer = 1 << 20

// maxRegistryMessage is how many runes of it stand in an error.
const maxRegistryMessage = 300

// registry asks a schema registry for the schema's id. Its requests are those of DataHub's Python client, less the
// question for an association of the topic, which that client's library puts before them.
type registry struct {
	config  RegistryConfig
	subject string
	masker  mask.Masker
	http    *http.Client

	mu      sync.Mutex
	clients []*sr.Client // one for each address
	next    int          // whose turn it is: after a failure another address is asked
}

func newRegistry(config RegistryConfig, topic string, userAgent string) (*registry, error) {
	r := &registry{config: config, subject: Subject(topic)}
	r.masker.Set("registry", config.secrets()...)
	base, err := config.httpTransport()
	if err != nil {
		return nil, err
	}
	r.http = &http.Client{
		Transport: limited{base},
		Timeout:   config.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // where a registry really is, is the operator's to say
		},
	}
	for _, address := range config.URLs {
		options := []sr.ClientOpt{
			sr.URLs(address), sr.HTTPClient(r.http), sr.UserAgent(userAgent), sr.LogLevel(sr.LogLevelNone), sr.PreReq(r.prepare),
		}
		one, err := sr.NewClient(options...)
		if err != nil {
			return nil, fmt.Errorf("making the schema registry's client: %w", err)
		}
		r.clients = append(r.clients, one)
	}
	return r, nil
}

// schemaID registers the schema, or looks it up where registering is not wanted, and returns its id. Registering a
// schema that is there already changes nothing. An error is a *RegistryError.
func (r *registry) schemaID(ctx context.Context) (uint32, error) {
	if r.config.SchemaID != nil {
		return *r.config.SchemaID, nil
	}
	path := "/subjects/" + url.PathEscape(r.subject)
	if r.config.AutoRegister {
		path += "/versions"
	}
	body := struct {
		Schema     string   `json:"schema"`
		SchemaType string   `json:"schemaType"`
		References []string `json:"references"`
	}{Schema, "AVRO", []string{}}
	client, address := r.turn()
	var answer []byte
	if err := client.Do(ctx, http.MethodPost, path, body, &answer); err != nil {
		r.pass()
		return 0, r.explain(address, err)
	}
	var got struct {
		ID *int64 `json:"id"` // 0 is an id like any other
	}
	if err := json.Unmarshal(answer, &got); err != nil || got.ID == nil || *got.ID < 0 || *got.ID > 1<<32-1 {
		r.pass()
		return 0, &RegistryError{URL: address, StatusCode: http.StatusOK, Message: "no schema id in the answer: " + r.show(answer)}
	}
	return uint32(*got.ID), nil
}

// prepare makes of franz-go's request the one that Confluent's Python client sends, and logs in.
func (r *registry) prepare(request *http.Request) error {
	if strings.HasSuffix(request.URL.Path, "/versions") {
		request.URL.RawQuery = "normalize=False"
	}
	c := r.config
	user, password, token := c.User, c.Password, c.Token
	for _, path := range []string{c.UserInfoFile, c.TokenFile} {
		if path == "" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading the registry's credentials: %w", err)
		}
		token = strings.TrimSpace(string(text))
		r.masker.Set("file", token)
	}
	if c.UserInfoFile != "" {
		user, password, _ = strings.Cut(token, ":")
		token = ""
		r.masker.Set("file", password, basic(user, password))
	}
	if user != "" || password != "" {
		request.SetBasicAuth(user, password)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range c.Headers {
		request.Header.Set(name, value)
	}
	return nil
}

func (r *registry) turn() (client *sr.Client, address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clients[r.next], r.config.URLs[r.next]
}

// pass gives the turn to the next address.
func (r *registry) pass() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = (r.next + 1) % len(r.clients)
}

// close gives up connections that are kept for another request.
func (r *registry) close() { r.http.CloseIdleConnections() }

// explain makes a *RegistryError of what the client returned.
func (r *registry) explain(address string, err error) error {
	var answer *sr.ResponseError
	if !errors.As(err, &answer) {
		return &RegistryError{URL: address, Err: &maskedError{err, r.masker.Text(err.Error())}}
	}
	e := &RegistryError{URL: address, StatusCode: answer.StatusCode, Code: answer.ErrorCode}
	if answer.Message != "" {
		e.Message = r.show([]byte(answer.Message))
	} else {
		e.Message = r.show(answer.Raw)
	}
	return e
}

// show returns the beginning of an answer on one line.
func (r *registry) show(answer []byte) string {
	text := strings.Join(strings.Fields(r.masker.Text(strings.ToValidUTF8(string(answer), "?"))), " ")
	if runes := []rune(text); len(runes) > maxRegistryMessage {
		text = string(runes[:maxRegistryMessage]) + "…"
	}
	return text
}

// basic is what a request with Basic authentication shows of its password.
func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// maskedError is an error whose text is shown without credentials.
type maskedError struct {
	err  error
	text string
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

// limited reads no more of an answer than an answer should have.
type limited struct{ base http.RoundTripper }

func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := l.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	answer.Body = limitedBody{io.LimitReader(answer.Body, maxRegistryAnswer), answer.Body}
	return answer, nil
}

type limitedBody struct {
	io.Reader
	io.Closer
}

// CloseIdleConnections lets http.Client reach the transport below.
func (l limited) CloseIdleConnections() {
	if base, ok := l.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}
