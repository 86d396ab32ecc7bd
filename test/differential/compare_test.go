package differential_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// compared is an observation in the form in which two are alike when they mean the same.
type compared struct {
	result   string
	requests []string // method, path and query of each
	headers  []map[string]string
	bodies   []any
	files    []string // names, with TIME for the time
	contents []content
	console  []any
}

// content is what a file holds. Bytes differ: the listener writes canonical JSON.
type content struct {
	Events   []any
	Indented bool
	Newline  bool // at the end
}

// alwaysDifferent are headers that name the program, or what its HTTP library can do, and say nothing of the event.
var alwaysDifferent = map[string]string{
	"User-Agent":      "names the program",
	"Accept":          "python-requests asks for anything, which is what leaving it out means",
	"Accept-Encoding": "names what the HTTP library can unpack",
	"Connection":      "keep-alive is what HTTP/1.1 does anyway",
	"Content-Length":  "the bodies' bytes differ",
	"Idempotency-Key": "lets a consumer drop repeats; the Python client sends none",

	"Client-Token":          "made of the event here, so that DataZone knows copies; boto3 takes a new one for each call",
	"X-Amz-Date":            "the time",
	"Amz-Sdk-Invocation-Id": "boto3's number for its call, for AWS's statistics",
	"Amz-Sdk-Request":       "which try of boto3's it is, likewise",
}

// compare returns in which aspects two observations differ, each with the difference for people.
func compare(python, here compared) map[string]string {
	differences := map[string]string{}
	note := func(aspect string, a, b any) {
		if diff := cmp.Diff(a, b); diff != "" {
			differences[aspect] += diff
		}
	}
	if python.result != here.result {
		differences[fmt.Sprintf("result: python %s, here %s", python.result, here.result)] = "\n"
	}
	if here.result == waiting { // how often it tried depends on when it was stopped
		python.onlyFirst()
		here.onlyFirst()
	}
	note("requests", python.requests, here.requests)
	if slices.Equal(python.requests, here.requests) {
		for i := range python.headers {
			for _, name := range keysOf(python.headers[i], here.headers[i]) {
				note("header "+name, python.headers[i][name], here.headers[i][name])
			}
			note("body", python.bodies[i], here.bodies[i])
		}
	}
	note("file names", python.files, here.files)
	if slices.Equal(python.files, here.files) {
		note("file contents", python.contents, here.contents)
	}
	note("console", python.console, here.console)
	return differences
}

func (c *compared) onlyFirst() {
	n := min(1, len(c.requests))
	c.requests, c.headers, c.bodies = c.requests[:n], c.headers[:n], c.bodies[:n]
}

func keysOf(a, b map[string]string) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// canonical brings an observation into the form in which it is compared. Destinations do not wait for each other here,
// so requests are in the order of their paths, and for one path in the order in which they came.
func canonical(o observation) (compared, error) {
	c := compared{result: o.result}
	requests := slices.Clone(o.requests)
	slices.SortStableFunc(requests, func(a, b transporttest.Request) int { return strings.Compare(a.URL.String(), b.URL.String()) })
	var errs []error
	for _, r := range requests {
		c.requests = append(c.requests, r.Method+" "+r.URL.String())
		headers := map[string]string{}
		for name, values := range r.Header {
			if alwaysDifferent[name] == "" {
				headers[name] = unsigned(strings.Join(values, ", "))
			}
		}
		c.headers = append(c.headers, headers)
		body, err := bodyOf(r)
		c.bodies, errs = append(c.bodies, body), append(errs, err)
	}
	for _, name := range slices.Sorted(maps.Keys(o.files)) {
		text := o.files[name]
		events, err := events(text)
		c.files, errs = append(c.files, timeless(name)), append(errs, err)
		c.contents = append(c.contents, content{
			Events: events, Indented: bytes.Contains(text, []byte("\n  ")), Newline: bytes.HasSuffix(text, []byte("\n")),
		})
	}
	for _, line := range o.console {
		event, err := events(line)
		c.console, errs = append(c.console, event...), append(errs, err)
	}
	return c, errors.Join(errs...)
}

var timeInName = regexp.MustCompile(`\d{8}-\d{6}\.\d{6}|\d{6}T\d{6}\.\d{6}`)

func timeless(name string) string { return timeInName.ReplaceAllString(name, "TIME") }

func bodyOf(r transporttest.Request) (any, error) {
	switch {
	case len(r.Body) == 0:
		return nil, nil
	case r.Header.Get("Content-Type") == "application/x-www-form-urlencoded":
		return url.ParseQuery(string(r.Body))
	default:
		all, err := events(r.Body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL, err)
		}
		return all[0], nil
	}
}

// events reads one JSON value after the other.
func events(text []byte) ([]any, error) {
	var all []any
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var event any
		switch err := decoder.Decode(&event); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, fmt.Errorf("reading an event: %w in %.200s", err, text)
		}
		all = append(all, event)
	}
}

// ownTag is the tag that the Python client puts on every run event to name itself. The listener does not claim to be
// that client: its version stands in the event's producer and in the facet processing_engine.
const ownTag = "openlineage_client_version"

// withoutOwnTag takes the Python client's tag out of an event and says whether it was there.
func withoutOwnTag(event any) (found bool) {
	facets := child(child(event, "run"), "facets")
	facet := child(facets, "tags")
	tags, _ := facet["tags"].([]any)
	kept := slices.DeleteFunc(tags, func(tag any) bool { return child(map[string]any{"t": tag}, "t")["key"] == ownTag })
	found = len(kept) < len(tags)
	facet["tags"] = kept
	if found && len(kept) == 0 {
		delete(facets, "tags")
	}
	return found
}

func child(of any, key string) map[string]any {
	fields, _ := of.(map[string]any)
	below, ok := fields[key].(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return below
}

// isEvent says whether a body is an event and not, say, a request for a token.
func isEvent(body any) bool {
	fields, ok := body.(map[string]any)
	return ok && fields["eventType"] != nil
}

// byPath gives the requests for a path to a script of its own.
func byPath(path string, script, rest transporttest.Script) transporttest.Script {
	return func(r transporttest.Request) transporttest.Reply {
		if r.URL.Path == path {
			return script(r)
		}
		return rest(r)
	}
}

// replies are given in turn; afterwards everything is taken.
func replies(all ...transporttest.Reply) func() transporttest.Script {
	return func() transporttest.Script { return transporttest.Sequence(all...) }
}

// always gives every request the same reply.
func always(reply transporttest.Reply) func() transporttest.Script {
	return func() transporttest.Script { return transporttest.Always(reply) }
}

// at gives a path's requests the same reply and takes all others.
func at(path string, reply transporttest.Reply) func() transporttest.Script {
	return func() transporttest.Script {
		return byPath(path, transporttest.Always(reply), transporttest.Always(transporttest.OK()))
	}
}

// redirect sends a client elsewhere.
func redirect(status int, to string) transporttest.Reply {
	return transporttest.Reply{Status: status, Header: map[string]string{"Location": to}}
}

// moved redirects the lineage endpoint and takes what comes to the new place.
func moved(status int) func() transporttest.Script {
	return at("/api/v1/lineage", redirect(status, "/new"))
}

// tokens answers at /token as an authorization server and takes everything else.
func tokens(answer string) func() transporttest.Script {
	return at("/token", transporttest.Reply{
		Status: http.StatusOK, Header: map[string]string{"Content-Type": "application/json"}, Body: answer,
	})
}
