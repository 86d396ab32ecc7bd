package deliver_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap/zapcore"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
)

func TestMetricsAreThereFromTheStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, &sink{name: "a"}, &sink{name: "b"})
	problems, err := testutil.GatherAndLint(r.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	want := map[string]int{
		"prefect_openlineage_delivery_attempts_total":                 2 * 5,
		"prefect_openlineage_dead_letters_total":                      2 * 3,
		"prefect_openlineage_dead_letters_requeued_total":             2,
		"prefect_openlineage_transport_blocked":                       2 * 6,
		"prefect_openlineage_delivery_duration_seconds":               2,
		"prefect_openlineage_event_age_at_delivery_seconds":           2,
		"prefect_openlineage_outbox_pending":                          2,
		"prefect_openlineage_outbox_oldest_pending_timestamp_seconds": 2,
		"prefect_openlineage_outbox_dead_letters":                     2,
		"prefect_openlineage_deliveries_in_flight":                    2,
		"prefect_openlineage_last_delivery_timestamp_seconds":         2,
		"prefect_openlineage_delivery_store_errors_total":             1,
	}
	for name, series := range want {
		got, err := testutil.GatherAndCount(r.registry, name)
		if err != nil || got != series {
			t.Errorf("%s: %d series, %v; want %d", name, got, err, series)
		}
	}
}

func TestMetricsFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := runID(1).String()
		to := &sink{name: "a", answer: func(_ context.Context, a seen) error {
			switch {
			case a.event.RunID == bad:
				return badRequest()
			case a.n > 10:
				return unauthorized()
			default:
				return nil
			}
		}}
		r := newRigWith(t, 1, deliver.Options{}, to)
		r.outbox.add(separateRuns(20)...)
		r.start()
		wait(20 * time.Second)
		_, delivered, _ := r.outbox.counts("a")
		if delivered != 9 {
			t.Fatalf("%d delivered", delivered)
		}
		err := testutil.GatherAndCompare(r.registry, strings.NewReader(`
# HELP prefect_openlineage_delivery_attempts_total Attempts to deliver an event, by what became of them.
# TYPE prefect_openlineage_delivery_attempts_total counter
prefect_openlineage_delivery_attempts_total{outcome="delivered",transport="a"} 9
prefect_openlineage_delivery_attempts_total{outcome="hold",transport="a"} 1
prefect_openlineage_delivery_attempts_total{outcome="interrupted",transport="a"} 0
prefect_openlineage_delivery_attempts_total{outcome="permanent",transport="a"} 1
prefect_openlineage_delivery_attempts_total{outcome="retry",transport="a"} 0
# HELP prefect_openlineage_dead_letters_total Events that became dead letters.
# TYPE prefect_openlineage_dead_letters_total counter
prefect_openlineage_dead_letters_total{reason="refused",transport="a"} 1
prefect_openlineage_dead_letters_total{reason="too-large",transport="a"} 0
prefect_openlineage_dead_letters_total{reason="tries",transport="a"} 0
# HELP prefect_openlineage_transport_blocked 1 while a destination is down or held, by reason.
# TYPE prefect_openlineage_transport_blocked gauge
prefect_openlineage_transport_blocked{reason="address",transport="a"} 0
prefect_openlineage_transport_blocked{reason="auth",transport="a"} 1
prefect_openlineage_transport_blocked{reason="down",transport="a"} 0
prefect_openlineage_transport_blocked{reason="other",transport="a"} 0
prefect_openlineage_transport_blocked{reason="refused",transport="a"} 0
prefect_openlineage_transport_blocked{reason="tls",transport="a"} 0
# HELP prefect_openlineage_outbox_pending Events that wait for a destination.
# TYPE prefect_openlineage_outbox_pending gauge
prefect_openlineage_outbox_pending{transport="a"} 30
# HELP prefect_openlineage_outbox_dead_letters Dead letters in the store.
# TYPE prefect_openlineage_outbox_dead_letters gauge
prefect_openlineage_outbox_dead_letters{transport="a"} 1
`), "prefect_openlineage_delivery_attempts_total", "prefect_openlineage_dead_letters_total",
			"prefect_openlineage_transport_blocked", "prefect_openlineage_outbox_pending", "prefect_openlineage_outbox_dead_letters")
		if err != nil {
			t.Error(err)
		}
		r.stop()
	})
}

// A name that is no UTF-8 must not end the process.
func TestMetricsTakeAnyName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &sink{name: "a\xff"})
		r.start()
		wait(time.Minute)
		r.stop()
		if got, err := testutil.GatherAndCount(r.registry, "prefect_openlineage_outbox_pending"); err != nil || got != 1 {
			t.Errorf("%d series, %v", got, err)
		}
	})
}

// Events are logged one by one at debug level only.
func TestLogIsQuietWhenAllIsWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &sink{name: "a"})
		r.outbox.add(separateRuns(100)...)
		r.start()
		wait(time.Minute)
		r.stop()
		if got := r.logs.FilterLevelExact(zapcore.InfoLevel).Len(); r.logs.Len() > 0 {
			t.Errorf("%d lines, %d at info: %q", r.logs.Len(), got, r.messages())
		}
	})
}

func TestWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		state deliver.DestinationState
		want  string
	}{
		{deliver.DestinationState{State: deliver.Delivering}, "delivering"},
		{deliver.DestinationState{State: deliver.Retrying, Since: now.Add(-4 * time.Second), Reason: "status-503"},
			"retrying for 4s (status-503)"},
		{deliver.DestinationState{State: deliver.Down, Since: now.Add(-3 * time.Minute), Reason: "timeout", Next: now.Add(12 * time.Second)},
			"down for 3m0s (timeout), next try in 12s"},
		{deliver.DestinationState{State: deliver.Held, Since: now.Add(-time.Hour), Reason: "auth", Next: now.Add(-time.Second)},
			"held for 1h0m0s (auth), next try in 0s"},
	}
	for _, tt := range tests {
		if got := tt.state.Words(now); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
