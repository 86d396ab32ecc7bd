package app_test

import (
	"testing"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// TestStatusShowsTrouble looks at the store from beside the daemon, as listener status does.
func TestStatusShowsTrouble(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.history(2)
	r.sink.Script(transporttest.Always(transporttest.Status(401)))
	stop := r.start()
	trouble := func() (string, string) {
		report, err := app.Status(t.Context(), r.options)
		if err != nil || len(report.Destinations) != 1 {
			return "", ""
		}
		d := report.Destinations[0]
		if (d.Trouble == "") != d.TroubleSince.IsZero() {
			t.Errorf("%q since %s", d.Trouble, d.TroubleSince)
		}
		return d.Trouble, d.TroubleReason
	}
	waitFor(t, "status shows that the destination is held", func() bool {
		state, reason := trouble()
		return state == "held" && reason == "auth"
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	r.sink.Script(transporttest.Always(transporttest.OK()))
	r.start()
	waitFor(t, "status shows that all is well", func() bool {
		state, _ := trouble()
		return state == ""
	})
}
