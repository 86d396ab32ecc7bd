package deliver

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/transport"
)

const namespace = "prefect_openlineage"

// The values of the labels. They are closed sets, so that no answer of a consumer can make new series.
const (
	outcomeDelivered   = "delivered"
	outcomeInterrupted = "interrupted"

	deadTooLarge = "too-large"
	deadTired    = "tries"
	deadRefused  = "refused"

	blockDown    = "down"
	blockAuth    = "auth"
	blockAddress = "address"
	blockTLS     = "tls"
	blockRefused = "refused"
	blockOther   = "other"
)

var (
	outcomes = []string{
		outcomeDelivered, transport.Retry.String(), transport.Hold.String(), transport.Permanent.String(), outcomeInterrupted,
	}
	deadReasons  = []string{deadRefused, deadTooLarge, deadTired}
	blockReasons = []string{blockDown, blockAuth, blockAddress, blockTLS, blockRefused, blockOther}
)

// metrics are delivery's. The label transport holds the destination's name.
type metrics struct {
	attempts *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	age      *prometheus.HistogramVec
	dead     *prometheus.CounterVec
	putBack  *prometheus.CounterVec
	blocked  *prometheus.GaugeVec
	inFlight *prometheus.GaugeVec
	last     *prometheus.GaugeVec
	failures prometheus.Counter

	pending       *prometheus.GaugeVec
	oldestPending *prometheus.GaugeVec
	deadLetters   *prometheus.GaugeVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	with := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return with.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return with.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return with.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"transport"})
	}
	return &metrics{
		attempts: counter("delivery_attempts_total", "Attempts to deliver an event, by what became of them.", "transport", "outcome"),
		seconds: histogram("delivery_duration_seconds", "How long attempts to deliver an event took.",
			[]float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}),
		age: histogram("event_age_at_delivery_seconds", "Time from an event's eventTime to its delivery.",
			[]float64{.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600, 24 * 3600}),
		dead:     counter("dead_letters_total", "Events that became dead letters.", "transport", "reason"),
		putBack:  counter("dead_letters_requeued_total", "Dead letters put back because the destination refused everything.", "transport"),
		blocked:  gauge("transport_blocked", "1 while a destination is down or held, by reason.", "transport", "reason"),
		inFlight: gauge("deliveries_in_flight", "Events being sent.", "transport"),
		last:     gauge("last_delivery_timestamp_seconds", "When an event was last delivered.", "transport"),
		failures: with.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "delivery_store_errors_total", Help: "Accesses of delivery to the store that failed.",
		}),
		pending: gauge("outbox_pending", "Events that wait for a destination.", "transport"),
		oldestPending: gauge("outbox_oldest_pending_timestamp_seconds",
			"When the oldest event that waits for a destination was stored; 0 when none waits.", "transport"),
		deadLetters: gauge("outbox_dead_letters", "Dead letters in the store.", "transport"),
	}
}

// meter is one destination's part of the metrics, every label set made at zero so that rates work from the first
// failure on.
type meter struct {
	attempts, dead map[string]prometheus.Counter
	blocked        map[string]prometheus.Gauge
	seconds, age   prometheus.Observer
	putBack        prometheus.Counter
	inFlight, last prometheus.Gauge
	failures       prometheus.Counter
}

func (m *metrics) meter(destination string) *meter {
	destination = label(destination)
	of := &meter{
		attempts: make(map[string]prometheus.Counter, len(outcomes)),
		dead:     make(map[string]prometheus.Counter, len(deadReasons)),
		blocked:  make(map[string]prometheus.Gauge, len(blockReasons)),
		seconds:  m.seconds.WithLabelValues(destination),
		age:      m.age.WithLabelValues(destination),
		putBack:  m.putBack.WithLabelValues(destination),
		inFlight: m.inFlight.WithLabelValues(destination),
		last:     m.last.WithLabelValues(destination),
		failures: m.failures,
	}
	for _, outcome := range outcomes {
		of.attempts[outcome] = m.attempts.WithLabelValues(destination, outcome)
	}
	for _, reason := range deadReasons {
		of.dead[reason] = m.dead.WithLabelValues(destination, reason)
	}
	for _, reason := range blockReasons {
		of.blocked[reason] = m.blocked.WithLabelValues(destination, reason)
	}
	m.pending.WithLabelValues(destination)
	m.oldestPending.WithLabelValues(destination)
	m.deadLetters.WithLabelValues(destination)
	return of
}

// stored shows what the store says of a destination.
func (m *metrics) stored(s state.DestinationStatus) {
	name := label(s.Name)
	m.pending.WithLabelValues(name).Set(float64(s.Pending))
	m.deadLetters.WithLabelValues(name).Set(float64(s.Dead))
	m.oldestPending.WithLabelValues(name).Set(seconds(s.OldestPending))
}

// label returns a destination's name as a label's value, which must be UTF-8.
func label(name string) string { return strings.ToValidUTF8(name, "\ufffd") }

func (m *meter) attempted(r result, now time.Time) {
	if r.cancelled {
		m.attempts[outcomeInterrupted].Inc()
		return
	}
	m.seconds.Observe(r.took.Seconds())
	if r.fault != nil {
		m.attempts[r.fault.Outcome.String()].Inc()
		return
	}
	m.attempts[outcomeDelivered].Inc()
	m.age.Observe(max(0, now.Sub(r.delivery.Event.Time).Seconds()))
	m.last.Set(seconds(now))
}

func (m *meter) noted(n news, breaking bool) {
	switch n.kind {
	case troubled: // the attempts tell
	case buried:
		m.dead[deadReason(n)].Inc()
	case putBack:
		m.putBack.Add(float64(n.count))
	case blocked, still, recovered:
		current := ""
		if n.kind != recovered {
			current = blockReason(n, breaking)
		}
		for reason, gauge := range m.blocked {
			if reason == current {
				gauge.Set(1)
			} else {
				gauge.Set(0)
			}
		}
	}
}

func deadReason(n news) string {
	switch {
	case n.tired:
		return deadTired
	case n.fault.Reason == transport.ReasonTooLarge:
		return deadTooLarge
	default:
		return deadRefused
	}
}

func blockReason(n news, breaking bool) string {
	switch {
	case n.phase == down:
		return blockDown
	case breaking:
		return blockRefused
	case n.fault.Reason == transport.ReasonAuth:
		return blockAuth
	case n.fault.Reason == transport.ReasonTLS:
		return blockTLS
	case n.fault.Reason == transport.ReasonRedirect, n.fault.Reason == transport.ReasonNotAPI,
		n.fault.Status == http.StatusNotFound, n.fault.Status == http.StatusMethodNotAllowed:
		return blockAddress
	default:
		return blockOther
	}
}

// seconds returns a moment as Prometheus writes it; 0 for none.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
