package oracle_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sync/semaphore"
)

// full says whether the tests are to use the counts and times that they stand for, and not those that fit into minutes.
var full = os.Getenv("ORACLE_FULL") != ""

// scale picks a count or a time.
func scale[T any](quick, complete T) T {
	if full {
		return complete
	}
	return quick
}

// TestMain lets all tests wait side by side: most of their time is other people's waiting. What they do at once is
// bounded by slots.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "64"); err != nil { // -parallel on the command line counts before it
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	goleak.VerifyTestMain(m)
}

// The weights of tests, in slots.
const (
	light = 1 // waits for most of its time
	heavy = 2 // works
	alone = slotCount
)

const slotCount = 4

var slots = semaphore.NewWeighted(slotCount)

// takes waits until a test may work beside those that do. Nearly idle tests need not ask.
func takes(t *testing.T, weight int64) {
	t.Helper()
	if err := slots.Acquire(context.Background(), weight); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slots.Release(weight) })
}
