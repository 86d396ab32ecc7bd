package transporttest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Fault is a way of not answering properly.
type Fault uint8

// The faults.
const (
	// NoFault answers with the reply's status, headers and body.
	NoFault Fault = iota
	// Hang reads the request and says nothing until the client has gone or the sink closes. The event is not taken.
	Hang
	// ResetBefore resets the connection and does not take the event, as a server that dies before it has understood it.
	ResetBefore
	// ResetAfter takes the event and resets the connection instead of answering.
	ResetAfter
	// CutHead breaks off within the status line. The event is not taken.
	CutHead
	// CutBody answers with the reply's status and breaks off within the answer's body.
	CutBody
	// Endless answers with the reply's status and a body that does not end until the client has gone.
	Endless
)

// Reply is what a sink does with one request.
type Reply struct {
	Status int // 0: 201
	Header map[string]string
	Body   string
	// Delay passes after the event was taken (or not) and before the answer: longer than the client's timeout, it makes
	// a timeout of which the client cannot know whether the event arrived.
	Delay time.Duration
	Fault Fault
}

// OK takes the event, as Marquez does: 201 and an empty body.
func OK() Reply { return Reply{Status: 201} }

// Status answers with a status and a short text.
func Status(status int) Reply {
	return Reply{Status: status, Body: "status " + strconv.Itoa(status)}
}

// After is Status with a Retry-After header.
func After(status int, retryAfter string) Reply {
	return Reply{Status: status, Header: map[string]string{"Retry-After": retryAfter}}
}

// Break misbehaves, under a 201 where an answer begins at all.
func Break(fault Fault) Reply { return Reply{Status: 201, Fault: fault} }

// Late takes the event and answers 201 after a delay.
func Late(delay time.Duration) Reply { return Reply{Status: 201, Delay: delay} }

// takes reports whether the sink has the event after this reply, whatever the client makes of it.
func (r Reply) takes() bool {
	switch r.Fault {
	case Hang, ResetBefore, CutHead:
		return false
	case ResetAfter:
		return true
	case NoFault, CutBody, Endless:
		return r.Status >= 200 && r.Status < 300
	}
	return false
}

// Script decides on each request. It is called by one goroutine at a time, in the order in which requests came, and may
// ask the sink for its records.
type Script func(Request) Reply

// Always gives every request the same reply.
func Always(r Reply) Script { return func(Request) Reply { return r } }

// Sequence gives the replies in turn and takes everything afterwards.
func Sequence(replies ...Reply) Script { return Then(Always(OK()), replies...) }

// Then gives the replies in turn and leaves the rest to a script.
func Then(rest Script, replies ...Reply) Script {
	left := slices.Clone(replies)
	return func(r Request) Reply {
		if len(left) == 0 {
			return rest(r)
		}
		next := left[0]
		left = left[1:]
		return next
	}
}

// ByRun gives the requests of some runs to scripts of their own.
func ByRun(rest Script, runs map[string]Script) Script {
	runs = maps.Clone(runs)
	return func(r Request) Reply {
		if script, ok := runs[r.RunID]; ok {
			return script(r)
		}
		return rest(r)
	}
}

// Chance is a reply and how often it is given, from 0 to 1.
type Chance struct {
	Share float64
	Reply Reply
}

// Flapping gives each reply its share of the requests, by chance but the same for the same seed, and takes the others.
func Flapping(seed uint64, chances ...Chance) Script {
	random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a repeatable test needs no secrecy
	return func(Request) Reply {
		at := random.Float64()
		for _, c := range chances {
			if at -= c.Share; at < 0 {
				return c.Reply
			}
		}
		return OK()
	}
}

// Switch is a script that can be exchanged while requests are under way, for outages that begin and end.
type Switch struct {
	mu     sync.Mutex
	script Script
}

// Set puts another script in place.
func (s *Switch) Set(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// reply asks the script in place. Nil takes everything.
func (s *Switch) reply(r Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.script == nil {
		return OK()
	}
	reply := s.script(r)
	if reply.Status == 0 {
		reply.Status = 201
	}
	return reply
}
