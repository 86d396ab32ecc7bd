package app

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/fit"
)

// sayReductionsEvery is how often it is said of a destination that events were too large for it.
const sayReductionsEvery = time.Minute

// reductions count and tell of events that were delivered without some of their facets, because their destination takes
// no larger ones.
type reductions struct {
	counter *prometheus.CounterVec
	log     *zap.Logger
	now     func() time.Time

	mu     sync.Mutex
	said   map[string]time.Time // when it was last said, by destination
	unsaid map[string]int       // how many there were since
}

func newReductions(registry prometheus.Registerer, log *zap.Logger) *reductions {
	counter := promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Namespace: "prefect_openlineage", Name: "events_reduced_total",
		Help: "Events that were delivered without some of their facets, because the destination takes no larger ones.",
	}, []string{"transport"})
	return &reductions{counter: counter, log: log, now: time.Now, said: map[string]time.Time{}, unsaid: map[string]int{}}
}

// expect makes the counters of destinations, so that rates work from the first event on.
func (r *reductions) expect(destinations []transport.Destination) {
	for _, d := range destinations {
		r.counter.WithLabelValues(strings.ToValidUTF8(d.Name, "\ufffd"))
	}
}

// reduced notes one event. The first of a minute is told in full, for it may be one of very many.
func (r *reductions) reduced(destination string, event transport.Event, left fit.Left) {
	r.counter.WithLabelValues(strings.ToValidUTF8(destination, "\ufffd")).Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if last, ok := r.said[destination]; ok && now.Sub(last) < sayReductionsEvery {
		r.unsaid[destination]++
		return
	}
	r.log.Warn("an event was too large for a destination and was delivered without some of its facets",
		zap.String("destination", destination), zap.String("run", event.RunID), zap.String("type", event.Type),
		zap.Strings("left_out", left.Parts), zap.Int("bytes", left.From), zap.Int("bytes_sent", left.To),
		zap.Int("others_since_last_said", r.unsaid[destination]))
	r.said[destination], r.unsaid[destination] = now, 0
}
