package ingest_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// TestLateAssetsOfARunWithUpstreams tells an end again with all that it said before, though the runs it took inputs from
// are not in the portion.
func TestLateAssetsOfARunWithUpstreams(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]int{"young": 20, "older": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newAssetRig(t)
			flow := r.flowRun("Flow", 0, 0)
			up := r.taskRun(&flow.ID, "up", 0, 1)
			r.see(1, tasks(up))
			task := r.taskRun(&flow.ID, "make", 2, end, up.ID)
			r.made(task, "s3://lake/clean", 5)
			r.see(end+1, tasks(task))
			wantEnds(t, r.ledger.last(), "COMPLETE Flow.make")
			r.see(32, tasks())
			wantEnds(t, r.ledger.last(), "COMPLETE Flow.make >clean")
			if n := len(r.ledger.last().Events); n == 1 && !containsAll(string(r.ledger.last().Events[0].Body), `"jobDependencies"`, up.ID.String()) {
				t.Errorf("the end that was told again has lost its dependencies: %s", r.ledger.last().Events[0].Body)
			}
		})
	}
}

// TestLateAssetsAfterAFailedCommit tells an end again though the first try to store it failed.
func TestLateAssetsAfterAFailedCommit(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	flow := r.flowRun("Flow", 0, 0)
	task := r.taskRun(&flow.ID, "make", 1, 2)
	r.made(task, "s3://lake/clean", 5)
	r.see(3, tasks(task))
	r.ledger.fail = errors.New("disk full")
	r.now = *at(40)
	if _, err := r.recorder.Record(t.Context(), prefect.Changes{Now: r.now}, live); err == nil {
		t.Fatal("nothing failed")
	}
	r.ledger.fail = nil
	r.see(80, tasks())
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make >clean")
}

// TestAssetsMuchLaterThanTheyAreWaitedFor looks for the assets of a job that is known to make some until they are there.
func TestAssetsMuchLaterThanTheyAreWaitedFor(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	flow := r.flowRun("Flow", 0, 0)
	first := r.taskRun(&flow.ID, "make", 1, 2)
	r.made(first, "s3://lake/a", 0)
	r.see(60, tasks(first))
	second := r.taskRun(&flow.ID, "make", 61, 62)
	r.made(second, "s3://lake/b", 45)
	r.see(70, tasks(second))
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make")
	for s := 72; s < 160 && len(r.ledger.last().Events) == 0 || s == 72; s += 2 {
		r.see(s, tasks())
	}
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make >b")
}

// TestNoLooksForAssetsWhileNoneAreHeardOf leaves the looks out while events say that nothing happened to an asset, but for one
// in a while, which finds what no event told.
func TestNoLooksForAssetsWhileNoneAreHeardOf(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	quiet := time.Hour
	r.recorder.AssetsQuiet = func() time.Duration { return quiet }
	flow := r.flowRun("Flow", 0, 0)
	second := 0
	end := func(name string) prefect.TaskRun {
		second += 20
		return r.end(flow, name, second)
	}
	looks := func() int { return r.prefect.Count("/events/filter") }
	for range 12 {
		end("plain")
	}
	if n := looks(); n != 1 {
		t.Fatalf("%d looks for assets in 4 minutes, want only the first", n)
	}
	silent := end("silent")
	r.made(silent, "s3://lake/silent", 0)
	for second < 600 {
		end("plain")
	}
	if n := looks(); n != 1 {
		t.Errorf("%d looks in 10 minutes", n)
	}
	for second < 680 {
		end("plain")
	}
	told := slices.DeleteFunc(r.ledger.all(), func(e adapter.Event) bool { return e.Run != silent.ID })
	if last := told[len(told)-1]; !containsText(last.Body, "lake") {
		t.Errorf("what no event told was not found: the last of %d events is %s", len(told), last.Body)
	}
	before := looks()
	quiet = 0 // something was heard
	end("plain")
	end("plain")
	if n := looks(); n <= before {
		t.Error("no look once something was heard")
	}
}

