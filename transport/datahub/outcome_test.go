package datahub_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datahub"
	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// What each error of an emitter means for the event, beside the statuses that mean the same for every transport.
func TestOutcomesOfEmitterErrors(t *testing.T) {
	t.Parallel()
	timeout := func(err error) error { return &kafka.TimeoutError{Err: err} }
	tests := []struct {
		name    string
		class   func(error) error
		err     error
		outcome transport.Outcome
		reason  string
	}{
		{"not valid", datahub.RestError, &mcp.ValidationError{Field: "urn"}, transport.Permanent, transport.ReasonRefused},
		{"the primary store refused it", datahub.RestError, &rest.TraceError{Failures: []rest.TraceFailure{{Storage: "search"}, {Storage: "primary"}}}, transport.Permanent, transport.ReasonRefused},
		{"the search index failed", datahub.RestError, &rest.TraceError{Failures: []rest.TraceFailure{{Storage: "search"}}}, transport.Retry, transport.ReasonRefused},
		{"not confirmed", datahub.RestError, &rest.WaitTimeoutError{}, transport.Retry, transport.ReasonTimeout},
		{"can't wait", datahub.RestError, rest.ErrWaitUnsupported, transport.Hold, transport.ReasonOther},
		{"something else", datahub.RestError, &rest.Error{Status: 200, Err: rest.ErrNotGMS}, transport.Hold, transport.ReasonNotAPI},
		{"closed", datahub.RestError, rest.ErrClosed, transport.Retry, transport.ReasonCancelled},
		{"cancelled", datahub.RestError, context.Canceled, transport.Retry, transport.ReasonCancelled},
		{"no answer", datahub.RestError, &rest.Error{Err: context.DeadlineExceeded}, transport.Retry, transport.ReasonTimeout},
		{"a cut answer", datahub.RestError, &rest.Error{Status: 200}, transport.Retry, transport.ReasonConnection},
		{"refused", datahub.RestError, &rest.Error{Status: 422}, transport.Permanent, "status-422"},
		{"too large", datahub.RestError, &rest.Error{Status: 413}, transport.Permanent, transport.ReasonTooLarge},
		{"not sent since another was refused", datahub.RestError, fmt.Errorf("%w: %w", rest.ErrUnsent, &rest.Error{Status: 409}), transport.Retry, "status-409"},
		{"not sent since the token was refused", datahub.RestError, fmt.Errorf("%w: %w", rest.ErrUnsent, &rest.Error{Status: 401}), transport.Hold, transport.ReasonAuth},

		{"Kafka: not valid", datahub.KafkaError, &mcp.ValidationError{}, transport.Permanent, transport.ReasonRefused},
		{"Kafka: too large for us", datahub.KafkaError, &kafka.TooLargeError{}, transport.Permanent, transport.ReasonTooLarge},
		{"Kafka: too large for the topic", datahub.KafkaError, kerr.MessageTooLarge, transport.Permanent, transport.ReasonTooLarge},
		{"Kafka: no topic", datahub.KafkaError, timeout(kerr.UnknownTopicOrPartition), transport.Hold, transport.ReasonOther},
		{"Kafka: no right", datahub.KafkaError, kerr.TopicAuthorizationFailed, transport.Hold, transport.ReasonAuth},
		{"Kafka: a wrong login", datahub.KafkaError, timeout(kerr.SaslAuthenticationFailed), transport.Hold, transport.ReasonAuth},
		{"Kafka: a bad record", datahub.KafkaError, kerr.InvalidRecord, transport.Permanent, transport.ReasonRefused},
		{"Kafka: nobody there", datahub.KafkaError, timeout(errors.New("dial")), transport.Retry, transport.ReasonTimeout},
		{"Kafka: a leader is looked for", datahub.KafkaError, kerr.NotLeaderForPartition, transport.Retry, transport.ReasonConnection},
		{"Kafka: full", datahub.KafkaError, &kafka.BufferFullError{}, transport.Retry, transport.ReasonOther},
		{"Kafka: closed", datahub.KafkaError, kafka.ErrClosed, transport.Retry, transport.ReasonCancelled},
		{"Kafka: cancelled", datahub.KafkaError, &kafka.UnsettledError{Err: context.Canceled}, transport.Retry, transport.ReasonCancelled},
		{"the registry refuses the login", datahub.KafkaError, &kafka.RegistryError{StatusCode: 401}, transport.Hold, transport.ReasonAuth},
		{"the registry refuses the schema", datahub.KafkaError, timeout(&kafka.RegistryError{StatusCode: 409, Code: 409}), transport.Hold, "status-409"},
		{"the registry is overloaded", datahub.KafkaError, timeout(&kafka.RegistryError{StatusCode: 503}), transport.Retry, "status-503"},
		{"the registry is away", datahub.KafkaError, timeout(&kafka.RegistryError{Err: errors.New("dial")}), transport.Retry, transport.ReasonConnection},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := transporttest.RequireError(t, tt.class(fmt.Errorf("sending: %w", tt.err)))
			if e.Outcome != tt.outcome || e.Reason != tt.reason {
				t.Errorf("%v %q, want %v %q", e.Outcome, e.Reason, tt.outcome, tt.reason)
			}
			if !errors.Is(e, tt.err) {
				t.Error("the cause is lost")
			}
		})
	}
}
