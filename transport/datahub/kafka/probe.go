package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestConnection asks the registry for the schema's id, which registers the schema as sending would, and the broker for
// the topic. It sends no proposal. It takes client_timeout_seconds at most.
func (e *Emitter) TestConnection(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.config.ClientTimeout)
	defer cancel()
	if !e.waiting.known.Load() {
		if _, err := e.registry.schemaID(ctx); err != nil {
			return err
		}
	}
	request := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = new(e.config.Topic)
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(ctx, e.client)
	if err != nil {
		return fmt.Errorf("asking the broker for the topic %s: %w", e.config.Topic, err)
	}
	for _, t := range answer.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("the broker on the topic %s: %w", e.config.Topic, err)
		}
	}
	return nil
}
