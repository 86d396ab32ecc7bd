package ops_test

import (
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/ops"
)

func TestReadiness(t *testing.T) {
	t.Parallel()
	type parts struct {
		health *ops.Health
		store  *ops.Condition
		poll   *ops.Beat
	}
	tests := []struct {
		name string
		do   func(p parts)
		want []string
	}{
		{"nothing yet", func(parts) {}, []string{"starting", "store: not there yet", "last poll: not yet"}},
		{"ready", func(p parts) { p.health.Started(); p.store.OK(); p.poll.Beat() }, nil},
		{"store lost", func(p parts) {
			p.health.Started()
			p.store.OK()
			p.poll.Beat()
			p.store.Fail("no space left")
		}, []string{"store: no space left"}},
		{"poll just in time", func(p parts) {
			p.health.Started()
			p.store.OK()
			p.poll.Beat()
			time.Sleep(6*time.Second - 1)
		}, nil},
		{"poll late", func(p parts) {
			p.health.Started()
			p.store.OK()
			p.poll.Beat()
			time.Sleep(45 * time.Second)
		}, []string{"last poll: 45s ago, which is longer than 6s"}},
		{"poll missed once", func(p parts) {
			p.health.Started()
			p.store.OK()
			p.poll.Beat()
			time.Sleep(time.Second)
			p.poll.Miss("answered 503")
		}, nil},
		{"poll missed and late", func(p parts) {
			p.health.Started()
			p.store.OK()
			p.poll.Beat()
			p.poll.Miss("answered 503")
			time.Sleep(10 * time.Second)
		}, []string{"last poll: 10s ago, which is longer than 6s: answered 503"}},
		{"back again", func(p parts) {
			p.health.Started()
			p.store.Fail("read-only")
			p.poll.Miss("answered 503")
			p.store.OK()
			p.poll.Beat()
		}, nil},
		{"stopping", func(p parts) {
			p.health.Started()
			p.store.OK()
			p.poll.Beat()
			p.health.Stopping()
		}, []string{"stopping"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				health := ops.NewHealth()
				p := parts{health, health.Need("store"), health.NeedBeat("last poll", 6*time.Second)}
				health.Show("destination marquez", func() (bool, string) { return false, "down for 3m0s" })
				tt.do(p)
				report := health.Report()
				if diff := cmp.Diff(tt.want, report.Reasons()); diff != "" {
					t.Error(diff)
				}
				if report.Ready != (len(tt.want) == 0) {
					t.Errorf("ready: %v", report.Ready)
				}
			})
		})
	}
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		health := ops.NewHealth()
		store := health.Need("store")
		health.NeedBeat("last poll", time.Minute)
		health.Show("destination marquez", func() (bool, string) { return false, "down" })
		store.OK()
		health.Started()
		got, err := json.MarshalIndent(health.Report(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want := `{
  "ready": false,
  "started": true,
  "stopping": false,
  "checks": [
    {
      "name": "store",
      "ok": true,
      "needed": true,
      "since": "2000-01-01T00:00:00Z"
    },
    {
      "name": "last poll",
      "ok": false,
      "needed": true,
      "words": "not yet"
    },
    {
      "name": "destination marquez",
      "ok": false,
      "needed": false,
      "words": "down"
    }
  ]
}`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestConditionKeepsItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		health := ops.NewHealth()
		store := health.Need("store")
		since := func() time.Time { return *health.Report().Checks[0].Since }
		began := since()
		time.Sleep(time.Minute)
		store.Fail("another reason")
		if !since().Equal(began) {
			t.Error("another reason is taken for another state")
		}
		store.OK()
		if !since().Equal(began.Add(time.Minute)) {
			t.Error("the change's time is not kept")
		}
	})
}

func TestHealthIsSafeToShare(t *testing.T) {
	t.Parallel()
	health := ops.NewHealth()
	store, poll := health.Need("store"), health.NeedBeat("last poll", time.Second)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				store.OK()
				store.Fail("full")
				poll.Beat()
				poll.Miss("late")
				health.Show("more", func() (bool, string) { return true, "" })
				health.Started()
				health.Report()
			}
		})
	}
	group.Wait()
	if got := len(health.Report().Checks); got != 402 {
		t.Errorf("%d checks", got)
	}
}
