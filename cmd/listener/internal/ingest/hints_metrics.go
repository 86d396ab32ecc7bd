package ingest

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// HintMetrics show how events say what changes.
type HintMetrics struct {
	received, connects, dropped prometheus.Counter
	connected                   prometheus.Gauge
	latency                     prometheus.Histogram
}

// NewHintMetrics registers them.
func NewHintMetrics(registry prometheus.Registerer) *HintMetrics {
	with := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return with.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	}
	return &HintMetrics{
		received: counter("hints_received_total", "Events of Prefect that named a run in a new state or an asset."),
		connects: counter("hints_connects_total", "Connections to Prefect's events, the first included."),
		dropped:  counter("hints_dropped_total", "Runs that events named and that are left to the polls: too many at once, or not there in time."),
		connected: with.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "hints_connected", Help: "1 while Prefect's events are heard.",
		}),
		latency: with.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "hint_to_stored_seconds", Help: "From an event that named a run until what it told of is stored.",
			Buckets: []float64{.1, .25, .5, .75, 1, 1.5, 2, 3, 5, 10, 30, 60},
		}),
	}
}

func (m *HintMetrics) up(yes bool) {
	if !yes {
		m.connected.Set(0)
		return
	}
	m.connected.Set(1)
	m.connects.Inc()
}
