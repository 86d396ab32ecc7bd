package producer

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/prefect-openlineage/listener/transport"
)

// The reasons that only Kafka has. They are bounded, as transport's are.
const (
	ReasonTopic    = "topic"    // it is missing, or no topic can be called so
	ReasonLeader   = "leader"   // a partition's leader is away or moves
	ReasonReplicas = "replicas" // fewer replicas than the topic asks for
	ReasonClock    = "clock"    // the brokers' clock is far from ours
	ReasonVersion  = "version"  // the brokers are too old for what is asked
	ReasonBroker   = "broker"   // any other error of the brokers'
)

// verdict is what an error code of the brokers' means for a record.
type verdict struct {
	outcome transport.Outcome
	reason  string
	hint    string
}

// verdicts are the codes that are not simply tried again. Those of which it is said that they hold are about the topic,
// the rights or the settings, which are the same for each record.
var verdicts = map[*kerr.Error]verdict{
	kerr.UnknownTopicOrPartition: {transport.Hold, ReasonTopic, "make the topic, or allow the brokers to make it"},
	kerr.UnknownTopicID:          {transport.Hold, ReasonTopic, "the topic was removed or made anew"},
	kerr.InvalidTopicException:   {transport.Hold, ReasonTopic, "a topic's name is letters, digits, dots, dashes and underscores"},

	kerr.TopicAuthorizationFailed: {transport.Hold, transport.ReasonAuth, "allow Write and Describe on the topic"},
	kerr.ClusterAuthorizationFailed: {
		transport.Hold, transport.ReasonAuth, "allow IdempotentWrite on the cluster, or set enable.idempotence: false",
	},
	kerr.TransactionalIDAuthorizationFailed: {transport.Hold, transport.ReasonAuth, ""},
	kerr.SaslAuthenticationFailed:           {transport.Hold, transport.ReasonAuth, "look at sasl.username and sasl.password"},
	kerr.UnsupportedSaslMechanism:           {transport.Hold, transport.ReasonAuth, "look at sasl.mechanism"},
	kerr.IllegalSaslState:                   {transport.Hold, transport.ReasonAuth, "look at security.protocol"},
	kerr.SecurityDisabled:                   {transport.Hold, transport.ReasonAuth, ""},
	kerr.DelegationTokenAuthDisabled:        {transport.Hold, transport.ReasonAuth, ""},
	kerr.DelegationTokenNotFound:            {transport.Hold, transport.ReasonAuth, ""},
	kerr.DelegationTokenExpired:             {transport.Hold, transport.ReasonAuth, ""},

	kerr.UnsupportedVersion:          {transport.Hold, ReasonVersion, ""},
	kerr.UnsupportedForMessageFormat: {transport.Hold, ReasonVersion, ""},
	kerr.UnsupportedCompressionType:  {transport.Hold, ReasonVersion, "look at compression.type"},
	kerr.InvalidRequiredAcks:         {transport.Hold, ReasonVersion, "look at acks"},
	kerr.InvalidTimestamp:            {transport.Hold, ReasonClock, "the brokers' clock and this machine's differ by more than the topic allows"},
	kerr.PolicyViolation:             {transport.Hold, ReasonBroker, ""},

	kerr.MessageTooLarge:    {transport.Permanent, transport.ReasonTooLarge, ""},
	kerr.RecordListTooLarge: {transport.Permanent, transport.ReasonTooLarge, ""},
	kerr.InvalidRecord:      {transport.Permanent, transport.ReasonRefused, ""},

	kerr.NotEnoughReplicas:            {transport.Retry, ReasonReplicas, ""},
	kerr.NotEnoughReplicasAfterAppend: {transport.Retry, ReasonReplicas, ""},
	kerr.NotLeaderForPartition:        {transport.Retry, ReasonLeader, ""},
	kerr.LeaderNotAvailable:           {transport.Retry, ReasonLeader, ""},
	kerr.FencedLeaderEpoch:            {transport.Retry, ReasonLeader, ""},
	kerr.UnknownLeaderEpoch:           {transport.Retry, ReasonLeader, ""},
	kerr.RequestTimedOut:              {transport.Retry, transport.ReasonTimeout, ""},
	kerr.NetworkException:             {transport.Retry, transport.ReasonConnection, ""},
}

