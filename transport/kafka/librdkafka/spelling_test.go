package librdkafka_test

import (
	"testing"

	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// A problem is named as the property is written, so that it can be found.
func TestProblemsAreNamedAsWritten(t *testing.T) {
	t.Parallel()
	s := settings.New("config", map[string]any{"bootstrap_servers": "a:1", "security_protocol": "foo"})
	librdkafka.Parse(s)
	const want = "config.security_protocol: is not known; it takes plaintext, ssl, sasl_plaintext, sasl_ssl"
	if err := s.Err(); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
