package prefect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// beginning is how much is kept of an answer that is too large, in bytes: enough to name its first row.
const beginning = 2048

// list reads one page. Where the server gives fewer rows at once, or the rows are so large that the answer passes the
// bound, it is put together from several answers: what the caller gets is the page that was asked for.
func list[T any](ctx context.Context, c *Client, resource string, f Filter) (Page[T], error) {
	var page Page[T]
	if f.Limit < 1 {
		return page, fmt.Errorf("listing %s: a limit of %d: servers take it for different things", resource, f.Limit)
	}
	chunk, worked := f.Limit, f.Limit // rows per answer: fewer while answers are too large, and what went last
	for end := f.Offset + f.Limit; f.Offset < end; {
		f.Limit = min(end-f.Offset, chunk, c.PageLimit())
		a, err := c.query(ctx, resource, f)
		fault, _ := errors.AsType[*Error](err)
		switch {
		case fault != nil && fault.pageLimit > 0 && fault.pageLimit < f.Limit:
			c.lowerPageLimit(fault.pageLimit)
		case errors.Is(err, ErrTooLarge) && fault.begin != nil && f.Limit > 1:
			chunk = f.Limit / 2
		case errors.Is(err, ErrTooLarge) && fault.begin != nil:
			page.Bad = append(page.Bad, badRow(resource, fault.begin, fault.Detail))
			f.Offset++
			chunk = worked
		case err != nil:
			return page, err
		default:
			if page.Served.IsZero() {
				page.Served = a.served()
			}
			count, err := decodeRows(a, &page)
			if err != nil {
				return page, err
			}
			if count < f.Limit {
				return page, nil
			}
			f.Offset += f.Limit
			worked = chunk
		}
	}
	return page, nil
}

// query asks for rows.
func (c *Client) query(ctx context.Context, resource string, f Filter) (*answer, error) {
	body, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encoding the filter for %s: %w", resource, err)
	}
	return c.send(ctx, request{method: http.MethodPost, path: "/" + resource + "/filter", resource: resource, body: body})
}

// lowerPageLimit keeps the smallest limit that the server has named.
func (c *Client) lowerPageLimit(limit int) {
	for {
		known := c.pageLimit.Load()
		if int64(limit) >= known {
			return
		}
		if c.pageLimit.CompareAndSwap(known, int64(limit)) {
			c.log.Info("the server gives smaller pages than a stock one", zap.Int("rows", limit))
			return
		}
	}
}

// served is the server's clock when it answered, zero when it didn't say.
func (a *answer) served() time.Time {
	served, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return served.UTC()
}

// decodeRows reads a list row by row, so that one odd row spoils no other and memory holds one raw row at a time. It
// returns how many there were.
func decodeRows[T any](a *answer, page *Page[T]) (int, error) {
	rows := json.NewDecoder(bytes.NewReader(a.data))
	if open, err := rows.Token(); err != nil || open != json.Delim('[') {
		return 0, a.strange(errors.New("not a list"))
	}
	count := 0
	for ; rows.More(); count++ {
		var raw json.RawMessage
		if err := rows.Decode(&raw); err != nil {
			return count, a.strange(err)
		}
		row, err := decodeRow[T](raw)
		if err != nil {
			page.Bad = append(page.Bad, badRow(a.asked.resource, raw, err.Error()))
			continue
		}
		page.Rows = append(page.Rows, row)
	}
	return count, nil
}

// get reads one row by its id.
func get[T any](ctx context.Context, c *Client, resource string, id uuid.UUID) (T, error) {
	a, err := c.send(ctx, request{method: http.MethodGet, path: "/" + resource + "/" + id.String(), resource: resource})
	if err != nil {
		var none T
		return none, err
	}
	row, err := decodeRow[T](a.data)
	if err != nil {
		bad := badRow(resource, a.data, err.Error())
		bad.ID = id.String()
		return row, &RowError{Row: bad}
	}
	return row, nil
}
