package prefect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

func TestCacheKeepsForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache[string](10, 5*time.Minute, 20*time.Second)
		there, absent, row := uuid.New(), uuid.New(), "row"
		if _, known := c.get(there); known {
			t.Error("an empty cache knows a row")
		}
		c.put(there, &row)
		c.put(absent, nil)
		check := func(id uuid.UUID, want *string, wantKnown bool) {
			t.Helper()
			if got, known := c.get(id); got != want || known != wantKnown {
				t.Errorf("got %v, %v, want %v, %v", got, known, want, wantKnown)
			}
		}
		check(there, &row, true)
		check(absent, nil, true)
		time.Sleep(20 * time.Second)
		check(there, &row, true)
		check(absent, nil, false)
		time.Sleep(4*time.Minute + 39*time.Second)
		check(there, &row, true) // being used doesn't make it any newer
		time.Sleep(time.Second)
		check(there, nil, false)
		if len(c.byID) != 0 || c.recent.Len() != 0 {
			t.Errorf("%d and %d entries are left", len(c.byID), c.recent.Len())
		}
	})
}

func TestCacheKeepsTheOnesUsedLast(t *testing.T) {
	t.Parallel()
	c := newCache[int](3, time.Hour, time.Hour)
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	for i := range 3 {
		c.put(ids[i], &i)
	}
	c.get(ids[0])
	again := 7
	c.put(ids[1], &again)
	c.put(ids[3], &again) // the third one was used the longest ago
	for i, want := range []bool{true, true, false, true} {
		if _, known := c.get(ids[i]); known != want {
			t.Errorf("row %d is known: %v, want %v", i, known, want)
		}
	}
	if got, _ := c.get(ids[1]); *got != again {
		t.Errorf("got %d", *got)
	}
	if len(c.byID) != 3 || c.recent.Len() != 3 {
		t.Errorf("%d and %d entries, want 3", len(c.byID), c.recent.Len())
	}
}
