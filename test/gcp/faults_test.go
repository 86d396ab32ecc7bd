package gcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// failing answers as Google's services do.
func failing(status int, code, message string, details ...map[string]any) transporttest.Reply {
	text, err := json.Marshal(map[string]any{
		"error": map[string]any{"code": status, "message": message, "status": code, "details": details},
	})
	if err != nil {
		panic(err)
	}
	return transporttest.Reply{Status: status, Header: map[string]string{"Content-Type": "application/json"}, Body: string(text)}
}

func why(reason string) map[string]any {
	return map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}
}

func taken() transporttest.Reply {
	return transporttest.Reply{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"process":"p","run":"r"}`}
}

// rigged is a listener between a Prefect with a few ended runs and a Google on this machine.
type rigged struct {
	listener *rig.Listener
	sink     *transporttest.Sink
	key      string
	events   int
}

func newRigged(t *testing.T, script transporttest.Script) *rigged {
	t.Helper()
	prefect := prefecttest.NewTCP(t)
	prefect.AddHistory(prefecttest.History{
		Flows: 1, FlowRuns: 3, Tasks: 1, From: time.Now().Add(-30 * time.Minute), Every: time.Second, Lasts: time.Second,
	})
	sink := google(t, script)
	key := keyFile(t, sink.URL())
	return &rigged{sink: sink, key: key, events: 3 * 2 * 2, listener: rig.NewListener(t, prefect.URL,
		"OPENLINEAGE__TRANSPORT__TYPE=gcplineage", "OPENLINEAGE__TRANSPORT__NAME=google", "OPENLINEAGE__TRANSPORT__PROJECT_ID=demo",
		"OPENLINEAGE__TRANSPORT__ENDPOINT="+sink.URL(), "GOOGLE_APPLICATION_CREDENTIALS="+key,
	)}
}

// delivered waits until every event has been taken.
func (r *rigged) delivered(t *testing.T) {
	t.Helper()
	rig.Eventually(t, 60*time.Second, "every event is taken", func() bool { return r.different() == r.events })
}

// different counts the messages that were taken, each once.
func (r *rigged) different() int {
	ids := map[string]bool{}
	for _, request := range lineageRequests(r.sink) {
		if request.Taken {
			ids[request.URL.Query().Get("requestId")] = true
		}
	}
	return len(ids)
}

// What Google takes back later is sent later: nothing is lost by a quota, and nobody has to look after it.
func TestQuota(t *testing.T) {
	t.Parallel()
	retry := map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2s"}
	quota := failing(429, "RESOURCE_EXHAUSTED", "Quota exceeded", why("RATE_LIMIT_EXCEEDED"), retry)
	var first time.Time // the sink runs one script at a time
	r := newRigged(t, func(request transporttest.Request) transporttest.Reply {
		if first.IsZero() {
			first = request.At
		}
		if request.At.Sub(first) < time.Second {
			return quota
		}
		return taken()
	})
	r.listener.Start()
	r.delivered(t)
	refused := map[string]time.Time{} // when a message was refused last
	for _, request := range lineageRequests(r.sink) {
		id := request.URL.Query().Get("requestId")
		if waited := request.At.Sub(refused[id]); waited < 2*time.Second {
			t.Errorf("sent again after %v, before the quota's 2 s were over", waited)
		}
		if !request.Taken {
			refused[id] = request.At
		}
	}
	if code := r.listener.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Without the role the destination is held and says what is missing; with it everything goes on by itself.
func TestPermission(t *testing.T) {
	t.Parallel()
	var granted atomic.Bool
	r := newRigged(t, func(transporttest.Request) transporttest.Reply {
		if !granted.Load() {
			return failing(403, "PERMISSION_DENIED", "Permission denied", why("IAM_PERMISSION_DENIED"))
		}
		return taken()
	})
	r.listener.Start()
	rig.Eventually(t, 30*time.Second, "it is said what is missing", func() bool {
		return strings.Contains(r.listener.Log(), "roles/datalineage.producer")
	})
	rig.Eventually(t, 30*time.Second, "the destination is held", func() bool {
		_, out, _ := r.listener.Run("destinations", "-o", "json")
		return strings.Contains(out, `"trouble": "held"`)
	})
	granted.Store(true)
	r.delivered(t)
}

// Credentials that have expired hold the destination, and a new file mends it without a restart.
func TestExpiredCredentials(t *testing.T) {
	t.Parallel()
	r := newRigged(t, func(request transporttest.Request) transporttest.Reply {
		if request.Header.Get("Authorization") == "Bearer renewed" {
			return taken()
		}
		return failing(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", why("ACCESS_TOKEN_EXPIRED"))
	})
	renewed := transporttest.NewSink(t)
	renewed.Script(transporttest.Always(transporttest.Reply{
		Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"access_token":"renewed","expires_in":3600}`,
	}))
	r.listener.Start()
	rig.Eventually(t, 30*time.Second, "the expired credentials are named", func() bool {
		return strings.Contains(r.listener.Log(), "ACCESS_TOKEN_EXPIRED")
	})
	text, err := os.ReadFile(keyFile(t, renewed.URL()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.key, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r.delivered(t)
	if n := r.listener.LogLines("dead letter"); len(n) > 0 {
		t.Errorf("dead letters: %v", n)
	}
}

// One event that Google will never take is a dead letter; all others go on.
func TestInvalidArgument(t *testing.T) {
	t.Parallel()
	poison := ""
	r := newRigged(t, func(request transporttest.Request) transporttest.Reply {
		if poison == "" {
			poison = request.URL.Query().Get("requestId")
		}
		if request.URL.Query().Get("requestId") == poison {
			return failing(400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
		}
		return taken()
	})
	r.events--
	r.listener.Start()
	r.delivered(t)
	rig.Eventually(t, 10*time.Second, "there is a dead letter", func() bool {
		_, out, _ := r.listener.Run("deadletters", "list")
		return strings.Contains(out, "google")
	})
	_, out, _ := r.listener.Run("deadletters", "list", "-o", "json")
	if strings.Count(out, `"destination"`) != 1 {
		t.Errorf("the dead letters are %s", out)
	}
}

// An event that is larger than a limit goes with less in it.
func TestSize(t *testing.T) {
	t.Parallel()
	const limit = 1400
	r := newRigged(t, func(request transporttest.Request) transporttest.Reply {
		if len(request.Body) > limit {
			return transporttest.Reply{Status: http.StatusRequestEntityTooLarge, Body: "<html>413</html>"}
		}
		return taken()
	})
	r.listener.Env = append(r.listener.Env, fmt.Sprintf("OPENLINEAGE__TRANSPORT__MAX_EVENT_BYTES=%d", limit))
	r.listener.Start()
	r.delivered(t)
	if lines := r.listener.LogLines("too large for a destination"); len(lines) == 0 {
		t.Error("nothing is said of what was left out")
	}
}

// check proves credentials and API without an event.
func TestCheck(t *testing.T) {
	t.Parallel()
	var off atomic.Bool
	r := newRigged(t, func(transporttest.Request) transporttest.Reply {
		if !off.Load() {
			return failing(404, "NOT_FOUND", "Process was not found.")
		}
		return failing(403, "PERMISSION_DENIED", "Data Lineage API has not been used", why("SERVICE_DISABLED"))
	})
	code, out, stderr := r.listener.Run("check")
	if code != 0 || !strings.Contains(out, "is reached, and the credentials may look at processes there") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	off.Store(true)
	code, out, _ = r.listener.Run("check")
	if code != 1 || !strings.Contains(out, "gcloud services enable datalineage.googleapis.com") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if n := len(lineageRequests(r.sink)); n != 0 {
		t.Errorf("check sent %d events", n)
	}
}
