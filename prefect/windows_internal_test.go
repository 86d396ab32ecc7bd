package prefect

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var midday = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestCursorBegin(t *testing.T) {
	t.Parallel()
	at := midday.Add
	for _, test := range []struct {
		name      string
		cur, want Cursor
		from      time.Time
	}{
		{
			name: "first start",
			want: Cursor{Ended: at(-time.Hour), Swept10m: midday, SweptDay: midday, Since: at(-time.Hour)},
			from: at(-time.Hour),
		},
		{
			name: "going on",
			cur:  Cursor{Ended: at(-2 * time.Second), Swept10m: at(-time.Second), SweptDay: at(-time.Minute)},
			want: Cursor{Ended: at(-2 * time.Second), Swept10m: at(-time.Second), SweptDay: at(-time.Minute)},
			from: at(-32 * time.Second),
		},
		{
			name: "just begun",
			cur:  Cursor{Ended: at(-2 * time.Second), Since: at(-12 * time.Second)},
			want: Cursor{Ended: at(-2 * time.Second), Since: at(-12 * time.Second)},
			from: at(-12 * time.Second),
		},
		{
			name: "a replica whose clock is behind",
			cur:  Cursor{Ended: at(3 * time.Second), Swept10m: midday, SweptDay: midday},
			want: Cursor{Ended: at(3 * time.Second), Swept10m: midday, SweptDay: midday},
			from: at(-30 * time.Second),
		},
		{
			name: "a clock that was set back",
			cur:  Cursor{Ended: at(time.Hour), Swept10m: at(time.Hour), SweptDay: at(time.Hour), Since: at(-48 * time.Hour)},
			want: Cursor{Ended: midday, Since: at(-48 * time.Hour)},
			from: at(-30 * time.Second),
		},
		{
			name: "a clock that was set back behind the first start",
			cur:  Cursor{Ended: at(3 * time.Hour), Swept10m: at(3 * time.Hour), SweptDay: at(3 * time.Hour), Since: at(2 * time.Hour)},
			want: Cursor{Ended: midday, Since: at(-time.Hour)},
			from: at(-30 * time.Second),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := test.cur.begin(midday, time.Hour)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("position (-want +got):\n%s", diff)
			}
			if from := got.from(midday); !from.Equal(test.from) {
				t.Errorf("read from %v, want %v", from, test.from)
			}
		})
	}
}

func TestCursorSweeps(t *testing.T) {
	t.Parallel()
	at := midday.Add
	due := func(from, to time.Duration) *span { return &span{from: at(from), to: at(to)} }
	for _, test := range []struct {
		name     string
		cur      Cursor
		tenM, d1 *span
	}{
		{name: "not yet", cur: Cursor{Ended: at(-2 * time.Second), Swept10m: at(-59 * time.Second), SweptDay: at(-59 * time.Minute)}},
		{
			name: "due", cur: Cursor{Ended: at(-2 * time.Second), Swept10m: at(-61 * time.Second), SweptDay: at(-61 * time.Minute)},
			tenM: due(-10*time.Minute-2*time.Second, -32*time.Second), d1: due(-24*time.Hour-time.Minute, -32*time.Second),
		},
		{
			name: "after an outage", cur: Cursor{Ended: at(-5 * time.Hour), Swept10m: at(-5 * time.Hour), SweptDay: at(-5*time.Hour - 10*time.Minute)},
			tenM: due(-5*time.Hour-10*time.Minute, -5*time.Hour-30*time.Second), d1: due(-29*time.Hour, -5*time.Hour-30*time.Second),
		},
		{
			name: "the position has moved on, the look back not", cur: Cursor{Ended: at(-time.Hour), Swept10m: at(-5 * time.Hour), SweptDay: at(-5 * time.Hour)},
			tenM: due(-5*time.Hour-9*time.Minute, -time.Hour-30*time.Second), d1: due(-28*time.Hour, -time.Hour-30*time.Second),
		},
		{
			name: "never taken", cur: Cursor{Ended: midday},
			tenM: due(-10*time.Minute, -30*time.Second), d1: due(-24*time.Hour, -30*time.Second),
		},
		{
			name: "not behind the first start", cur: Cursor{Ended: midday, Since: at(-3 * time.Minute)},
			tenM: due(-3*time.Minute, -30*time.Second), d1: due(-3*time.Minute, -30*time.Second),
		},
		{
			name: "taken in the future", cur: Cursor{Ended: midday, Swept10m: at(time.Hour), SweptDay: midday},
			tenM: due(-10*time.Minute, -30*time.Second),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, look := range []struct {
				what string
				got  *sweep
				want *span
			}{{"10 minutes", test.cur.sweep10m(midday), test.tenM}, {"a day", test.cur.sweepDay(midday), test.d1}} {
				switch {
				case look.got == nil && look.want == nil:
				case look.got == nil || look.want == nil:
					t.Errorf("look back over %s: got %v, want %v", look.what, look.got, look.want)
				case look.got.left != *look.want || look.got.began != midday:
					t.Errorf("look back over %s: got %+v, want %+v", look.what, *look.got, *look.want)
				}
			}
		})
	}
}

func TestSlicer(t *testing.T) {
	t.Parallel()
	end := midday.Add(time.Hour)
	var s slicer
	s.begin()
	if got, want := s.next(midday, end, true), (span{from: midday, to: midday.Add(firstSlice)}); got != want {
		t.Errorf("the first slice is %v, want %v", got, want)
	}
	for range 3 {
		s.went(2)
	}
	if got, want := s.next(midday, end, true), (span{from: midday}); got != want {
		t.Errorf("the last slice is %v, want %v", got, want)
	}
	if got, want := s.next(midday, end, false), (span{from: midday, to: end}); got != want {
		t.Errorf("the last slice is %v, want %v", got, want)
	}
	s.went(41)
	if s.width != 4*firstSlice {
		t.Errorf("after a long slice the next is %v wide, want %v", s.width, 4*firstSlice)
	}
	s.begin()
	if s.width != firstSlice {
		t.Errorf("the next read begins %v wide, want %v", s.width, firstSlice)
	}
}

func TestSlicerCuts(t *testing.T) {
	t.Parallel()
	slow := fmt.Errorf("reading: %w", &Error{Kind: ErrTimeout})
	for _, test := range []struct {
		name   string
		err    error
		length time.Duration
		cut    bool
	}{
		{"no answer in time", slow, time.Hour, true},
		{"server error", &Error{Kind: ErrUnavailable, Status: 503}, time.Hour, true},
		{"short already", slow, leastSlice, false},
		{"too many requests", &Error{Kind: ErrUnavailable, Status: 429}, time.Hour, false},
		{"server away", &Error{Kind: ErrUnavailable}, time.Hour, false},
		{"unauthorized", &Error{Kind: ErrUnauthorized, Status: 401}, time.Hour, false},
		{"something else", errors.New("other"), time.Hour, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := slicer{width: 24 * time.Hour}
			if got := s.cut(test.err, test.length); got != test.cut {
				t.Errorf("cut: %v, want %v", got, test.cut)
			}
			if test.cut && s.width != test.length/4 {
				t.Errorf("the next slice is %v wide, want %v", s.width, test.length/4)
			}
		})
	}
	s := slicer{width: 1000 * time.Hour}
	for n := range mostCuts + 1 {
		if got := s.cut(slow, s.width); got != (n < mostCuts) {
			t.Errorf("cut %d: %v", n, got)
		}
	}
	s.went(1)
	if !s.cut(slow, time.Hour) {
		t.Error("a slice that was read doesn't set the count back")
	}
}
