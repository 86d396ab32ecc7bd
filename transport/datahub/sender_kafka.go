package datahub

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// kafkaSender hands proposals to the topic that DataHub reads.
type kafkaSender struct {
	emitter *kafka.Emitter
	target  string
}

var _ Sender = kafkaSender{}

// Send returns once the brokers have all proposals, or each has an error.
func (k kafkaSender) Send(ctx context.Context, proposals []mcp.Proposal) []error {
	errs := k.emitter.EmitAll(ctx, proposals)
	for i, err := range errs {
		if err != nil {
			errs[i] = kafkaError(err)
		}
	}
	return errs
}

// Probe asks the registry for the schema and the brokers for the topic.
func (k kafkaSender) Probe(ctx context.Context) (string, error) {
	if err := k.emitter.TestConnection(ctx); err != nil {
		return "", kafkaError(err)
	}
	return k.target + ": the schema registry has the schema and the brokers have the topic", nil
}

// Close gives what is under way a last chance.
func (k kafkaSender) Close(ctx context.Context) error {
	if err := k.emitter.Close(ctx); err != nil {
		return fmt.Errorf("closing the Kafka emitter: %w", err)
	}
	return nil
}

// kafkaError says what an emitter's error means for the event.
func kafkaError(err error) error {
	class := func(outcome transport.Outcome, reason string) error {
		return &transport.Error{Outcome: outcome, Reason: reason, Err: err}
	}
	if _, ok := errors.AsType[*mcp.ValidationError](err); ok {
		return class(transport.Permanent, transport.ReasonRefused)
	}
	if registry, ok := errors.AsType[*kafka.RegistryError](err); ok {
		return registryError(registry, err)
	}
	switch {
	case errors.Is(err, kafka.ErrTooLarge), errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return class(transport.Permanent, transport.ReasonTooLarge)
	case isAny(err, kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.SaslAuthenticationFailed,
		kerr.TransactionalIDAuthorizationFailed, kerr.IllegalSaslState, kerr.UnsupportedSaslMechanism):
		return class(transport.Hold, transport.ReasonAuth)
	case isAny(err, kerr.UnknownTopicOrPartition, kerr.InvalidTopicException, kerr.PolicyViolation, kerr.UnsupportedVersion,
		kerr.InvalidRequiredAcks):
		return class(transport.Hold, transport.ReasonOther)
	case errors.Is(err, kerr.InvalidRecord):
		return class(transport.Permanent, transport.ReasonRefused)
	case errors.Is(err, kafka.ErrTimeout):
		return class(transport.Retry, transport.ReasonTimeout)
	case errors.Is(err, kafka.ErrBufferFull):
		return class(transport.Retry, transport.ReasonOther)
	case errors.Is(err, kafka.ErrClosed):
		return class(transport.Retry, transport.ReasonCancelled)
	}
	e := *transport.ClassifyError(err)
	e.Err = err
	return &e
}

// registryError classes what the schema registry says. Until it is mended no proposal can go, so nothing that it says is
// about an event.
func registryError(registry *kafka.RegistryError, err error) error {
	e := &transport.Error{Outcome: transport.Hold, Reason: transport.ReasonOther, Status: registry.StatusCode, Err: err}
	switch {
	case registry.StatusCode == http.StatusUnauthorized, registry.StatusCode == http.StatusForbidden:
		e.Reason = transport.ReasonAuth
	case registry.StatusCode != 0:
		e.Reason = transport.StatusReason(registry.StatusCode)
	default:
		e.Outcome, e.Reason = transport.ClassifyError(err).Outcome, transport.ClassifyError(err).Reason
	}
	if registry.Temporary() && registry.StatusCode != 0 {
		e.Outcome = transport.Retry
	}
	return e
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
