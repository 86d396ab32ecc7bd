package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sender hands records to the client and says of each, once, what became of it.
//
// The client fails all that it holds for a partition together: when brokers refuse a batch, and when the time of the
// oldest record is over. What was hit by another one's failure is sent again, so that a refusal counts only for a record
// that travelled alone. What comes new waits behind it meanwhile.
type sender struct {
	client  *kgo.Client
	topic   string
	limit   time.Duration // how long a record may take from its Emit on; 0: for ever
	settle  func(r *record, d Delivery, err error)
	mending sync.WaitGroup // the one goroutine that sends again

	mu       sync.Mutex
	returned sync.Cond // away went to 0
	away     int       // how many records of send's and catchUp's the client has
	isActive bool      // whether records are sent again; then those that come new go to behind
	hit      hit
	behind   []*record
}

func newSender(client *kgo.Client, config Config, settle func(*record, Delivery, error)) *sender {
	s := &sender{client: client, topic: config.Topic, limit: config.Producer.MessageTimeout, settle: settle}
	s.returned.L = &s.mu
	s.hit.limit = s.limit
	return s
}

// send delivers a record, whose value is whole.
func (s *sender) send(r *record) {
	s.mu.Lock()
	if s.isActive {
		s.behind = append(s.behind, r)
		s.mu.Unlock()
		return
	}
	s.away++
	s.mu.Unlock()
	// No context: one that ends would take other records of its partition with it.
	s.produce(context.Background(), r, s.heard)
}

// produce hands a record to the client. The client calls done on a goroutine of its own, in the order of a partition.
func (s *sender) produce(ctx context.Context, r *record, done func(outcome)) {
	s.client.TryProduce(ctx, &kgo.Record{
		Topic: s.topic, Key: r.key, Value: r.value, Timestamp: r.at,
	}, func(sent *kgo.Record, err error) {
		if err != nil {
			done(outcome{record: r, err: err})
			return
		}
		done(outcome{record: r, delivery: Delivery{Topic: sent.Topic, Partition: sent.Partition, Offset: sent.Offset}})
	})
}

// heard takes the outcome of a record that was handed to the client together with any others.
func (s *sender) heard(o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away--; s.away == 0 {
		s.returned.Signal()
	}
	if !s.hit.keep(o) {
		s.settle(o.record, o.delivery, o.err)
		return
	}
	if !s.isActive {
		s.isActive = true
		s.mending.Go(s.mend)
	}
}

// mend sends what was hit again, and then what came meanwhile.
func (s *sender) mend() {
	for {
		s.mu.Lock()
		for s.away > 0 {
			s.returned.Wait()
		}
		records := s.hit.take()
		s.mu.Unlock()
		s.resend(records)
		if s.catchUp() {
			return
		}
	}
}

// resend sends records until none is left. It finds those that are refused alone in steps that halve, since most are
// not, and grow while all is well.
func (s *sender) resend(records []*record) {
	for together := 1; len(records) > 0; {
		n := min(together, len(records))
		again, refused := s.sendTogether(records[:n])
		if refused {
			together = max(1, n/2)
		} else {
			together = 2 * n
		}
		records = records[n-len(again):]
		copy(records, again)
	}
}

// sendTogether sends records while the client has no others. It returns those that have to be sent again, in their order,
// and whether any was refused.
func (s *sender) sendTogether(records []*record) (again []*record, refused bool) {
	ctx := context.Background()
	if s.limit > 0 {
		// The client counts the time anew while it does not know the topic.
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, records[0].at.Add(s.limit+time.Millisecond))
		defer cancel()
	}
	outcomes := make(chan outcome, len(records))
	for _, r := range records {
		s.produce(ctx, r, func(o outcome) { outcomes <- o })
	}
	alone := len(records) == 1
	struck := hit{limit: s.limit}
	for range records {
		if o := <-outcomes; !struck.keep(o) || alone {
			s.settle(o.record, o.delivery, o.err)
		}
	}
	refused = struck.refused
	if !alone {
		again = struck.take()
	}
	return again, refused
}

// catchUp hands on what came while others were sent again. False: some of it was hit.
func (s *sender) catchUp() bool {
	for {
		s.mu.Lock()
		if len(s.hit.records) > 0 {
			s.mu.Unlock()
			return false
		}
		next := s.behind
		s.behind = nil
		s.away += len(next)
		s.isActive = len(next) > 0
		s.mu.Unlock()
		if len(next) == 0 {
			return true
		}
		for _, r := range next {
			s.produce(context.Background(), r, s.heard)
		}
	}
}

// wait returns when nothing is sent again any more. It is called after all records are settled.
func (s *sender) wait() { s.mending.Wait() }
