package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

const namespace = "prefect_openlineage"

// requestMetrics counts the requests to Prefect.
type requestMetrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

var _ prefect.Observer = (*requestMetrics)(nil)

func newRequestMetrics(registry prometheus.Registerer) *requestMetrics {
	with := promauto.With(registry)
	return &requestMetrics{
		requests: with.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "prefect_requests_total", Help: "Requests to Prefect, each try by itself.",
		}, []string{"resource", "result"}),
		seconds: with.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "prefect_request_duration_seconds", Help: "How long Prefect took to answer.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"resource"}),
	}
}

// ObserveRequest counts one try.
func (m *requestMetrics) ObserveRequest(resource, result string, took time.Duration) {
	m.requests.WithLabelValues(resource, result).Inc()
	m.seconds.WithLabelValues(resource).Observe(took.Seconds())
}

// storeMetrics show how much room the store takes.
type storeMetrics struct {
	outbox, database, free prometheus.Gauge
}

// newStoreMetrics takes the outbox's limit in bytes, since alerts need it beside the outbox's size.
func newStoreMetrics(registry prometheus.Registerer, maxOutbox int64) *storeMetrics {
	gauge := func(name, help string) prometheus.Gauge {
		return promauto.With(registry).NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	}
	gauge("outbox_limit_bytes", "What the events in the outbox may take before reading rests.").Set(float64(maxOutbox))
	return &storeMetrics{
		outbox:   gauge("outbox_size_bytes", "What the events in the outbox take, dead letters included."),
		database: gauge("state_size_bytes", "What the store's files take."),
		free:     gauge("state_free_bytes", "What is left on the store's disk."),
	}
}

func (m *storeMetrics) set(size state.Size) {
	m.outbox.Set(float64(size.OutboxBytes))
	m.database.Set(float64(size.Database))
	m.free.Set(float64(size.DiskFree))
}

// reloadMetrics show when secrets were last taken up.
type reloadMetrics struct{ at prometheus.Gauge }

func newReloadMetrics(registry prometheus.Registerer) *reloadMetrics {
	return &reloadMetrics{promauto.With(registry).NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "config_credentials_reload_success_timestamp_seconds",
		Help: "When secrets were last read again from changed files; 0: never.",
	})}
}

func (m *reloadMetrics) reloaded() { m.at.SetToCurrentTime() }
