package servers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/fit"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// An nginx that takes nothing compressed gets the event plain after one try, and all others plain at once.
func TestASinkThatRefusesGzip(t *testing.T) {
	t.Parallel()
	for _, status := range []int{415, 400} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			refusals := transporttest.NewSink(t) // sees what is refused
			refusals.Script(transporttest.Always(transporttest.Status(status)))
			port := nginx(t, fmt.Sprintf(`
    listen 127.0.0.1:$PORT;
    location / {
      if ($http_content_encoding = gzip) { proxy_pass %s; }
      proxy_pass %s;
    }
`, refusals.URL(), sink.URL()))
			via := to(t, map[string]any{"type": "http", "url": "http://" + address(port), "compression": "gzip"})
			for i := range 3 {
				if err := via.Emit(t.Context(), transporttest.Event(i, 0)); err != nil {
					t.Fatal(err)
				}
			}
			if refused, taken := len(refusals.Requests()), len(sink.Taken()); refused != 1 || taken != 3 {
				t.Errorf("%d refused, %d taken", refused, taken)
			}
		})
	}
	t.Run("by itself", func(t *testing.T) {
		t.Parallel()
		sink := transporttest.NewSink(t)
		port := nginx(t, fmt.Sprintf(`
    listen 127.0.0.1:$PORT;
    if ($http_content_encoding) { return 415; }
    location / { proxy_pass %s; }
`, sink.URL()))
		via := to(t, map[string]any{"type": "http", "url": "http://" + address(port), "compression": "gzip"})
		if err := via.Emit(t.Context(), transporttest.Event(1, 0)); err != nil || len(sink.Taken()) != 1 {
			t.Errorf("%v, %d taken", err, len(sink.Taken()))
		}
	})
}

// withFacet is an event with a facet of a size.
func withFacet(size int) transport.Event {
	event := transporttest.Event(1, 1)
	facet := fmt.Sprintf(`"run":{"facets":{"small":{"a":"b"},"large":{"text":%q}}`, strings.Repeat("x", size))
	event.Body = []byte(strings.Replace(string(event.Body), `"run":{"facets":{}`, facet, 1))
	return event
}

// An nginx says by 413 that an event is larger than its client_max_body_size.
func TestASinkWithALimit(t *testing.T) {
	t.Parallel()
	for _, compression := range []string{"", "gzip"} {
		t.Run("compression "+compression, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			port := nginx(t, fmt.Sprintf("listen 127.0.0.1:$PORT; client_max_body_size 2k; location / { proxy_pass %s; }", sink.URL()))
			var left []string
			via := to(t, map[string]any{"type": "http", "url": "http://" + address(port), "compression": compression},
				func(l fit.Left) { left = append(left, l.Parts...) })
			size := 3_000
			if compression != "" {
				size = 3_000_000 // of the same letter
			}
			for range 2 {
				if err := via.Emit(t.Context(), withFacet(size)); err != nil {
					t.Fatal(err)
				}
			}
			taken := sink.Taken()
			if len(taken) != 2 || string(taken[0].Body) != string(taken[1].Body) || !strings.Contains(string(taken[0].Body), `"small"`) {
				t.Errorf("%d taken, of which the first is %.2000s", len(taken), taken[0].Body)
			}
			if strings.Join(left, " ") != "run.facets.large run.facets.large" {
				t.Errorf("left out %v", left)
			}
		})
	}
}
