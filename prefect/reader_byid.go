package prefect

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// fetchIDs reads rows by id, as many at once as a page holds. Each answer comes with the ids that were asked for.
func fetchIDs[T any](ctx context.Context, src *pages[T], ids []uuid.UUID, filter func([]uuid.UUID) Filter, emit func([]uuid.UUID, Page[T]) error) error {
	for batch := range slices.Chunk(ids, src.most) {
		f := filter(batch)
		f.Limit = len(batch)
		page, err := src.list(ctx, f)
		if err != nil {
			return fmt.Errorf("reading %s by id: %w", src.resource, err)
		}
		if err := emit(batch, page); err != nil {
			return err
		}
	}
	return nil
}

// readIDs reads runs by id. It gives the runs that are there, and as gone the ids that the server doesn't have. Where
// a row came whose id can't be read, none of the ids that were asked for with it counts as gone: it may be the one.
func readIDs[T run](ctx context.Context, api RunLister, of kind[T], ids []uuid.UUID, emit func(Changes) error) error {
	filter := func(ids []uuid.UUID) Filter { return of.filter(Filter{}, RunFilter{ID: &AnyID{Any: ids}}) }
	return fetchIDs(ctx, of.pages(api), ids, filter, func(asked []uuid.UUID, page Page[T]) error {
		c := changesOf(of, page)
		c.Gone = absent(asked, page, T.id)
		return emit(c)
	})
}

// absent returns the ids that a server which was asked for them doesn't have.
func absent[T any](asked []uuid.UUID, page Page[T], id func(T) uuid.UUID) []uuid.UUID {
	there := make(map[uuid.UUID]bool, len(asked))
	for _, row := range page.Rows {
		there[id(row)] = true
	}
	for _, row := range page.Bad {
		id, err := uuid.Parse(row.ID)
		if err != nil {
			return nil
		}
		there[id] = true
	}
	return keep(asked, func(id uuid.UUID) bool { return !there[id] })
}
