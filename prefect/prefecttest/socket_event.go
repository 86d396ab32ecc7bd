package prefecttest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

// Event is an event as subscribers get it.
type Event struct {
	Name     string
	Occurred time.Time
	// Resource are the labels of what the event is about, Payload anything.
	Resource map[string]any
	Payload  any
}

// OnEvent decides when subscribers get each event: once for each wait, so none loses it, two double it, and waits of
// different lengths change the order. Nil: at once, as without it.
func (s *Server) OnEvent(spoil func(Event) []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets.spoil = spoil
}

// Emit tells subscribers of an event.
func (s *Server) Emit(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(e)
}

// Announce tells subscribers that a run came into a state, whatever its row says, or whether there is one.
func (s *Server) Announce(id uuid.UUID, task bool, state prefect.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.date(&state.Timestamp)
	kind := flowRuns
	if task {
		kind = taskRuns
	}
	s.announce(kind, id, "", state)
}

// announceNew tells of a row's state when it is another than before.
func (s *Server) announceNew(r *row, before *prefect.State) {
	var now *prefect.State
	switch record := r.record.(type) {
	case *prefect.FlowRun:
		now = record.State
	case *prefect.TaskRun:
		now = record.State
	}
	if now == nil || before != nil && before.Type == now.Type && before.Timestamp.Equal(now.Timestamp) {
		return
	}
	s.announce(r.kind, r.id, r.name, *now)
}

// copyOf is the state as it is now, for the change that is to come.
func copyOf(state *prefect.State) *prefect.State {
	if state == nil {
		return nil
	}
	kept := *state
	return &kept
}

func (s *Server) announce(kind string, id uuid.UUID, name string, state prefect.State) {
	if s.sockets == nil {
		return
	}
	prefix, payload := "prefect.flow-run.", map[string]any{"intended": map[string]any{"to": state.Type}}
	if kind == taskRuns {
		prefix, payload["task_run"] = "prefect.task-run.", map[string]any{"name": name}
	}
	s.tell(Event{
		Name: prefix + state.Name, Occurred: state.Timestamp, Payload: payload,
		Resource: map[string]any{
			"prefect.resource.id": prefix + id.String(), "prefect.resource.name": name, "prefect.run-count": "1",
			"prefect.state-message": "", "prefect.state-name": state.Name, "prefect.state-type": string(state.Type),
			"prefect.state-timestamp": state.Timestamp.UTC().Format("2006-01-02T15:04:05.999999+00:00"),
		},
	})
}

// tell sends an event to whoever asked for it. The server is locked.
func (s *Server) tell(e Event) {
	if s.sockets == nil || len(s.sockets.open) == 0 {
		return
	}
	waits := []time.Duration{0}
	if s.sockets.spoil != nil {
		waits = s.sockets.spoil(e)
	}
	s.numbers["event"]++
	text := e.render(ID(fmt.Sprint("event ", s.numbers["event"])), s.now())
	for sub := range s.sockets.open {
		if !sub.wants.takes(e) {
			continue
		}
		for _, wait := range waits {
			if wait <= 0 {
				sub.push(text)
				continue
			}
			time.AfterFunc(wait, func() { sub.push(text) })
		}
	}
}

func (sub *subscriber) push(text []byte) {
	select {
	case sub.queue <- text:
	default:
	}
}

// render writes an event in the order in which servers write it.
func (e Event) render(id uuid.UUID, received time.Time) []byte {
	text := []byte(`{"type":"event","event":{`)
	for i, member := range []struct {
		name  string
		value any
	}{
		{"occurred", e.Occurred}, {"event", e.Name}, {"resource", e.Resource}, {"related", []any{}}, {"payload", e.Payload},
		{"id", id}, {"follows", nil}, {"received", received},
	} {
		value, err := json.Marshal(member.value)
		if err != nil {
			panic(fmt.Sprintf("prefecttest: writing an event: %v", err))
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "%q:%s", member.name, value)
	}
	return append(text, "}}"...)
}
