package oracle_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// Prefect is away while runs start and end: readiness says so in words, deliveries go on, and all of it comes later.
func TestPrefectAway(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a", "b")
	a := w.consumer("a")
	a.Script(transporttest.Always(transporttest.Late(200 * time.Millisecond)))
	w.past(shape{tasks: 10}, 20, time.Second, time.Now())
	w.daemon.start()
	w.caughtUp(20*time.Second, w.consumer("b"))
	before := w.told()
	w.server.FaultAlways(prefecttest.Any(), prefecttest.Status(http.StatusServiceUnavailable))
	running := w.begin(shape{tasks: 10}, 5)
	w.eventually(45*time.Second, "readiness says that Prefect cannot be read", func() bool {
		code, body := w.daemon.get("/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "Prefect was last read")
	})
	if code, _ := w.daemon.get("/livez"); code != http.StatusOK {
		t.Errorf("/livez answers %d: a restart would not bring Prefect back", code)
	}
	if a.lacks(before) > 0 {
		t.Error("deliveries stopped with the reading")
	}
	w.finish(running...)
	w.begin(shape{tasks: 10}, 5)
	w.server.ClearFaults()
	a.Script(nil)
	w.caughtUp(45 * time.Second) // the wait between two looks may have grown to 30 s
	w.eventually(5*time.Second, "the listener is ready again", func() bool {
		code, _ := w.daemon.get("/readyz")
		return code == http.StatusOK
	})
	w.fresh()
	w.judge()
}
