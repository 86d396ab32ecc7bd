package ingest

import (
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

const namespace = "prefect_openlineage"

// Metrics are the counters of the reading side.
type Metrics struct {
	polls        *prometheus.CounterVec
	pollSeconds  prometheus.Histogram
	lastPoll     prometheus.Gauge
	cursorAt     prometheus.Gauge
	rows         *prometheus.CounterVec
	badRows      *prometheus.CounterVec
	enqueued     *prometheus.CounterVec
	repeated     prometheus.Counter
	warnings     *prometheus.CounterVec
	decisions    *prometheus.CounterVec
	deferrals    prometheus.Counter
	inferredEnds prometheus.Counter
	ingestPaused prometheus.Gauge
	runsMissing  prometheus.Gauge
	late         *prometheus.CounterVec
	noTasks      prometheus.Gauge
}

// NewMetrics registers the reading side's metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	with := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return with.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	}
	vector := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := with.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value)
		}
		return v
	}
	gauge := func(name, help string) prometheus.Gauge {
		return with.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	}
	return &Metrics{
		polls: vector("polls_total", "Polls of Prefect by how they ended.", "result", "ok", "error"),
		pollSeconds: with.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "poll_duration_seconds", Help: "How long polls took, storing included.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		lastPoll: gauge("last_poll_success_timestamp_seconds", "When Prefect was last polled with success."),
		cursorAt: gauge("cursor_timestamp_seconds", "Up to which end time (the server's clock) runs have been read."),
		rows:     vector("source_records_total", "Rows read from Prefect.", "resource", "flow_runs", "task_runs"),
		badRows: vector("source_errors_total", "Rows of Prefect that could not be read and are in quarantine.",
			"resource", "flow_runs", "task_runs", "artifacts", "flows", "deployments"),
		enqueued: vector("events_enqueued_total", "Events put into the outbox.", "event_type",
			string(adapter.Start), string(adapter.Running), string(adapter.Complete), string(adapter.Fail), string(adapter.Abort)),
		repeated: counter("events_duplicate_total", "Events that were made again and left out, since they had been told."),
		warnings: vector("warnings_total", "Oddities in Prefect's data that did not stop an event.", "rule",
			append(adapter.WarningRules(), ruleRollup)...),
		decisions: with.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "policy_decisions_total",
			Help: "Runs seen for the first time, by what decided whether they are told about (a rule of LISTENER_POLICY by its number) and how.",
		}, []string{"by", "told"}),
		deferrals:    counter("deferrals_total", "Runs left for the next poll because something they refer to was not there yet."),
		inferredEnds: counter("inferred_ends_total", "Ends that Prefect never told and that were inferred."),
		ingestPaused: gauge("ingest_paused", "1 while reading rests, because the store must not grow or belongs to another Prefect."),
		runsMissing:  gauge("known_runs_missing", "How many of the newest flow runs that were told about Prefect doesn't have any more."),
		noTasks: gauge("task_runs_missing",
			"1 while flow runs complete and none of their task runs is seen, though these flows always had some."),
		late: vector("late_runs_total", "Runs that were told about only because of a look back, by which one it was.", "look",
			string(prefect.LookLag), string(prefect.Look10m), string(prefect.LookDay)),
	}
}

func (m *Metrics) polled(took time.Duration, err error) {
	m.pollSeconds.Observe(took.Seconds())
	if err != nil {
		m.polls.WithLabelValues("error").Inc()
		return
	}
	m.polls.WithLabelValues("ok").Inc()
	m.lastPoll.SetToCurrentTime()
}

func (m *Metrics) missing(runs int) { m.runsMissing.Set(float64(runs)) }

func (m *Metrics) tasksUnseen(yes bool) {
	m.noTasks.Set(0)
	if yes {
		m.noTasks.Set(1)
	}
}

func (m *Metrics) cursor(at time.Time) { m.cursorAt.Set(float64(at.UnixMilli()) / 1000) }

func (m *Metrics) paused(yes bool) {
	m.ingestPaused.Set(0)
	if yes {
		m.ingestPaused.Set(1)
	}
}

func (m *Metrics) recorded(c prefect.Changes, b state.Batch, committed state.Committed, deferred int) {
	m.rows.WithLabelValues("flow_runs").Add(float64(len(c.FlowRuns)))
	m.rows.WithLabelValues("task_runs").Add(float64(len(c.TaskRuns)))
	for _, row := range b.Quarantine {
		m.badRows.WithLabelValues(row.Resource).Inc()
	}
	m.events(b.Events)
	counted := map[uuid.UUID]bool{}
	for _, e := range b.Events {
		if look, late := c.Late[e.Run]; late && !counted[e.Run] {
			counted[e.Run] = true
			m.late.WithLabelValues(string(look)).Inc()
		}
	}
	m.repeated.Add(float64(committed.Repeated))
	m.deferrals.Add(float64(deferred))
}

func (m *Metrics) events(events []adapter.Event) {
	for _, e := range events {
		m.enqueued.WithLabelValues(string(e.Type)).Inc()
	}
}

func (m *Metrics) inferred(ends int) { m.inferredEnds.Add(float64(ends)) }

// expect makes the series of everything that may decide about runs, so that each begins at 0.
func (m *Metrics) expect(by []string) {
	for _, word := range by {
		m.decisions.WithLabelValues(word, "true")
		m.decisions.WithLabelValues(word, "false")
	}
}

func (m *Metrics) decided(runs map[uuid.UUID]adapter.Decision) {
	for _, d := range runs {
		m.decisions.WithLabelValues(d.By, strconv.FormatBool(!d.Ruling.Silent())).Inc()
	}
}

func (m *Metrics) warning(rule string, times int) {
	m.warnings.WithLabelValues(rule).Add(float64(max(times, 1)))
}
