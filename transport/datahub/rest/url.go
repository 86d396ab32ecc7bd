package rest

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ServerURL returns the address under which GMS's endpoints stand, put right as DataHub's own client does it: trailing
// slashes are cut, and for an address of DataHub Cloud (acryl.io) http becomes https, a trailing :8080 is dropped, /gms is
// added where no path is, and /api/gms becomes /gms. A path before GMS is kept. No problem's text holds the address's
// password.
func ServerURL(text string) (*url.URL, error) {
	text = strings.TrimRight(strings.TrimSpace(text), "/")
	if text == "" {
		return nil, errors.New("the server is empty: set it to GMS's address, such as http://localhost:8080")
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, errors.New("the server is not an http or https address such as http://localhost:8080")
	}
	if u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return nil, fmt.Errorf("the server %s://%s has a query or a fragment, and GMS's address has none", u.Scheme, u.Host)
	}
	if host := strings.ToLower(u.Hostname()); host == "acryl.io" || strings.HasSuffix(host, ".acryl.io") {
		fixCloud(u)
	}
	return u, nil
}

// fixCloud puts an address of DataHub Cloud right. Its GMS is behind the page's own host, always over TLS.
func fixCloud(u *url.URL) {
	u.Scheme = "https"
	if u.Path == "" {
		u.Host = strings.TrimSuffix(u.Host, ":8080")
	}
	switch u.Path {
	case "", "/api/gms":
		u.Path = "/gms"
	}
}

// joinPath returns base with a path and query that are escaped already.
func joinPath(base *url.URL, escapedPath, query string) (*url.URL, error) {
	u := *base
	escapedPath = strings.TrimRight(base.EscapedPath(), "/") + escapedPath
	path, err := url.PathUnescape(escapedPath)
	if err != nil {
		return nil, fmt.Errorf("the path %s is not escaped well: %w", escapedPath, err)
	}
	u.Path, u.RawPath, u.RawQuery = path, escapedPath, query
	return &u, nil
}

// display returns an address for people: no user and no password.
func display(u *url.URL) string {
	shown := *u
	shown.User = nil
	return shown.String()
}

// escapeURN escapes a URN as one part of a path. Letters, digits and -._~ stay: a URN with brackets, commas, slashes or
// percent signs comes out of the server's unescaping as it went in.
func escapeURN(urn string) string {
	return strings.ReplaceAll(url.QueryEscape(urn), "+", "%20")
}
