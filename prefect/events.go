package prefect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
)

// MaxEventPage is the most events that a stock server gives in one page.
const MaxEventPage = 50

// EventFilter chooses events. Every field that is set must hold.
type EventFilter struct {
	Occurred EventWindow   `json:"occurred"`
	Event    EventNames    `json:"event"`
	Related  *EventRelated `json:"related,omitempty"`
	Order    string        `json:"order"` // ASC or DESC, by the time of occurrence
}

// EventWindow is a stretch of time, both ends included. Servers take a missing end for now, by their own clock; but a
// worker's clock, which dates its events, may run ahead.
type EventWindow struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
}

// EventNames matches events whose name begins with one of these.
type EventNames struct {
	Prefix []string `json:"prefix"`
}

// EventRelated matches events that are related to one of these resources, such as prefect.task-run.UUID.
type EventRelated struct {
	ID []string `json:"id"`
}

// EventPage is one answer of an event query.
type EventPage struct {
	Events []AssetEvent
	Bad    []BadRow
	// Next leads to the next page; empty: there is none.
	Next string
}

// AssetEvent says that a task run materialized an asset, failed to, or that an asset was read for it.
type AssetEvent struct {
	ID       uuid.UUID
	Name     string // such as prefect.asset.materialization.succeeded
	Occurred time.Time
	Asset    Asset
	// Upstream are the keys of the assets that this one was made of.
	Upstream []string
	// By names the tool that made it, such as dbt; empty: not said.
	By string
	// Metadata is what the task added to the asset, a JSON object; nil: nothing.
	Metadata json.RawMessage
	// The runs that it happened in. Zero: not said.
	TaskRunID, FlowRunID uuid.UUID
}

// Asset is an asset as an event describes it. Only Key is always set.
type Asset struct {
	Key, Name, Description, URL string
	Owners                      []string
}

// The names of events about assets.
const (
	assetEvents       = "prefect.asset."
	assetMaterialized = "prefect.asset.materialization.succeeded"
	assetFailed       = "prefect.asset.materialization.failed"
	assetReferenced   = "prefect.asset.referenced"
)

// Materialized says whether the asset was made.
func (e AssetEvent) Materialized() bool { return e.Name == assetMaterialized }

// Failed says whether the asset was to be made and was not.
func (e AssetEvent) Failed() bool { return e.Name == assetFailed }

// Referenced says whether the asset was read.
func (e AssetEvent) Referenced() bool { return e.Name == assetReferenced }

// EventLister lists events; *Client is one.
type EventLister interface {
	AssetEvents(ctx context.Context, f EventFilter) (EventPage, error)
	NextAssetEvents(ctx context.Context, page EventPage) (EventPage, error)
}

var _ EventLister = (*Client)(nil)

// AssetEvents returns the first page of events about assets.
func (c *Client) AssetEvents(ctx context.Context, f EventFilter) (EventPage, error) {
	body, err := json.Marshal(struct {
		Filter EventFilter `json:"filter"`
		Limit  int         `json:"limit"`
	}{f, MaxEventPage})
	if err != nil {
		return EventPage{}, fmt.Errorf("encoding the filter for events: %w", err)
	}
	answer, err := c.send(ctx, request{method: http.MethodPost, path: "/events/filter", resource: "events", body: body})
	if err != nil {
		return EventPage{}, err
	}
	return decodeEvents(answer)
}

// NextAssetEvents returns the page that follows.
func (c *Client) NextAssetEvents(ctx context.Context, page EventPage) (EventPage, error) {
	// Of the address only the token counts: a server behind a proxy doesn't know its own.
	next, err := url.Parse(page.Next)
	if err != nil || next.Query().Get("page-token") == "" {
		return EventPage{}, fmt.Errorf("reading events: the next page's address %.80q has no page-token", page.Next)
	}
	query := url.Values{"page-token": {next.Query().Get("page-token")}}
	answer, err := c.send(ctx, request{method: http.MethodGet, path: "/events/filter/next?" + query.Encode(), resource: "events"})
	if err != nil {
		return EventPage{}, err
	}
	return decodeEvents(answer)
}

func decodeEvents(a *answer) (EventPage, error) {
	var said struct {
		Events *[]json.RawMessage `json:"events"`
		Next   *string            `json:"next_page"`
	}
	if err := a.decode(&said); err != nil {
		return EventPage{}, err
	}
	if said.Events == nil {
		return EventPage{}, a.strange(errors.New("no list of events"))
	}
	var page EventPage
	if said.Next != nil {
		page.Next = *said.Next
	}
	for _, raw := range *said.Events {
		event, err := decodeEvent(raw)
		if err != nil {
			page.Bad = append(page.Bad, badRow("events", raw, err.Error()))
			continue
		}
		page.Events = append(page.Events, event)
	}
	return page, nil
}
