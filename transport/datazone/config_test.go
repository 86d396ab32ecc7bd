package datazone_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datazone"
)

func TestRegionsHaveTheirAddresses(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{
		"eu-central-1":   "https://datazone.eu-central-1.api.aws",
		"us-gov-west-1":  "https://datazone.us-gov-west-1.api.aws",
		"cn-north-1":     "https://datazone.cn-north-1.api.amazonwebservices.com.cn",
		"eusc-de-east-1": "https://datazone.eusc-de-east-1.api.amazonwebservices.eu",
		"us-isob-east-1": "https://datazone.us-isob-east-1.api.aws.scloud",
	} {
		tr := build(t, parse(t, m{"domainId": "dzd_4example", "region": region}, nil), &keys{}, nil)
		if got := tr.Target(); got != want+"/v2/domains/dzd_4example/lineage/events" {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
	c := parse(t, m{"domainId": "dzd_4example", "region": "us-east-1"}, map[string]string{"AWS_USE_FIPS_ENDPOINT": "true"})
	if got := build(t, c, &keys{}, nil).Target(); !strings.HasPrefix(got, "https://datazone-fips.us-east-1.api.aws/") {
		t.Errorf("FIPS: %s", got)
	}
}

func TestWhereTheAddressIsFrom(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		values m
		env    map[string]string
		want   string
	}{
		{"the setting", m{"endpointOverride": "http://h:1"}, map[string]string{"AWS_ENDPOINT_URL": "http://o"}, "http://h:1"},
		{"small letters", m{"endpointoverride": "http://h:1"}, nil, "http://h:1"},
		{"the service's variable", m{}, map[string]string{"AWS_ENDPOINT_URL": "http://o", "AWS_ENDPOINT_URL_DATAZONE": "http://d"}, "http://d"},
		{"the general variable", m{}, map[string]string{"AWS_ENDPOINT_URL": "http://o/base/"}, "http://o/base/"},
		{"variables that are not to count", m{}, map[string]string{"AWS_ENDPOINT_URL": "http://o", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.values["domainid"] = "dzd_4example"
			got := ""
			if c := parse(t, tt.values, tt.env); c.Endpoint != nil {
				got = c.Endpoint.String()
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	const domain = "dzd_4example"
	tests := []struct {
		name, path string
		values     m
		env        map[string]string
	}{
		{"no domain", "domainId", m{}, nil},
		{"a domain that is none", "domainId", m{"domainId": "my domain"}, nil},
		{"a domain that climbs", "domainId", m{"domainId": "dzd_../../x"}, nil},
		{"a region that is none", "region", m{"domainId": domain, "region": "eu-central-1.evil.example/"}, nil},
		{"an address that is none", "endpointOverride", m{"domainId": domain, "endpointOverride": "localhost"}, nil},
		{"an address of a variable that is none", "endpointOverride", m{"domainId": domain}, map[string]string{"AWS_ENDPOINT_URL": "localhost"}},
		{"an address with a password", "endpointOverride", m{"domainId": domain, "endpointOverride": "http://u:sikrit@h"}, nil},
		{"a role that is none", "role_arn", m{"domainId": domain, "role_arn": "lineage"}, nil},
		{"a time that is none", "timeout", m{"domainId": domain, "timeout": "soon"}, nil},
		{"a size that is none", "max_event_bytes", m{"domainId": domain, "max_event_bytes": -1}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := read(tt.values, tt.env)
			wrong, ok := errors.AsType[*transport.ConfigError](err)
			if !ok || wrong.Path != "transport."+tt.path || strings.Contains(err.Error(), "sikrit") {
				t.Errorf("%v, want a problem of %s", err, tt.path)
			}
		})
	}
	_, warnings, err := read(m{"domainId": domain, "domain": "x"}, nil)
	if err != nil || !strings.Contains(fmt.Sprint(warnings), "did you mean domainId?") {
		t.Errorf("%v %v", err, warnings)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	values := m{"domain_id": "dzd-1", "region": "us-west-2", "role_arn": "arn:aws:iam::123456789012:role/lineage", "timeout": 20, "max_event_bytes": 1_000_000}
	tr := build(t, parse(t, values, nil), &keys{}, nil)
	want := m{
		"domainId": "dzd-1", "region": "us-west-2",
		"timeout": (20 * time.Second).String(), "max_event_bytes": datazone.MaxBytes, "parallel": 8,
		"role_arn": "arn:aws:iam::123456789012:role/lineage",
	}
	if diff := cmp.Diff(want, tr.Settings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
