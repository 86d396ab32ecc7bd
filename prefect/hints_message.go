package prefect

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
)

// The events of runs: what their names and their resources' ids begin with.
const (
	flowRunEvents = "prefect.flow-run."
	taskRunEvents = "prefect.task-run."
)

// maxParsed bounds how much of a message is looked at, in bytes. A resource's longest label, the state's message, is cut
// at 100,000 characters by the server.
const maxParsed = 4 << 20

// message is what is needed of a message from the websocket. What was not found is empty.
type message struct {
	kind   string // auth_success, auth_failure, event
	reason string // of a refusal
	event  string // an event's name, such as prefect.task-run.Completed
	about  resource
}

// resource are the labels of an event's resource that are needed.
type resource struct {
	id, state, at string
}

// parseMessage reads the beginning of a message, as far as it must: an event's payload may be megabytes, and comes
// behind what is needed. What can't be understood is left out; the polls find what it was about.
func parseMessage(r io.Reader) message {
	var m message
	in := json.NewDecoder(io.LimitReader(r, maxParsed))
	_ = eachMember(in, func(name string) error { // what was found before an error counts
		switch name {
		case "type":
			return decodeText(in, &m.kind)
		case "reason":
			return decodeText(in, &m.reason)
		case "event":
			return m.readEvent(in)
		default:
			return passOver(in)
		}
	})
	return m
}

// errFound ends the reading of a message early: all that is needed is there.
var errFound = errors.New("found")

func (m *message) readEvent(in *json.Decoder) error {
	return eachMember(in, func(name string) error {
		var err error
		switch name {
		case "event":
			err = decodeText(in, &m.event)
		case "resource":
			err = m.about.read(in)
		default:
			err = passOver(in)
		}
		if err == nil && m.event != "" && m.about.id != "" {
			return errFound
		}
		return err
	})
}

func (r *resource) read(in *json.Decoder) error {
	return eachMember(in, func(name string) error {
		switch name {
		case "prefect.resource.id":
			return decodeText(in, &r.id)
		case "prefect.state-type":
			return decodeText(in, &r.state)
		case "prefect.state-timestamp":
			return decodeText(in, &r.at)
		default:
			return passOver(in)
		}
	})
}

// errNoObject: something else stands where an object belongs.
var errNoObject = errors.New("no object")

// eachMember calls f with the name of each member of an object. f takes the member's value from in.
func eachMember(in *json.Decoder, f func(name string) error) error {
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return errors.Join(errNoObject, err)
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string) // a member's name is always one
		if err := f(text); err != nil {
			return err
		}
	}
	_, err := in.Token()
	return err
}

// decodeText takes a string; any other value counts as none.
func decodeText(in *json.Decoder, text *string) error {
	var value any
	if err := in.Decode(&value); err != nil {
		return err
	}
	*text, _ = value.(string)
	return nil
}

// passOver takes a value without keeping it.
func passOver(in *json.Decoder) error {
	for depth := 0; ; {
		token, err := in.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// hint returns what a message tells of a run or an asset; false: nothing that a poll would look for.
func (m message) hint() (Hint, bool) {
	if strings.HasPrefix(m.event, assetEvents) {
		return Hint{Asset: true}, true
	}
	var h Hint
	id, ok := strings.CutPrefix(m.about.id, flowRunEvents)
	prefix := flowRunEvents
	if !ok {
		id, ok = strings.CutPrefix(m.about.id, taskRunEvents)
		h.Task, prefix = true, taskRunEvents
	}
	if !ok || !strings.HasPrefix(m.event, prefix) || m.event == prefix+"heartbeat" {
		return Hint{}, false
	}
	run, err := uuid.Parse(id)
	if err != nil || run == uuid.Nil {
		return Hint{}, false
	}
	h.Run, h.State = run, StateType(m.about.state)
	if h.State != "" && h.State != Running && !h.State.Terminal() {
		return Hint{}, false
	}
	if at, err := parseTime(m.about.at); err == nil {
		h.At = at.Truncate(time.Microsecond)
	}
	return h, true
}
