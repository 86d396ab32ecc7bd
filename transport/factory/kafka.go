package factory

import (
	"context"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datazone"
	"github.com/prefect-openlineage/listener/transport/kafka"
	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/kafka/mskiam"
	"github.com/prefect-openlineage/listener/transport/settings"
)

func buildKafka(s *settings.Section, o Options) transport.Destination {
	return kafkaDestination("kafka", kafka.Parse(s), librdkafka.Build{UserAgent: o.UserAgent, Now: o.Now}, s)
}

// buildMSK makes msk-iam. The region is looked for where the Python client does, and then in the brokers' names.
func buildMSK(s *settings.Section, o Options) transport.Destination {
	c := kafka.ParseMSK(s, o.Getenv("AWS_REGION"))
	region, err := mskiam.Region(context.Background(), c.AWS.Profile)
	if c.AWS.Region == "" {
		c.AWS.Region = region
	}
	switch {
	case err != nil:
		s.Refuse("aws_profile", noProfile, profileHint)
	case c.AWS.Region == "":
		s.Refuse("region", "is missing", "set it, or AWS_REGION, to the region of the brokers, such as eu-west-1")
	case !datazone.IsRegion(c.AWS.Region):
		s.Refuse("region", "is not a region", "such as eu-west-1; also AWS_REGION and AWS's shared configuration file say it")
	}
	identity := mskiam.Identity{Region: c.AWS.Region, Profile: c.AWS.Profile, Role: c.AWS.Role}
	tokens := mskiam.New(identity, o.UserAgent, o.Now)
	return kafkaDestination("msk-iam", c, librdkafka.Build{UserAgent: o.UserAgent, Now: o.Now, Tokens: tokens.Auth}, s)
}

func kafkaDestination(kind string, c kafka.Config, b librdkafka.Build, s *settings.Section) transport.Destination {
	if s.Err() != nil {
		return transport.Destination{}
	}
	if t := c.Producer.TLS; t != nil {
		if _, err := t.Load(); err != nil {
			s.Refuse("config", err.Error(), "")
			return transport.Destination{}
		}
	}
	return transport.Destination{
		Kind: kind, Transport: kafka.New(c, b), Parallel: kafka.Parallel, MaxBytes: c.MaxBytes(),
		Target: c.Target(), Settings: c.Settings(),
	}
}
