package factory

import (
	"errors"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datadog"
	"github.com/prefect-openlineage/listener/transport/datazone"
	"github.com/prefect-openlineage/listener/transport/settings"
)

func buildDatadog(s *settings.Section, o Options) transport.Destination {
	c := datadog.Parse(s, datadog.Options{Getenv: o.Getenv, Order: o.Order})
	if c.HTTP.URL == nil {
		return transport.Destination{}
	}
	source := ""
	for _, name := range []string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		if c.HTTP.TLS.CA == "" && o.Getenv(name) != "" {
			c.HTTP.TLS.CA, source = o.Getenv(name), name+": "
		}
	}
	t, err := datadog.New(c, datadog.TransportOptions{UserAgent: o.UserAgent, Now: o.Now})
	if err != nil {
		s.Refuse("", source+err.Error(), "")
		return transport.Destination{}
	}
	return transport.Destination{
		Kind: "datadog", Transport: t, Parallel: c.HTTP.Parallel, MaxBytes: c.HTTP.MaxBytes, Target: c.Target(), Settings: c.Settings(),
	}
}

// What is said of a profile of AWS's that there is not.
const (
	noProfile   = "names a profile that AWS's shared files do not have"
	profileHint = "look at ~/.aws/config and ~/.aws/credentials, or where AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE point"
)

func buildDataZone(s *settings.Section, o Options) transport.Destination {
	c := datazone.Parse(s, o.Getenv)
	if s.Err() != nil {
		return transport.Destination{}
	}
	t, err := datazone.New(c, datazone.Options{UserAgent: o.UserAgent, Now: o.Now})
	switch {
	case errors.Is(err, datazone.ErrNoRegion), errors.Is(err, datazone.ErrRegion):
		s.Refuse("region", err.Error(), "")
	case errors.Is(err, datazone.ErrProfile):
		s.Refuse("aws_profile", noProfile, profileHint)
	case err != nil:
		s.Refuse("", err.Error(), "")
	default:
		return transport.Destination{
			Kind: "amazon_datazone_api", Transport: t, Parallel: t.Parallel(), MaxBytes: c.MaxBytes, Target: t.Target(), Settings: t.Settings(),
		}
	}
	return transport.Destination{}
}
