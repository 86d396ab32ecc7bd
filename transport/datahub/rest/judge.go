package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
)

// errTokenText says that a token can't be sent.
var errTokenText = errors.New("the token holds a line break or another character that HTTP can't carry")

// maxMessage bounds DataHub's message in an error, in bytes.
const maxMessage = 1000

// judge turns an attempt into what is wrong with it, nil when nothing is.
func (c *client) judge(op string, r request, ans answer, err error) *Error {
	if err != nil && (ans.status == 0 || ans.status < 300) {
		// An answer that breaks off after a good status counts as none: what it would have said is not known.
		known := transport.ClassifyError(err)
		retryable := known.Outcome == transport.Retry && !errors.Is(err, errTokenText)
		return &Error{Op: op, Retryable: retryable, Err: c.masked(err)}
	}
	body := c.mask.Bytes(ans.body)
	if ans.status >= 200 && ans.status < 300 {
		if isWebPage(body) {
			return &Error{Op: op, Status: ans.status, Body: clip(body), Err: ErrNotGMS}
		}
		return nil
	}
	message, kept := explain(body)
	e := &Error{Op: op, Status: ans.status, Message: message, Body: clip(kept), Hint: hint(ans.status, message)}
	if ans.status < 400 {
		e.Err, e.Hint = ErrNotGMS, "it redirects to "+c.mask.Text(redirectTarget(ans))
		return e
	}
	wait, asked := transport.RetryAfter(ans.header, c.config.Now())
	if e.Retryable = c.config.Retry.passing(failure{method: r.method, status: ans.status, hasAsked: asked}); e.Retryable {
		e.RetryAfter = wait
	}
	return e
}

// redirectTarget returns where an answer sends the client, without credentials and query.
func redirectTarget(ans answer) string {
	u, err := url.Parse(ans.header.Get("Location"))
	if err != nil || u.String() == "" {
		return "an address that can't be read"
	}
	u.RawQuery, u.Fragment = "", ""
	return display(u)
}

// isWebPage reports whether an answer is a page for people, which GMS never sends to its API's callers.
func isWebPage(body []byte) bool {
	start := bytes.ToLower(bytes.TrimLeft(body, " \t\r\n\ufeff"))
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

// explain returns DataHub's message in an error's JSON, and the body without the stack trace that Rest.li puts in. The
// body may be cut, so it is read member by member.
func explain(body []byte) (message string, kept []byte) {
	trimmed := bytes.TrimLeft(body, " \t\r\n\ufeff")
	if !bytes.HasPrefix(trimmed, []byte("{")) {
		return "", body
	}
	dec := json.NewDecoder(bytes.NewReader(trimmed))
	if _, err := dec.Token(); err != nil {
		return "", body
	}
	found := map[string]string{}
	var members []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			break
		}
		name, _ := key.(string)
		if name == "stackTrace" {
			continue
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			break
		}
		members = append(members, string(quoted)+":"+string(value))
		var text string
		if json.Unmarshal(value, &text) == nil {
			found[name] = text
		}
	}
	for _, name := range []string{"message", "error", "detail", "exceptionClass"} {
		if found[name] != "" {
			message = strings.ToValidUTF8(found[name][:min(len(found[name]), maxMessage)], "")
			break
		}
	}
	return message, []byte("{" + strings.Join(members, ",") + "}")
}

// clip returns the beginning of an answer.
func clip(body []byte) []byte {
	if len(body) == 0 {
		return nil
	}
	return bytes.Clone(body[:min(len(body), transport.MaxAnswer)])
}

// withoutURL takes the address out of net/http's errors: it may hold a password, and the operation names it already.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// masked returns err with known secrets taken out of its text, and err itself where there are none.
func (c *client) masked(err error) error {
	if err == nil {
		return nil
	}
	if text := c.mask.Text(err.Error()); text != err.Error() {
		return &maskedError{text: text, err: err}
	}
	return err
}

// maskedError shows another text than the error that it is.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }
