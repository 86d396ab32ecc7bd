package composite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/composite"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	for _, rule := range []composite.Rule{composite.First, composite.All, composite.AllInOrder} {
		t.Run(fmt.Sprint(rule), func(t *testing.T) {
			t.Parallel()
			transporttest.Run(t, func(testing.TB) (transport.Transport, func() [][]byte) {
				a, b := &onceClosed{}, &onceClosed{}
				last := b
				if rule == composite.First {
					last = a
				}
				g := composite.New(rule, composite.Member{Name: "a", Transport: a}, composite.Member{Name: "b", Transport: b})
				return g, last.bodies
			})
		})
	}
}

// onceClosed is a recorder that gives up with its caller and may be closed again, as real transports.
type onceClosed struct{ transporttest.Recorder }

func (o *onceClosed) Emit(ctx context.Context, event transport.Event) error {
	if err := ctx.Err(); err != nil {
		return transport.ClassifyError(err)
	}
	return o.Recorder.Emit(ctx, event)
}

func (o *onceClosed) bodies() [][]byte {
	var bodies [][]byte
	for _, event := range o.Taken() {
		bodies = append(bodies, event.Body)
	}
	return bodies
}

// member returns a transport with a fixed result; nil delivers.
func member(name string, result error) (composite.Member, *transporttest.Recorder) {
	r := &transporttest.Recorder{OnEmit: func(context.Context, transport.Event) error { return result }}
	return composite.Member{Name: name, Transport: r}, r
}

var (
	busy    = &transport.Error{Outcome: transport.Retry, Reason: "status-503", Status: 503, Answer: []byte("busy"), Err: errors.New("answered 503")}
	later   = &transport.Error{Outcome: transport.Retry, Reason: "status-429", Status: 429, RetryAfter: time.Minute, Err: errors.New("answered 429")}
	barred  = &transport.Error{Outcome: transport.Hold, Reason: "auth", Status: 401, Err: errors.New("answered 401")}
	refused = &transport.Error{Outcome: transport.Permanent, Reason: "status-422", Status: 422, Err: errors.New("answered 422")}
)

func TestGroups(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		rule    composite.Rule
		results []error
		tried   []int
		want    *transport.Error // nil: settled
		text    string
	}{
		{"the first has it", composite.First, []error{nil, nil}, []int{1, 0}, nil, ""},
		{"the second has it", composite.First, []error{busy, nil, nil}, []int{1, 1, 0}, nil, ""},
		{"a hold falls to the next", composite.First, []error{barred, nil}, []int{1, 1}, nil, ""},
		{"a refusal falls to the next", composite.First, []error{refused, nil}, []int{1, 1}, nil, ""},
		{"any wait leaves it open", composite.First, []error{refused, barred, busy}, []int{1, 1, 1}, busy, "a: answered 422; b: answered 401; c: answered 503"},
		{"the shorter wait", composite.First, []error{later, busy}, []int{1, 1}, busy, "a: answered 429; b: answered 503"},
		{"a hold may still end", composite.First, []error{refused, barred}, []int{1, 1}, barred, "a: answered 422; b: answered 401"},
		{"nobody ever takes it", composite.First, []error{refused, refused}, []int{1, 1}, refused, "a: answered 422; b: answered 422"},
		{"all have it", composite.All, []error{nil, nil}, []int{1, 1}, nil, ""},
		{"one is missing", composite.All, []error{busy, nil}, []int{1, 1}, busy, "a: answered 503"},
		{"all in order", composite.AllInOrder, []error{nil, nil}, []int{1, 1}, nil, ""},
		{"the first has not", composite.AllInOrder, []error{busy, nil}, []int{1, 0}, busy, "a: answered 503"},
		{"an error that nobody classed", composite.First, []error{errors.New("odd")}, []int{1}, &transport.Error{Outcome: transport.Retry, Reason: "connection"}, "a: odd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var members []composite.Member
			var recorders []*transporttest.Recorder
			for i, result := range tt.results {
				m, r := member(string(rune('a'+i)), result)
				members, recorders = append(members, m), append(recorders, r)
			}
			err := composite.New(tt.rule, members...).Emit(t.Context(), transporttest.Event(1, 0))
			var tried []int
			for _, r := range recorders {
				tried = append(tried, len(r.Tried()))
			}
			if diff := cmp.Diff(tt.tried, tried); diff != "" {
				t.Error(diff)
			}
			if tt.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e := transporttest.RequireError(t, err)
			got := []any{e.Outcome, e.Reason, e.Status, e.RetryAfter, string(e.Answer), err.Error()}
			want := []any{tt.want.Outcome, tt.want.Reason, tt.want.Status, tt.want.RetryAfter, string(tt.want.Answer), tt.text}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			for _, result := range tt.results {
				if result != nil && tt.rule == composite.First && !errors.Is(err, result) {
					t.Errorf("%v is not among the causes", result)
				}
			}
		})
	}
}

