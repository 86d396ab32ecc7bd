package noop_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/noop"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// TestContract runs what every kind is held to. Nothing that noop took can be seen again, so what it said yes to stands for it.
func TestContract(t *testing.T) {
	t.Parallel()
	transporttest.Run(t, func(testing.TB) (transport.Transport, func() [][]byte) {
		r := &accepted{}
		return r, r.bodies
	})
}

// accepted notes the bodies of the events that noop took.
type accepted struct {
	noop.Transport
	mu    sync.Mutex
	taken [][]byte
}

func (a *accepted) Emit(ctx context.Context, event transport.Event) error {
	if err := a.Transport.Emit(ctx, event); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken = append(a.taken, bytes.Clone(event.Body))
	return nil
}

func (a *accepted) bodies() [][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.taken)
}

func TestTakesEverything(t *testing.T) {
	t.Parallel()
	var tr noop.Transport
	if err := tr.Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e := transporttest.RequireError(t, tr.Emit(ctx, transporttest.Event(1, 0))); e.Outcome != transport.Retry {
		t.Errorf("%v", e.Outcome)
	}
	if err := tr.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
