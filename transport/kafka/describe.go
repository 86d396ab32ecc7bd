package kafka

import (
	"net/url"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
)

// Target returns where events go, for people and as an identity: brokers and topic.
func (c Config) Target() string {
	return strings.Join(c.Producer.Brokers, ",") + "/" + c.Topic
}

// MaxBytes is the size of the largest event that is sent, in bytes; brokers and topic may have a lower limit.
func (c Config) MaxBytes() int { return max(1, c.Producer.MaxMessageBytes-framing-len(c.MessageKey)) }

// Settings returns the effective settings under their documented names, defaults included and secrets masked.
func (c Config) Settings() map[string]any {
	shown := map[string]any{
		"topic": c.Topic, "flush": c.Flush, "parallel": Parallel, "config": properties(c.Producer),
	}
	if c.MessageKey != "" {
		shown["messageKey"] = c.MessageKey
	}
	if c.AWS != nil {
		for name, value := range map[string]string{
			"region": c.AWS.Region, "aws_profile": c.AWS.Profile, "role_arn": c.AWS.Role,
		} {
			if value != "" {
				shown[name] = value
			}
		}
	}
	return shown
}

// properties shows what a producer's properties came to.
func properties(c librdkafka.Config) map[string]any {
	acks := "all"
	if c.Acks == 1 {
		acks = "1"
	}
	shown := map[string]any{
		"bootstrap.servers": strings.Join(c.Brokers, ","), "acks": acks, "enable.idempotence": c.Idempotent,
		"compression.type": c.Compression.Codec, "partitioner": string(c.Partitioner), "linger.ms": c.Linger.String(),
		"message.max.bytes": c.MaxMessageBytes, "message.timeout.ms": c.MessageTimeout.String(),
		"request.timeout.ms": c.RequestTimeout.String(), "allow.auto.create.topics": c.CreateTopics,
		"security.protocol": protocol(c),
	}
	put := func(name, value string) {
		if value != "" {
			shown[name] = value
		}
	}
	put("client.id", c.ClientID)
	if t := c.TLS; t != nil {
		put("ssl.ca.location", t.CA)
		put("ssl.certificate.location", t.Cert)
		put("ssl.key.location", t.Key)
		shown["enable.ssl.certificate.verification"] = !t.SkipVerify
		for name, text := range map[string]string{
			"ssl.ca.pem": t.CAPEM, "ssl.certificate.pem": t.CertPEM, "ssl.key.pem": t.KeyPEM, "ssl.key.password": t.KeyPassword,
		} {
			if text != "" {
				shown[name] = transport.Masked
			}
		}
	}
	if s := c.SASL; s != nil {
		shown["sasl.mechanism"] = string(s.Mechanism)
		put("sasl.username", s.Username)
		secret(shown, "sasl.password", s.Password)
		if o := s.OAuth; o != nil {
			put("sasl.oauthbearer.client.id", o.ClientID)
			put("sasl.oauthbearer.token.endpoint.url", address(o.Endpoint))
			put("sasl.oauthbearer.scope", o.Scope)
			secret(shown, "sasl.oauthbearer.client.secret", o.ClientSecret)
		}
	}
	return shown
}

func secret(shown map[string]any, name string, s librdkafka.Secret) {
	if s.File != "" {
		shown[name+"File"] = s.File
	} else if s.Value != "" {
		shown[name] = transport.Masked
	}
}

func protocol(c librdkafka.Config) string {
	word := "plaintext"
	if c.TLS != nil {
		word = "ssl"
	}
	if c.SASL != nil {
		word = "sasl_" + word
	}
	return word
}

// address shows a token endpoint without what may be secret in it.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil || text == "" {
		return ""
	}
	return httptransport.Display(u)
}
