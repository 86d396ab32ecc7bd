package transform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/prefect-openlineage/listener/transport"
)

// JobNamespace puts the job under another namespace, and with Parents the jobs of the parent facet, its root included.
type JobNamespace struct {
	Namespace string
	Parents   bool
}

var _ Transformer = JobNamespace{}

// Transform replaces the namespaces and leaves every other byte of the body as it is.
func (j JobNamespace) Transform(event transport.Event) (transport.Event, error) {
	places := [][]string{{"job", "namespace"}}
	if j.Parents {
		places = append(places,
			[]string{"run", "facets", "parent", "job", "namespace"},
			[]string{"run", "facets", "parent", "root", "job", "namespace"})
	}
	body, err := replaceStrings(event.Body, places, j.Namespace)
	if err != nil {
		return transport.Event{}, err
	}
	event.Body, event.Namespace = body, j.Namespace
	return event, nil
}

// replaceStrings returns a JSON object in which the strings at the given places are replaced. It walks the tokens and
// cuts at their offsets, so that numbers, spaces and the order of keys survive.
func replaceStrings(body []byte, places [][]string, value string) ([]byte, error) {
	quoted, err := quote(value)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	copied := 0
	err = walk(body, func(place []string, from, to int) {
		if slices.ContainsFunc(places, func(p []string) bool { return slices.Equal(p, place) }) {
			out.Write(body[copied:from])
			out.Write(quoted)
			copied = to
		}
	})
	if err != nil {
		return nil, err
	}
	out.Write(body[copied:])
	return out.Bytes(), nil
}

// level is an object or array that is open during a walk.
type level struct {
	key    string // under which it stands
	object bool
}

// walk calls found for each string value that has only objects above it, with the keys that lead to it and its offsets.
func walk(body []byte, found func(place []string, from, to int)) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var open []level
	arrays := 0 // open ones: nothing inside counts
	key, keyNext := "", false
	for {
		before := int(dec.InputOffset())
		token, err := dec.Token()
		if errors.Is(err, io.EOF) && len(open) == 0 && before > 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the event: %w", noEOF(err))
		}
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '{', '[':
				open = append(open, level{key, v == '{'})
				arrays += arrayCount(v, '[')
			default:
				open = open[:len(open)-1]
				arrays -= arrayCount(v, ']')
			}
		case string:
			if keyNext {
				key, keyNext = v, false
				continue
			}
			if to := int(dec.InputOffset()); arrays == 0 && len(open) > 0 {
				found(placeOf(open, key), before+bytes.IndexByte(body[before:to], '"'), to)
			}
		}
		keyNext = len(open) > 0 && open[len(open)-1].object
	}
}

func arrayCount(got json.Delim, bracket json.Delim) int {
	if got == bracket {
		return 1
	}
	return 0
}

// placeOf returns the keys from the outermost object to key.
func placeOf(open []level, key string) []string {
	place := make([]string, 0, len(open))
	for _, l := range open[1:] {
		place = append(place, l.key)
	}
	return append(place, key)
}

// noEOF names an end that comes too early.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func quote(text string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
