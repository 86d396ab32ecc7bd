package datazone

import (
	"net/url"
	"strings"
)

// suffixes are the domains of DataZone's addresses by the beginning of a region's name, the first that fits counts:
// those of the partitions in the endpoint rules that AWS ships with its clients. DataZone has dual-stack addresses only.
var suffixes = []struct{ region, domain string }{
	{"cn-", "api.amazonwebservices.com.cn"},
	{"eusc-", "api.amazonwebservices.eu"},
	{"us-iso-", "api.aws.ic.gov"},
	{"us-isob-", "api.aws.scloud"},
	{"us-isof-", "api.aws.hci.ic.gov"},
	{"eu-isoe-", "api.cloud-aws.adc-e.uk"},
	{"", "api.aws"},
}

// regional returns DataZone's address in a region.
func regional(region string, fips bool) *url.URL {
	host := "datazone"
	if fips {
		host += "-fips"
	}
	for _, suffix := range suffixes {
		if strings.HasPrefix(region, suffix.region) {
			return &url.URL{Scheme: "https", Host: host + "." + region + "." + suffix.domain}
		}
	}
	return nil // the last one fits every region
}

// eventsAt returns where a domain's events are posted, and where the domain itself is described.
func eventsAt(base *url.URL, domain string) (events, about *url.URL) {
	root := *base
	if root.Path == "" {
		root.Path = "/" // JoinPath makes no absolute path of none
	}
	about = root.JoinPath("v2", "domains", domain)
	return about.JoinPath("lineage", "events"), about
}
