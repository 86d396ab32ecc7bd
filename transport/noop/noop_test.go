package noop_test

import (
	"context"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/noop"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

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