// clean says of an error that nothing was written for the record: the brokers refused it, or it never left.
func clean(err error) bool { return errors.Is(err, kgo.ErrMaxBuffered) || Refused(err) }

// Refused says of an error of the client's that brokers refused a batch for what is in it and wrote nothing. The client then
// fails all that it holds for the partition, so it counts only for a record that travelled alone.
func Refused(err error) bool {
	code, ok := errors.AsType[*kerr.Error](err)
	return ok && verdicts[code].outcome == transport.Permanent
}

// Classify says what an error of the client's or the brokers' means for a record.
func Classify(err error) (transport.Outcome, string) {
	v := judge(err)
	return v.outcome, v.reason
}

func judge(err error) verdict {
	if known, ok := errors.AsType[*transport.Error](err); ok {
		return verdict{outcome: known.Outcome, reason: known.Reason}
	}
	if code, ok := errors.AsType[*kerr.Error](err); ok {
		if v, ok := verdicts[code]; ok {
			return v
		}
		return verdict{outcome: transport.Retry, reason: ReasonBroker}
	}
	if errors.Is(err, kgo.ErrClientClosed) || errors.Is(err, errUnsure) {
		return verdict{outcome: transport.Retry, reason: transport.ReasonConnection}
	}
	known := transport.ClassifyError(err)
	return verdict{outcome: known.Outcome, reason: known.Reason}
}

// fault is what became of a record, or of a question, that ended in an error; doing names which. Its text holds no
// secret.
func (p *Producer) fault(ctx context.Context, doing string, err error) *transport.Error {
	v := judge(err)
	if v.outcome == transport.Retry && answeredOddly(err, v.reason) && !p.worked.Load() {
		v = p.strange()
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		v = verdict{outcome: transport.Retry, reason: transport.ReasonCancelled}
	case ctx.Err() != nil && v.outcome == transport.Retry:
		v.reason = transport.ReasonTimeout
	}
	text := doing + ": " + err.Error()
	if v.hint != "" {
		text += "; " + v.hint
	}
	return &transport.Error{Outcome: v.outcome, Reason: v.reason, Err: &failure{p.line(text), err}}
}

// answeredOddly says that there was a connection, and that what came of it was its end or nothing that brokers say.
func answeredOddly(err error, reason string) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return false
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET} {
		if errors.Is(err, end) {
			return true
		}
	}
	for _, own := range []error{kgo.ErrClientClosed, kgo.ErrRecordTimeout, kgo.ErrRecordRetries, errUnsure} {
		if errors.Is(err, own) {
			return false
		}
	}
	return reason == transport.ReasonConnection
}

// strange is what it means that brokers answer oddly although nothing ever worked: so brokers answer who speaks otherwise
// than they do, and older ones who logs in wrongly. It holds, since waiting would not mend that; brokers that were only
// starting are found with the next probe.
func (p *Producer) strange() verdict {
	if p.config.SASL != nil {
		return verdict{transport.Hold, transport.ReasonAuth, "look at security.protocol and the login"}
	}
	return verdict{transport.Hold, transport.ReasonTLS, "look at security.protocol"}
}

// unusable is what becomes of a record for which no client can be made: a file is missing or holds something else.
func (p *Producer) unusable(err error) *transport.Error {
	e := *transport.ClassifyError(err)
	if e.Outcome == transport.Retry && e.Reason == transport.ReasonConnection {
		e.Outcome, e.Reason = transport.Hold, transport.ReasonTLS // no file's fault, so what it holds is wrong
	}
	e.Err = &failure{p.line(err.Error()), err}
	return &e
}

// line is a text on one line without secrets.
func (p *Producer) line(text string) string {
	return p.mask.Text(strings.Join(strings.Fields(text), " "))
}

// failure is an error whose text is safe to show and whose cause can still be asked for.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }
