package prefect

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// shelf is a list of task runs that changes between the pages that are read of it.
type shelf struct {
	rows   map[uuid.UUID]TaskRun
	made   uint32
	most   int
	asked  []Filter
	meddle func() // before each page but the first
}

func (s *shelf) TaskRuns(_ context.Context, f Filter) (Page[TaskRun], error) {
	if len(s.asked) > 0 && s.meddle != nil {
		s.meddle()
	}
	s.asked = append(s.asked, f)
	var rows []TaskRun
	for _, row := range s.rows {
		if w := f.TaskRuns.EndTime; w == nil || row.EndTime != nil &&
			(w.After == nil || !row.EndTime.Before(*w.After)) && (w.Before == nil || !row.EndTime.After(*w.Before)) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, byID(TaskRun.id).compare)
	if f.Sort == sortEnd {
		slices.SortStableFunc(rows, byEnd[TaskRun]().compare)
	}
	rows = rows[min(f.Offset, len(rows)):]
	return Page[TaskRun]{Rows: slices.Clone(rows[:min(f.Limit, len(rows))])}, nil
}

func (s *shelf) CountTaskRuns(context.Context, RunFilter) (int, error)   { return len(s.rows), nil }
func (s *shelf) FlowRuns(context.Context, Filter) (Page[FlowRun], error) { return Page[FlowRun]{}, nil }
func (s *shelf) Version(context.Context) (string, error)                 { return "", nil }
func (s *shelf) PageLimit() int                                          { return s.most }

// wantAsked fails the test unless the questions so far had these numbers.
func (s *shelf) wantAsked(t *testing.T, what string, number func(Filter) int, want []int) {
	t.Helper()
	var got []int
	for _, f := range s.asked {
		got = append(got, number(f))
	}
	if !slices.Equal(got, want) {
		t.Errorf("asked with the %s %v, want %v", what, got, want)
	}
}

// put adds a task run at some place in the order of ids, which ended some seconds into the year.
func (s *shelf) put(place uint32, end int) uuid.UUID {
	s.made++
	var id uuid.UUID
	binary.BigEndian.PutUint32(id[:4], place)
	binary.BigEndian.PutUint32(id[12:], s.made)
	at := longAgo.Add(time.Duration(end) * time.Second)
	s.rows[id] = TaskRun{ID: id, EndTime: &at}
	return id
}

func drawShelf(t *rapid.T) *shelf {
	s := &shelf{rows: make(map[uuid.UUID]TaskRun), most: rapid.IntRange(1, 6).Draw(t, "page")}
	for range rapid.IntRange(0, 40).Draw(t, "rows") {
		s.put(rapid.Uint32Range(0, 1000).Draw(t, "place"), rapid.IntRange(0, 12).Draw(t, "end"))
	}
	return s
}

// meddleWith makes rows come and go between pages, and returns the rows that stay all along.
func meddleWith(t *rapid.T, s *shelf) map[uuid.UUID]struct{} {
	stay := make(map[uuid.UUID]struct{})
	for id := range s.rows {
		stay[id] = struct{}{}
	}
	s.meddle = func() {
		for range rapid.IntRange(0, 2).Draw(t, "come") {
			s.put(rapid.Uint32Range(0, 1000).Draw(t, "place"), rapid.IntRange(0, 12).Draw(t, "end"))
		}
		ids := make([]uuid.UUID, 0, len(s.rows))
		for id := range s.rows {
			ids = append(ids, id)
		}
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		for range min(rapid.IntRange(0, 2).Draw(t, "go"), len(ids)) {
			id := rapid.SampledFrom(ids).Draw(t, "gone")
			delete(s.rows, id)
			delete(stay, id)
		}
	}
	return stay
}

func checkOnce(t *rapid.T, given []TaskRun, stay map[uuid.UUID]struct{}) {
	times := make(map[uuid.UUID]int)
	for _, row := range given {
		times[row.ID]++
	}
	for id, n := range times {
		if n != 1 {
			t.Fatalf("%s was given %d times", id, n)
		}
	}
	for id := range stay {
		if times[id] == 0 {
			t.Fatalf("%s was there all along and was not given", id)
		}
	}
}

func TestWalkOffsetsMissesNoRowThatStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawShelf(t)
		if s.most == 1 {
			s.most = 2 // a page of one row can't begin with a row of the page before
		}
		stay := meddleWith(t, s)
		var given []TaskRun
		of := taskRunKind(s)
		w := walk[TaskRun]{src: of.pages(s), filter: of.filter(Filter{}, RunFilter{}), by: byID(TaskRun.id)}
		if rapid.Bool().Draw(t, "little first") {
			w.first = 2
		}
		err := w.read(t.Context(), func(page Page[TaskRun]) (bool, error) {
			given = append(given, page.Rows...)
			return true, nil
		})
		if errors.Is(err, errMoving) {
			t.Skip("rows left faster than they could be read, and that was said")
		}
		if err != nil {
			t.Fatal(err)
		}
		checkOnce(t, given, stay)
	})
}

func TestEndsMissesNoRowThatStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawShelf(t)
		if s.most == 1 {
			s.most = 2
		}
		in := span{from: longAgo.Add(2 * time.Second), to: longAgo.Add(10 * time.Second)}
		stay := meddleWith(t, s)
		for id := range stay {
			if end := s.rows[id].EndTime; end.Before(in.from) || end.After(in.to) {
				delete(stay, id)
			}
		}
		var given []TaskRun
		err := newEnds(s, taskRunKind(s), Filter{}, RunFilter{}).read(t.Context(), in, func(page Page[TaskRun]) error {
			given = append(given, page.Rows...)
			return nil
		})
		if errors.Is(err, errMoving) {
			t.Skip("rows left faster than they could be read, and that was said")
		}
		if err != nil {
			t.Fatal(err)
		}
		checkOnce(t, given, stay)
	})
}

func TestWalkTopMissesNoRowThatStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawShelf(t)
		if s.most == 1 {
			s.most = 2
		}
		in := span{from: longAgo.Add(4 * time.Second)}
		if rapid.Bool().Draw(t, "not up to the top") {
			in.to = longAgo.Add(9 * time.Second)
		}
		stay := meddleWith(t, s)
		for id := range stay {
			if end := s.rows[id].EndTime; end.Before(in.from) || !in.to.IsZero() && end.After(in.to) {
				delete(stay, id)
			}
		}
		var given []TaskRun
		err := walkTop(t.Context(), s, taskRunKind(s), Filter{}, RunFilter{}, in, func(page Page[TaskRun]) error {
			given = append(given, page.Rows...)
			return nil
		})
		if errors.Is(err, errMoving) {
			t.Skip("rows left faster than they could be read, and that was said")
		}
		if err != nil {
			t.Fatal(err)
		}
		checkOnce(t, given, stay)
	})
}

func TestWalkOffsetsAsksForNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rows, most int
		offsets    []int
	}{
		{rows: 0, most: 4, offsets: []int{0}},
		{rows: 3, most: 4, offsets: []int{0}},
		{rows: 4, most: 4, offsets: []int{0, 3}},
		{rows: 10, most: 4, offsets: []int{0, 3, 6, 9}},
		{rows: 3, most: 1, offsets: []int{0, 1, 2, 3}},
	} {
		t.Run(fmt.Sprintf("%d rows in pages of %d", test.rows, test.most), func(t *testing.T) {
			t.Parallel()
			s := &shelf{rows: make(map[uuid.UUID]TaskRun), most: test.most}
			for i := range test.rows {
				s.put(uint32(i), i)
			}
			of := taskRunKind(s)
			got := 0
			err := walkOffsets(t.Context(), of.pages(s), of.filter(Filter{}, RunFilter{}), byID(TaskRun.id), func(page Page[TaskRun]) (bool, error) {
				got += len(page.Rows)
				return true, nil
			})
			if err != nil || got != test.rows {
				t.Fatalf("got %d rows, %v", got, err)
			}
			s.wantAsked(t, "offsets", func(f Filter) int { return f.Offset }, test.offsets)
		})
	}
}

// A poll that has to read from the top asks for little where little ended.
func TestWalkTopAsksForLittleFirst(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		wanted int // rows that ended in the span
		limits []int
	}{
		{wanted: 0, limits: []int{20}},
		{wanted: 19, limits: []int{20}},
		{wanted: 60, limits: []int{20, 80}},
		{wanted: 400, limits: []int{20, 80, 200, 200}},
	} {
		t.Run(fmt.Sprint(test.wanted), func(t *testing.T) {
			t.Parallel()
			s := &shelf{rows: make(map[uuid.UUID]TaskRun), most: MaxPage}
			for i := range 1000 {
				s.put(uint32(i), i)
			}
			in := span{from: longAgo.Add(time.Duration(1000-test.wanted) * time.Second)}
			got := 0
			err := walkTop(t.Context(), s, taskRunKind(s), Filter{}, RunFilter{}, in, func(page Page[TaskRun]) error {
				got += len(page.Rows)
				return nil
			})
			if err != nil || got != test.wanted {
				t.Fatalf("got %d rows, %v", got, err)
			}
			s.wantAsked(t, "limits", func(f Filter) int { return f.Limit }, test.limits)
		})
	}
}

func TestWalkOffsetsGivesUpWhenEverythingMoves(t *testing.T) {
	t.Parallel()
	s := &shelf{rows: make(map[uuid.UUID]TaskRun), most: 2}
	for i := range 200 {
		s.put(uint32(i), i)
	}
	next := uint32(199)
	s.meddle = func() { // the upper half of what is left leaves before each page
		for range 3 {
			for id := range s.rows {
				if binary.BigEndian.Uint32(id[:4]) == next {
					delete(s.rows, id)
				}
			}
			next--
		}
	}
	of := taskRunKind(s)
	err := walkOffsets(t.Context(), of.pages(s), of.filter(Filter{}, RunFilter{}), byID(TaskRun.id), func(Page[TaskRun]) (bool, error) { return true, nil })
	if err != nil && !errors.Is(err, errMoving) {
		t.Fatal(err)
	}
	if len(s.asked) > 200 {
		t.Errorf("%d pages were asked for", len(s.asked))
	}
}

func TestEndsReadsALevelLargerThanAPage(t *testing.T) {
	t.Parallel()
	s := &shelf{rows: make(map[uuid.UUID]TaskRun), most: 5}
	for i := range 30 {
		s.put(uint32(i), 7)
	}
	for i := range 8 {
		s.put(uint32(i), i)
	}
	seen := make(map[uuid.UUID]bool)
	err := newEnds(s, taskRunKind(s), Filter{}, RunFilter{}).read(t.Context(), span{from: longAgo}, func(page Page[TaskRun]) error {
		for _, row := range page.Rows {
			if seen[row.ID] {
				t.Errorf("%s was given twice", row.ID)
			}
			seen[row.ID] = true
		}
		return nil
	})
	if err != nil || len(seen) != 38 {
		t.Fatalf("got %d rows of 38: %v", len(seen), err)
	}
}

func TestEndsStopsWhenTheFilterIsOverlooked(t *testing.T) {
	t.Parallel()
	s := &shelf{rows: make(map[uuid.UUID]TaskRun), most: 2}
	for i := range 5 {
		s.put(uint32(i), i)
	}
	api := overlooking{s}
	err := newEnds(api, taskRunKind(api), Filter{}, RunFilter{}).read(t.Context(), span{from: longAgo}, func(Page[TaskRun]) error { return nil })
	if !errors.Is(err, errUnfiltered) {
		t.Fatalf("got %v", err)
	}
}

// overlooking is a server that doesn't look at filters by end time.
type overlooking struct{ *shelf }

func (o overlooking) TaskRuns(ctx context.Context, f Filter) (Page[TaskRun], error) {
	r := *f.TaskRuns
	r.EndTime, f.TaskRuns = nil, &r
	return o.shelf.TaskRuns(ctx, f)
}
