package sqlite

import "strings"

// bulkRows is how many rows one statement inserts where there are many. A statement costs as much as the rows that it
// inserts, and each further row in it a part of that.
const bulkRows = 16

// bulk is an INSERT of rows that are alike.
type bulk struct {
	one, many string
	width     int // values of a row
}

// newBulk makes an INSERT of its part before the rows, how many values a row has, and its part behind the rows.
func newBulk(head string, width int, tail string) bulk {
	row := "(?" + strings.Repeat(", ?", width-1) + ")"
	return bulk{
		one:   head + " VALUES " + row + tail,
		many:  head + " VALUES " + row + strings.Repeat(", "+row, bulkRows-1) + tail,
		width: width,
	}
}

// insertAll inserts rows in their order. Their values stand one after the other.
func (t *tx) insertAll(b bulk, values []any) error {
	for len(values) >= bulkRows*b.width {
		if _, err := t.exec(b.many, values[:bulkRows*b.width]...); err != nil {
			return err
		}
		values = values[bulkRows*b.width:]
	}
	for len(values) > 0 {
		if _, err := t.exec(b.one, values[:b.width]...); err != nil {
			return err
		}
		values = values[b.width:]
	}
	return nil
}
