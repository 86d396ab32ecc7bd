package datahub

import (
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"github.com/prefect-openlineage/listener/transport/datahub/mapping"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// How much is remembered. A run that is open longer than so many others take costs its duration, a thing of which
// DataHub was told before so many others is told again.
const (
	maxTold = 50_000 // some 150 bytes each
	maxRuns = 20_000
	maxJobs = 20_000
)

// lru is a map that forgets what was used longest ago once it holds so many. It is safe for concurrent use.
type lru[K comparable, V any] struct {
	max int

	mu    sync.Mutex
	order *list.List // of entries, the last used first
	byKey map[K]*list.Element
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](most int) *lru[K, V] {
	return &lru[K, V]{max: most, order: list.New(), byKey: map[K]*list.Element{}}
}

func (l *lru[K, V]) get(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	element, ok := l.byKey[key]
	if !ok {
		var none V
		return none, false
	}
	l.order.MoveToFront(element)
	return element.Value.(lruEntry[K, V]).value, true
}

func (l *lru[K, V]) put(key K, value V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := lruEntry[K, V]{key, value}
	if element, ok := l.byKey[key]; ok {
		element.Value = entry
		l.order.MoveToFront(element)
		return
	}
	l.byKey[key] = l.order.PushFront(entry)
	if l.order.Len() > l.max {
		oldest := l.order.Back()
		l.order.Remove(oldest)
		delete(l.byKey, oldest.Value.(lruEntry[K, V]).key)
	}
}

// digest stands for a text of any length.
type digest [16]byte

func digestOf(parts ...[]byte) digest {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write(part)
		sum.Write([]byte{0xff}) // no byte of UTF-8, so that parts can't run into each other
	}
	return digest(sum.Sum(nil)[:16])
}

// place is an aspect of an entity, or a member of one that a patch adds; content is what it was told to be.
type fact struct{ place, content digest }

// told remembers what DataHub was told, for a while: what changes there otherwise (a restored database, somebody's
// deletion) is set right again after that.
type told struct {
	facts *lru[digest, toldFact]
	keep  time.Duration
	now   func() time.Time
}

type toldFact struct {
	content digest
	at      time.Time
}

func newTold(keep time.Duration, now func() time.Time) *told {
	return &told{facts: newLRU[digest, toldFact](maxTold), keep: keep, now: now}
}

func (t *told) knows(f fact) bool {
	known, ok := t.facts.get(f.place)
	return ok && known.content == f.content && t.now().Sub(known.at) < t.keep
}

func (t *told) remember(facts []fact) {
	for _, f := range facts {
		t.facts.put(f.place, toldFact{content: f.content, at: t.now()})
	}
}

// factOf returns what an upsert says.
func factOf(p mcp.Proposal) fact {
	return fact{digestOf([]byte(p.EntityURN), []byte(p.AspectName)), digestOf(p.Aspect)}
}

// factOfOp returns what an operation of an addition says.
func factOfOp(a mapping.Addition, op mcp.PatchOp) (fact, error) {
	value, err := json.Marshal(op)
	if err != nil {
		return fact{}, err
	}
	return fact{digestOf([]byte(a.URN), []byte(a.Aspect), []byte(op.Path)), digestOf(value)}, nil
}
