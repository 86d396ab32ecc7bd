package prefect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// assetRuns is how many runs' asset events are asked for at once.
	assetRuns = 100
	// maxAssetPages bounds one read of asset events: a server whose pages never end must not hang us.
	maxAssetPages = 400
	// noEventsFor is how long it is believed that a server shows no events. An upgraded one is noticed within it.
	noEventsFor = 10 * time.Minute
	// clockSkew is how far a worker's clock may be behind what its run's times say.
	clockSkew = time.Hour
)

// farAhead lies after any event: a worker whose clock runs ahead dates its events after the server's now.
var farAhead = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// ErrNoEvents says that the server shows no events, for now at least. It is asked again after a while.
var ErrNoEvents = errors.New("this server shows no events")

// eventsOffer remembers that a server refused to show events.
type eventsOffer struct {
	mu    sync.Mutex
	until time.Time // asked again from here on
	why   error
}

// refused returns why the server need not be asked; nil: it may be asked.
func (o *eventsOffer) refused() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.why == nil || !time.Now().Before(o.until) {
		return nil
	}
	return o.why
}

// learn keeps a refusal and returns it as ErrNoEvents; other errors it returns as they are.
func (o *eventsOffer) learn(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.why = nil
		return nil
	}
	for _, kind := range []error{ErrRefused, ErrNotFound, ErrNotPrefect, ErrUnauthorized} {
		if errors.Is(err, kind) {
			o.why, o.until = fmt.Errorf("%w: %w", ErrNoEvents, err), time.Now().Add(noEventsFor)
			return o.why
		}
	}
	return err
}

// AssetsOfTaskRuns reads the asset events of task runs that began no earlier than since, by task run, in the order in
// which they occurred. ErrNoEvents: the server shows none.
func (r *Reader) AssetsOfTaskRuns(ctx context.Context, ids []uuid.UUID, since time.Time) (map[uuid.UUID][]AssetEvent, []BadRow, error) {
	return r.assets(ctx, "prefect.task-run.", ids, since)
}

// AssetsOfFlowRuns reads the asset events of all task runs of flow runs, as AssetsOfTaskRuns does.
func (r *Reader) AssetsOfFlowRuns(ctx context.Context, ids []uuid.UUID, since time.Time) (map[uuid.UUID][]AssetEvent, []BadRow, error) {
	return r.assets(ctx, "prefect.flow-run.", ids, since)
}

func (r *Reader) assets(ctx context.Context, prefix string, ids []uuid.UUID, since time.Time) (map[uuid.UUID][]AssetEvent, []BadRow, error) {
	found := make(map[uuid.UUID][]AssetEvent)
	var bad []BadRow
	seen := make(map[uuid.UUID]bool)
	for some := range slices.Chunk(ids, assetRuns) {
		related := make([]string, len(some))
		for i, id := range some {
			related[i] = prefix + id.String()
		}
		err := r.eachAssetPage(ctx, assetFilter(since, &EventRelated{ID: related}, "ASC"), maxAssetPages, func(page EventPage) {
			bad = append(bad, page.Bad...)
			for _, e := range page.Events {
				if e.TaskRunID != uuid.Nil && !seen[e.ID] { // events that come in while pages are read shift the others
					seen[e.ID] = true
					found[e.TaskRunID] = append(found[e.TaskRunID], e)
				}
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for _, events := range found {
		slices.SortFunc(events, byOccurrence)
	}
	return found, bad, nil
}

// NewestAssetEvents returns the newest events about assets since a moment (zero: all), at most so many pages of 50.
func (r *Reader) NewestAssetEvents(ctx context.Context, since time.Time, pages int) ([]AssetEvent, error) {
	var all []AssetEvent
	err := r.eachAssetPage(ctx, assetFilter(since, nil, "DESC"), pages, func(page EventPage) {
		all = append(all, page.Events...)
	})
	return all, err
}

func assetFilter(since time.Time, related *EventRelated, order string) EventFilter {
	if since = since.UTC().Add(-clockSkew); since.Before(longAgo) {
		since = longAgo // servers refuse years that their language has none for
	}
	return EventFilter{
		Occurred: EventWindow{Since: since, Until: farAhead},
		Event:    EventNames{Prefix: []string{assetEvents}}, Related: related, Order: order,
	}
}

func (r *Reader) eachAssetPage(ctx context.Context, f EventFilter, most int, take func(EventPage)) error {
	if err := r.events.refused(); err != nil {
		return err
	}
	page, err := r.api.AssetEvents(ctx, f)
	for read := 1; ; read++ {
		if err = r.events.learn(err); err != nil {
			return fmt.Errorf("reading events about assets: %w", err)
		}
		take(page)
		if page.Next == "" || read >= most {
			return nil
		}
		page, err = r.api.NextAssetEvents(ctx, page)
	}
}

func byOccurrence(a, b AssetEvent) int {
	if c := a.Occurred.Compare(b.Occurred); c != 0 {
		return c
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}