// TestLooksForAssetsAreTheRarerTheLongerNoneIsHeardOf looks soon after something was heard, or could not be, and then at distances
// that double, once more when all that happened till then must be readable.
func TestLooksForAssetsAreTheRarerTheLongerNoneIsHeardOf(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	heard := 0
	r.recorder.AssetsQuiet = func() time.Duration { return r.now.Sub(*at(heard)) }
	flow := r.flowRun("Flow", 0, 0)
	var looked []int
	for second := 5; second < 900; second += 5 {
		if second == 400 {
			heard = second
		}
		before := r.prefect.Count("/events/filter")
		r.end(flow, "plain", second)
		if r.prefect.Count("/events/filter") > before {
			looked = append(looked, second)
		}
	}
	if want := []int{5, 35, 75, 155, 185, 405, 435, 475, 555, 585}; !slices.Equal(looked, want) {
		t.Errorf("looked at %v, want %v", looked, want)
	}
}

// TestAnAssetWrittenLateAfterAReconnect finds within minutes what could not be heard and was written down late, though nothing
// ends any more.
func TestAnAssetWrittenLateAfterAReconnect(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	heard := 0
	r.recorder.AssetsQuiet = func() time.Duration { return r.now.Sub(*at(heard)) }
	flow := r.flowRun("Flow", 0, 0)
	r.end(flow, "plain", 5)
	silent := r.end(flow, "silent", 20)
	r.made(silent, "s3://lake/silent", 170)
	heard = 70
	r.wait(75, 300, 5)
	if !r.ledger.mentions(silent.ID, "lake") {
		t.Error("the asset was not found")
	}
}

// TestAssetsOfARunThatWasReadLate finds assets that were written down after their run was read and asked about, though its
// job made none before.
func TestAssetsOfARunThatWasReadLate(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	flow := r.flowRun("Flow", 0, 0)
	maker := r.taskRun(&flow.ID, "make", 1, 2)
	r.made(maker, "s3://lake/a", 0)
	r.see(60, tasks(maker))
	r.wait(62, 400, 10)
	other := r.taskRun(&flow.ID, "other", 400, 402)
	r.made(other, "s3://lake/b", 40)
	r.see(430, tasks(other))
	r.wait(432, 600, 10)
	if !r.ledger.mentions(other.ID, "lake") {
		t.Error("the asset was not found")
	}
}

// The last asset of a night, which no event told, is found though nothing ends after it, and though a restart comes between.
func TestAssetsThatNobodyHeardOfAfterTheLastEnd(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]int{"running on": 0, "over a restart": 750, "an hour after a restart": 4100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newAssetRig(t)
			start := func() { r.recorder.AssetsQuiet = func() time.Duration { return time.Hour } }
			start()
			flow := r.flowRun("Flow", 0, 0)
			for _, second := range []int{20, 60, 100} {
				r.end(flow, "plain", second)
			}
			silent := r.end(flow, "silent", 120)
			r.made(silent, "s3://lake/silent", 5)
			r.wait(150, 500, 30)
			if restart > 0 {
				r.with(func(*adapter.Settings) {})
				start()
				r.recorder.Resume(*at(480))
				r.end(flow, "plain", restart)
			}
			r.wait(max(restart, 750)+30, restart+1200, 30)
			if !r.ledger.mentions(silent.ID, "lake") {
				t.Error("the asset was not found")
			}
		})
	}
}

// However much was made while the listener was away, what it left out before is found.
func TestAssetsBeforeManyOthers(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	flow := r.flowRun("Flow", 0, 0)
	early := r.end(flow, "early", 20)
	r.made(early, "s3://lake/early", 30)
	loud := r.taskRun(&flow.ID, "loud", 100, 200)
	for i := range 250 {
		r.made(loud, fmt.Sprint("s3://lake/", i), 0)
	}
	r.with(func(*adapter.Settings) {})
	r.recorder.Resume(*at(22))
	r.end(flow, "plain", 3600)
	if !r.ledger.mentions(early.ID, "lake") {
		t.Error("the asset was not found")
	}
}

// A look that comes in some minutes, whatever happens, holds up none that is due now.
func TestAnAssetThatIsHeardOfAfterAQuietTime(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	quiet := time.Hour
	r.recorder.AssetsQuiet = func() time.Duration { return quiet }
	flow := r.flowRun("Flow", 0, 0)
	for _, second := range []int{20, 120} {
		r.end(flow, "plain", second)
	}
	r.wait(150, 400, 30)
	quiet = 0
	heard := r.taskRun(&flow.ID, "make", 398, 399)
	r.made(heard, "s3://lake/heard", 5)
	for _, second := range []int{400, 415, 430} {
		r.see(second, tasks(heard))
	}
	if !r.ledger.mentions(heard.ID, "lake") {
		t.Error("the asset was not found within half a minute")
	}
}
