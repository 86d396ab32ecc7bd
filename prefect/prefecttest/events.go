package prefecttest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

// storedEvent is an event about an asset that a server keeps.
type storedEvent struct {
	prefect.AssetEvent
	readable time.Time // by the server's clock: servers write events down in batches
}

// NoEvents makes the server refuse to list events, as one of 2.x does unless it is told otherwise.
func NoEvents() Option { return func(s *Server) { s.noEvents = true } }

// AddAssetEvent adds an event about an asset; an empty id and time are made up. It can be read once lag has passed, and is
// told over the websocket at once.
func (s *Server) AddAssetEvent(e prefect.AssetEvent, lag time.Duration) prefect.AssetEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	var name string
	s.number("events", &e.ID, &name, "event")
	s.date(&e.Occurred)
	s.events = append(s.events, storedEvent{e, s.now().Add(lag)})
	s.tell(Event{Name: e.Name, Occurred: e.Occurred, Resource: map[string]any{"prefect.resource.id": e.Asset.Key}})
	return e
}

// eventQuery is the body of a query for events.
type eventQuery struct {
	Filter struct {
		Occurred struct {
			Since *time.Time `json:"since"`
			Until *time.Time `json:"until"`
		} `json:"occurred"`
		Event struct {
			Prefix []string `json:"prefix"`
		} `json:"event"`
		Related *struct {
			ID []string `json:"id"`
		} `json:"related"`
		Order string `json:"order"`
	} `json:"filter"`
	Limit  *int `json:"limit"`
	Offset int  `json:"offset"` // of a page token
}

// answerEvents answers /events/filter, and /events/filter/next with the query that its token holds.
func (s *Server) answerEvents(w http.ResponseWriter, r *http.Request, body []byte) {
	if s.noEvents || s.version == V2_20 {
		missing(w, "Not Found")
		return
	}
	if token := r.URL.Query().Get("page-token"); token != "" {
		text, err := base64.StdEncoding.DecodeString(token)
		if err != nil {
			reply(w, http.StatusForbidden, map[string]any{"detail": "Forbidden"})
			return
		}
		body = text
	}
	var q eventQuery
	if err := strict(body, &q); err != nil {
		reply(w, http.StatusNotImplemented, map[string]any{"detail": err.Error()})
		return
	}
	limit := prefect.MaxEventPage
	if q.Limit != nil {
		limit = *q.Limit
	}
	if limit < 0 || limit > prefect.MaxEventPage {
		reply(w, http.StatusUnprocessableEntity, s.complain([]problem{{
			loc: []any{"body", "limit"}, kind: "less_than_equal", msg: "Input should be less than or equal to 50",
		}}, body))
		return
	}
	if since := q.Filter.Occurred.Since; since != nil && since.Year() < 1 {
		reply(w, http.StatusUnprocessableEntity, s.complain([]problem{{
			loc: []any{"body", "filter", "occurred", "since"}, kind: "value_error", msg: "Value error, Unable to parse string",
		}}, body))
		return
	}
	found := s.findEvents(q)
	page := found[min(q.Offset, len(found)):min(q.Offset+limit, len(found))]
	var next any
	if q.Offset += limit; q.Offset < len(found) {
		text, _ := json.Marshal(q) // of plain values
		next = "http://prefect.internal/api/events/filter/next?page-token=" + base64.StdEncoding.EncodeToString(text)
	}
	wires := make([]map[string]any, len(page))
	for i, e := range page {
		wires[i] = s.eventFields(e)
	}
	reply(w, http.StatusOK, map[string]any{"events": wires, "total": len(found), "next_page": next})
}

func (s *Server) findEvents(q eventQuery) []storedEvent {
	now := s.now()
	since, until := now.AddDate(0, 0, -180), now
	if q.Filter.Occurred.Since != nil {
		since = *q.Filter.Occurred.Since
	}
	if q.Filter.Occurred.Until != nil {
		until = *q.Filter.Occurred.Until
	}
	var found []storedEvent
	for _, e := range s.events {
		named := slices.ContainsFunc(q.Filter.Event.Prefix, func(p string) bool { return strings.HasPrefix(e.Name, p) })
		related := q.Filter.Related == nil || slices.Contains(q.Filter.Related.ID, "prefect.task-run."+e.TaskRunID.String()) ||
			slices.Contains(q.Filter.Related.ID, "prefect.flow-run."+e.FlowRunID.String())
		if named && related && !e.readable.After(now) && !e.Occurred.Before(since) && !e.Occurred.After(until) {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b storedEvent) int {
		if q.Filter.Order == "ASC" {
			return a.Occurred.Compare(b.Occurred)
		}
		return b.Occurred.Compare(a.Occurred)
	})
	return found
}

// eventFields writes an event as a real server does.
func (s *Server) eventFields(e storedEvent) map[string]any {
	resource := map[string]string{"prefect.resource.id": e.Asset.Key}
	for label, value := range map[string]string{
		"prefect.resource.name": e.Asset.Name, "prefect.asset.description": e.Asset.Description, "prefect.asset.url": e.Asset.URL,
	} {
		if value != "" {
			resource[label] = value
		}
	}
	if e.Asset.Owners != nil {
		owners, _ := json.Marshal(e.Asset.Owners) // of plain values
		resource["prefect.asset.owners"] = string(owners)
	}
	var related []map[string]string
	relate := func(id, role string) {
		related = append(related, map[string]string{"prefect.resource.id": id, "prefect.resource.role": role})
	}
	for _, key := range e.Upstream {
		relate(key, "asset")
	}
	if e.By != "" {
		relate(e.By, "asset-materialized-by")
	}
	for prefix, run := range map[string]uuid.UUID{"flow-run": e.FlowRunID, "task-run": e.TaskRunID} {
		if run != uuid.Nil {
			relate(fmt.Sprint("prefect.", prefix, ".", run), prefix)
		}
	}
	payload := e.Metadata
	if payload == nil {
		payload = jsonRaw("{}")
	}
	return map[string]any{
		"id": e.ID, "occurred": s.moment(e.Occurred), "received": s.moment(e.readable), "event": e.Name, "resource": resource,
		"related": related, "payload": payload, "follows": nil,
	}
}
