package prefect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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

// decodeRows reads a list row by row, so that one odd row spoils no other. It returns how many there were.
func decodeRows[T any](a *answer, page *Page[T]) (int, error) {
	count := 0
	for raw, err := range elements(a.data) {
		if err != nil {
			return count, a.strange(err)
		}
		count++
		row, err := decodeRow[T](raw)
		if err != nil {
			page.Bad = append(page.Bad, badRow(a.asked.resource, raw, err.Error()))
			continue
		}
		page.Rows = append(page.Rows, row)
	}
	return count, nil
}

// elements gives the elements of a JSON list one by one, each as it stands in data, which is known to be JSON. A decoder
// would check and copy each of them again.
func elements(data []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		rest := bytes.TrimLeft(data, jsonSpace)
		if len(rest) == 0 || rest[0] != '[' {
			yield(nil, errors.New("not a list"))
			return
		}
		for rest = bytes.TrimLeft(rest[1:], jsonSpace); len(rest) > 0 && rest[0] != ']'; {
			n := valueLength(rest)
			if !yield(rest[:n], nil) {
				return
			}
			rest = bytes.TrimLeft(rest[n:], jsonSpace)
			if len(rest) > 0 && rest[0] == ',' {
				rest = bytes.TrimLeft(rest[1:], jsonSpace)
			}
		}
	}
}

// jsonSpace is what JSON takes for white space.
const jsonSpace = " \t\r\n"

// valueLength is the length of the JSON value at the beginning of data, which is known to be JSON.
func valueLength(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // the end of the list behind a number or a word
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(data))
			}
		}
	}
	return len(data)
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
