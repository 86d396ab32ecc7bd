package deliver

import (
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/transport"
)

// newsKind says what has changed.
type newsKind uint8

const (
	troubled  newsKind = iota // an event could not be delivered, but others might
	blocked                   // the destination is down, or held
	still                     // and is so after one more probe
	recovered                 // a streak of failures is over
	buried                    // an event became a dead letter
	putBack                   // dead letters are put back
)

// news is a change that an operator may want to read of.
type news struct {
	kind   newsKind
	phase  phase // that began, goes on or ended; open for a streak of single failures
	fault  *transport.Error
	count  int           // failures, tries, or events put back
	alone  int           // tries that count against the event alone
	lasted time.Duration // how long the phase has lasted
	tired  bool          // a dead letter for its many tries, not for a refusal
}

// How often the log may repeat itself.
const (
	logEvery    = 30 * time.Second // lines of one sort about one destination
	remindEvery = 10 * time.Minute // that something is still so, without anything new
)

// When an event's trouble is worth a line. Before, it is most often the beginning of an outage, which gets a line of
// its own, or over at the next try.
const (
	tellAfter = 10 * time.Second // of failures without a success, short of an outage
	tellTries = 3                // that failed while others passed
)

// reporter writes news to the log: one line where something changes. A destination that changes all the time gets a
// line of each sort every logEvery, and the rest at debug level.
type reporter struct {
	log  *zap.Logger
	last map[newsKind]time.Time
	// said is the reason in the last line about a bad phase; shown says whether the phase, or the streak of failures,
	// was announced, so that its end is worth a line.
	said  string
	shown bool
	// trouble is the last failure of the streak that goes on while the destination is open, told the place of the event
	// that the last line about such a failure spoke of.
	trouble *trouble
	told    int64
}

// trouble is a failure that accuses the event or the destination, which is not known yet.
type trouble struct {
	news     news
	delivery *state.Delivery
	at       time.Time
}

func newReporter(log *zap.Logger) *reporter {
	return &reporter{log: log, last: make(map[newsKind]time.Time)}
}

func (r *reporter) report(n news, d *state.Delivery, now time.Time) {
	switch n.kind {
	case troubled:
		r.troubled(n, d, now)
	case blocked:
		r.blocked(n, now)
	case still:
		r.still(n, now)
	case recovered:
		r.recovered(n)
	case buried:
		r.buried(n, d)
	case putBack:
		r.log.Warn("dead letters put back into the outbox, since the destination refused everything",
			zap.Int("events", n.count))
	}
}

func (r *reporter) troubled(n news, d *state.Delivery, now time.Time) {
	if n.count == 1 {
		r.log.Debug("an event could not be delivered", append(faultFields(n.fault), eventFields(d)...)...)
	}
	r.trouble = &trouble{news: n, delivery: d, at: now}
	r.remind(now)
}

// remind tells of a streak of failures that has gone on for long without an outage, or of an event that fails alone. It
// is called at every failure and from time to time, since the next try may be far away.
func (r *reporter) remind(now time.Time) {
	t := r.trouble
	if t == nil {
		return
	}
	lasted := t.news.lasted + now.Sub(t.at)
	streak := lasted >= tellAfter
	if !streak && t.news.alone < tellTries {
		return
	}
	wait := logEvery
	if r.shown || r.told == t.delivery.Seq {
		wait = remindEvery
	}
	if !r.due(troubled, now, wait) {
		return
	}
	r.told, r.shown = t.delivery.Seq, streak
	text := "an event could not be delivered, trying again"
	if lasted >= remindEvery {
		text = "still nothing could be delivered"
	}
	fields := append(faultFields(t.news.fault), eventFields(t.delivery)...)
	r.log.Warn(text, append(fields, zap.Int("failures", t.news.count), lasting(lasted))...)
}

func (r *reporter) blocked(n news, now time.Time) {
	fields := append(faultFields(n.fault), zap.Int("failures", n.count))
	tell := r.due(blocked, now, logEvery) || n.phase == held && r.said != n.fault.Reason
	r.said, r.shown, r.trouble = n.fault.Reason, r.shown || tell, nil
	switch {
	case !tell:
		r.log.Debug("destination down or held again", fields...)
	case n.phase == held:
		r.log.Error("destination held: nothing can pass until its settings or rights are mended; events are kept", fields...)
	default:
		r.log.Warn("destination down; events are kept", fields...)
	}
	r.last[still] = now
}

func (r *reporter) still(n news, now time.Time) {
	wait := remindEvery
	if r.said != n.fault.Reason {
		wait = logEvery
	}
	if !r.due(still, now, wait) {
		return
	}
	r.said, r.shown = n.fault.Reason, true
	text := "destination still down"
	if n.phase == held {
		text = "destination still held"
	}
	r.log.Warn(text, append(faultFields(n.fault), zap.Int("failures", n.count), lasting(n.lasted))...)
}

func (r *reporter) recovered(n news) {
	r.trouble = nil
	fields := []zap.Field{zap.Int("failures", n.count), lasting(n.lasted)}
	if !r.shown {
		r.log.Debug("destination takes events again", fields...)
		return
	}
	r.shown = false
	r.log.Info("destination takes events again", fields...)
}

func (r *reporter) buried(n news, d *state.Delivery) {
	fields := append(faultFields(n.fault), eventFields(d)...)
	fields = append(fields, zap.Int("tries", n.count))
	if n.tired {
		r.log.Warn("dead letter: the event alone failed again and again while others passed", fields...)
		return
	}
	r.log.Warn("dead letter: the destination refused the event", fields...)
}

func (r *reporter) due(kind newsKind, now time.Time, every time.Duration) bool {
	if last, ok := r.last[kind]; ok && now.Sub(last) < every {
		return false
	}
	r.last[kind] = now
	return true
}

func lasting(d time.Duration) zap.Field { return zap.Duration("lasted", d.Round(time.Millisecond)) }

func faultFields(fault *transport.Error) []zap.Field {
	fields := []zap.Field{zap.String("reason", fault.Reason)}
	if fault.Status != 0 {
		fields = append(fields, zap.Int("status", fault.Status))
	}
	return append(fields, zap.NamedError("error", fault))
}

func eventFields(d *state.Delivery) []zap.Field {
	return []zap.Field{
		zap.String("run", d.Event.Job.RunID.String()),
		zap.String("job", d.Event.Job.Namespace+"/"+d.Event.Job.Name),
		zap.String("event_type", string(d.Event.Type)),
		zap.Int64("seq", d.Seq),
	}
}
