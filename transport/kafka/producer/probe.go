package producer

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/prefect-openlineage/listener/transport"
)

// Rights as Kafka numbers its operations; noRights is the answer of brokers that do not say.
const (
	mayWrite = 1 << 4
	noRights = -1 << 31
)

// Probe asks the brokers about a topic and for the right to write to it, which makes neither a record nor a topic. It
// returns what they said in plain words; an error is a *transport.Error.
func (p *Producer) Probe(ctx context.Context, topic string) (string, error) {
	g, err := p.take()
	if err != nil {
		return "", p.unusable(err)
	}
	defer p.leave(g)
	said, err := p.ask(ctx, g, topic)
	if err != nil {
		g.retired.Store(true) // a client whose login failed is of no further use
		return "", p.fault(ctx, "asking about topic "+topic, err)
	}
	p.worked.Store(true)
	return said, nil
}

func (p *Producer) ask(ctx context.Context, g *generation, topic string) (string, error) {
	request := kmsg.NewPtrMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = new(topic)
	request.Topics = append(request.Topics, one)
	request.IncludeTopicAuthorizedOperations = true
	answer, err := request.RequestWith(ctx, g.client)
	if err != nil {
		return "", err
	}
	if len(answer.Topics) != 1 {
		return "", errors.New("the brokers answered for another topic")
	}
	seen := answer.Topics[0]
	err = kerr.ErrorForCode(seen.ErrorCode)
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition) && p.config.CreateTopics:
		return fmt.Sprintf("%s answered: topic %s is not there, and is made with the first event where the brokers do that",
			brokers(len(answer.Brokers)), topic), nil
	case err != nil:
		return "", err
	case seen.AuthorizedOperations != noRights && seen.AuthorizedOperations&mayWrite == 0:
		return "", kerr.TopicAuthorizationFailed
	}
	away := 0
	for _, partition := range seen.Partitions {
		if partition.Leader < 0 {
			away++
		}
	}
	if away > 0 {
		return "", &transport.Error{
			Outcome: transport.Retry, Reason: ReasonLeader,
			Err: fmt.Errorf("%d of its %d partitions have no leader", away, len(seen.Partitions)),
		}
	}
	said := fmt.Sprintf("%s answered: topic %s has %s", brokers(len(answer.Brokers)), topic, count(len(seen.Partitions), "partition"))
	if p.config.Idempotent {
		if _, _, err := g.client.ProducerID(ctx); err != nil {
			return "", err
		}
		said += ", and events can be numbered"
	}
	return said, nil
}

func brokers(n int) string { return count(n, "broker") }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
