package datadog

import (
	"net/url"
	"slices"
	"strings"
)

// DefaultSite is where an account is of which nothing else is known.
const DefaultSite = "datadoghq.com"

// Sites returns the sites of Datadog that take lineage, sorted: those that the Python client knows.
func Sites() []string {
	return []string{
		"ap1.datadoghq.com", "ap2.datadoghq.com", "datad0g.com", "datadoghq.com", "datadoghq.eu", "ddog-gov.com",
		"uk1.datadoghq.com", "us2.ddog-gov.com", "us3.datadoghq.com", "us5.datadoghq.com",
	}
}

// intakeOf returns the base of the address to which a site's events are posted; false: there is no such site.
func intakeOf(site string) (*url.URL, bool) {
	if !slices.Contains(Sites(), site) {
		return nil, false
	}
	return &url.URL{Scheme: "https", Host: "data-obs-intake." + site, Path: "/"}, true
}

// apiOf returns a site's address at which a key can be asked about
// (docs.datadoghq.com/api/latest/authentication/#validate-api-key).
func apiOf(site string) *url.URL {
	return &url.URL{Scheme: "https", Host: "api." + site, Path: "/api/v1/validate"}
}

// isAddress says whether a site is given as an address, as one of a proxy or of the Datadog Agent is.
func isAddress(site string) bool {
	lower := strings.ToLower(site)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}
