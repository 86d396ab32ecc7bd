package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// Events over a consumer's limit go out without their largest facets, which is said once and counted; none becomes a
// dead letter.
func TestEventsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	want := r.history(3)
	r.sink.Script(func(request transporttest.Request) transporttest.Reply {
		if len(request.Body) > 1500 {
			return transporttest.Status(413)
		}
		return transporttest.OK()
	})
	result, err := app.Backfill(t.Context(), r.options, app.BackfillRequest{Since: time.Now().Add(-time.Hour)})
	if err != nil || result.Events != int64(want) {
		t.Fatalf("%+v, %v", result, err)
	}
	if taken := r.sink.Taken(); len(taken) != want {
		t.Errorf("%d of %d events have arrived", len(taken), want)
	}
	var said int
	for _, entry := range r.logs.All() {
		if strings.Contains(entry.Message, "too large for a destination") {
			said++
			fields := entry.ContextMap()
			if fields["run"] == "" || fields["destination"] == "" || len(fields["left_out"].([]any)) == 0 {
				t.Errorf("%+v", fields)
			}
		}
	}
	if said != 1 {
		t.Errorf("said %d times", said)
	}
}
