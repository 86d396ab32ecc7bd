package oracle_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Test 12. Wrong credentials: no event is to blame, one at a time is tried every half minute, and a new token in the file
// is taken up without a restart.
func TestWrongToken(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	a := w.consumer("a")
	token := filepath.Join(t.TempDir(), "token")
	writeToken(t, token, "old")
	w.daemon.unset("OPENLINEAGE__TRANSPORT")
	for name, value := range map[string]string{
		"TYPE": "http", "NAME": "a", "URL": a.url, "AUTH__TYPE": "api_key", "AUTH__API_KEY_FILE": token,
	} {
		w.daemon.set("OPENLINEAGE__TRANSPORT__"+name, value)
	}
	a.Script(onlyFor("new"))
	w.past(shape{tasks: 10}, scale(50, 455), 4*time.Second, time.Now()) // 1,100 or 10,010 events
	w.daemon.start()
	w.eventually(20*time.Second, "the consumer is held", func() bool { return w.daemon.metric(blocked("a", "auth")) == 1 })
	wrong := scale(70*time.Second, 10*time.Minute)
	time.Sleep(wrong)
	if most := 8 + int(wrong/(30*time.Second)); len(a.Requests()) > most {
		t.Errorf("%d requests in %s with a wrong token, over %d", len(a.Requests()), wrong, most)
	}
	if _, body := w.daemon.get("/readyz?verbose"); !strings.Contains(body, "a: held") || !strings.Contains(body, "auth") {
		t.Errorf("/readyz?verbose does not say what is wrong: %s", body)
	}
	writeToken(t, token, "new")
	changed := time.Now()
	w.eventually(35*time.Second, "events go out again", func() bool { return len(a.Taken()) > 0 })
	if took := a.Taken()[0].At.Sub(changed); took > 30*time.Second {
		t.Errorf("events went out %s after the new token, over 30 s", took)
	} else {
		t.Logf("events went out %s after the new token", took)
	}
	w.caughtUp(30 * time.Second)
	w.fresh()
	w.judge()
	for _, text := range []string{"old", "new"} {
		if lines := w.daemon.lines("Bearer " + text); len(lines) > 0 {
			t.Errorf("the log holds the token: %s", lines)
		}
	}
}