// A group settles what one member takes, and gives up only what all refuse for good.
func TestFirstNeverGivesUpTooEarly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		results := rapid.SliceOfN(rapid.SampledFrom([]error{nil, busy, later, barred, refused}), 1, 5).Draw(t, "results")
		var members []composite.Member
		taken, permanent := false, true
		for i, result := range results {
			m, _ := member(fmt.Sprint(i), result)
			members = append(members, m)
			taken = taken || result == nil
			permanent = permanent && errors.Is(result, refused)
		}
		err := composite.New(composite.First, members...).Emit(t.Context(), transporttest.Event(1, 0))
		if taken != (err == nil) {
			t.Fatalf("%v for %v", err, results)
		}
		if e, ok := errors.AsType[*transport.Error](err); ok && permanent != (e.Outcome == transport.Permanent) {
			t.Fatalf("%v for %v", e.Outcome, results)
		}
	})
}

func TestNobodyElseIsTriedOnceTheCallerGaveUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	first := &transporttest.Recorder{OnEmit: func(ctx context.Context, _ transport.Event) error {
		cancel()
		return transport.ClassifyError(ctx.Err())
	}}
	second, r := member("b", nil)
	err := composite.New(composite.First, composite.Member{Name: "a", Transport: first}, second).Emit(ctx, transporttest.Event(1, 0))
	if e := transporttest.RequireError(t, err); e.Reason != transport.ReasonCancelled || len(r.Tried()) > 0 {
		t.Errorf("%q, the second was tried %d times", e.Reason, len(r.Tried()))
	}
}

func TestCloseClosesAll(t *testing.T) {
	t.Parallel()
	a, ra := member("a", nil)
	b, rb := member("b", nil)
	bad := composite.Member{Name: "bad", Transport: failing{}}
	err := composite.New(composite.First, bad, a, b).Close(t.Context())
	if !ra.Closed() || !rb.Closed() || err == nil || err.Error() != "closing bad: stuck" {
		t.Errorf("%v %v %v", ra.Closed(), rb.Closed(), err)
	}
}

type failing struct{}

func (failing) Emit(context.Context, transport.Event) error { return errors.New("stuck") }
func (failing) Close(context.Context) error                 { return errors.New("stuck") }
func (failing) Probe(context.Context) (string, error)       { return "", barred }

type well struct{ failing }

func (well) Probe(context.Context) (string, error) { return "fine", nil }

func TestProbe(t *testing.T) {
	t.Parallel()
	silent, _ := member("silent", nil)
	sick, fine := composite.Member{Name: "sick", Transport: failing{}}, composite.Member{Name: "fine", Transport: well{}}
	tests := []struct {
		rule    composite.Rule
		members []composite.Member
		want    string
	}{
		{composite.First, []composite.Member{sick, fine, silent}, "sick: answered 401; fine: fine"},
		{composite.First, []composite.Member{sick, sick}, ""},
		{composite.All, []composite.Member{sick, fine}, ""},
		{composite.All, []composite.Member{fine, fine}, "fine: fine; fine: fine"},
	}
	for i, tt := range tests {
		got, err := composite.New(tt.rule, tt.members...).Probe(t.Context())
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%d: %q %v", i, got, err)
		}
	}
}

type reviewer struct {
	transport.Transport
	says string
}

func (r reviewer) Review(transport.Event) transport.Review {
	return transport.Review{Copies: [][]byte{[]byte(r.says)}, Remarks: []string{"says " + r.says}}
}

// A review is that of every member, with the copies of the first.
func TestReview(t *testing.T) {
	t.Parallel()
	group := composite.New(composite.First, composite.Member{Name: "a", Transport: reviewer{says: "x"}}, composite.Member{Name: "b", Transport: reviewer{says: "y"}})
	want := transport.Review{Copies: [][]byte{[]byte("x")}, Remarks: []string{"a: says x", "b: says y"}}
	if diff := cmp.Diff(want, group.Review(transporttest.Event(1, 0))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
