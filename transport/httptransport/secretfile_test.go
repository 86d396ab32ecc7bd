//go:build unix

package httptransport_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// A path that leads to something else than a secret neither fills the memory nor waits.
func TestFilesThatHoldNoSecret(t *testing.T) {
	t.Parallel()
	sink, dir := transporttest.NewSink(t), t.TempDir()
	large, pipe := filepath.Join(dir, "large"), filepath.Join(dir, "pipe")
	write(t, large, strings.Repeat("x", 100_000))
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{large, pipe, dir, "/dev/zero"} {
		for _, auth := range []map[string]any{
			{"type": "api_key", "apiKeyFile": path},
			{"type": "oauth2", "clientId": "c", "clientSecretFile": path, "tokenEndpoint": sink.URL()},
		} {
			e := transport.ClassifyError(emit(t, build(t, map[string]any{"url": sink.URL(), "auth": auth})))
			if e.Outcome != transport.Hold || e.Reason != transport.ReasonAuth || !strings.Contains(e.Error(), path) {
				t.Errorf("%s: %v %s: %v", path, e.Outcome, e.Reason, e)
			}
		}
	}
	if n := len(sink.Requests()); n > 0 {
		t.Errorf("%d requests went out", n)
	}
}
