package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// proxySchemes are the kinds of proxies that net/http knows.
var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

const (
	defaultAPI     = "http://127.0.0.1:4200/api"
	cloudHost      = "api.prefect.cloud"
	cloudUIHost    = "app.prefect.cloud"
	defaultTimeout = 60 * time.Second // as Prefect's own client
)

// profile holds the settings of the Prefect profile that counts.
type profile struct {
	settings map[string]string
	origin   Origin
}

// prefect reads how to reach Prefect: each setting from the environment, else from the profile.
func (l *loader) prefect(v Variables) {
	l.readProfile(v)
	p := &l.cfg.Prefect
	from := l.orProfile("PREFECT_API_URL", v.PrefectAPIURL)
	address := read(l, from, defaultAPI, maskURL, func(text string) (string, error) {
		u, err := webURL(text)
		if err != nil {
			return "", err
		}
		return strings.TrimRight(u.String(), "/"), nil
	})
	user := l.splitUser(p, address)
	l.checkAPI(from, p)
	p.APIKey = l.credential(l.orProfile("PREFECT_API_KEY", v.PrefectAPIKey), l.env("PREFECT_API_KEY_FILE", v.PrefectAPIKeyFile), oneLine)
	p.AuthString = l.credential(l.orProfile("PREFECT_API_AUTH_STRING", v.PrefectAPIAuth),
		l.env("PREFECT_API_AUTH_STRING_FILE", v.PrefectAPIAuthFile), userPassword)
	if user != "" {
		if p.AuthString.IsSet() || p.APIKey.IsSet() {
			l.warn(from.where(), "its user and password do not count, since other credentials are set")
		} else {
			p.AuthString = NewCredential(user)
		}
	}
	p.Headers.text = l.credential(l.orProfile("PREFECT_CLIENT_CUSTOM_HEADERS", v.PrefectHeaders),
		l.env("PREFECT_CLIENT_CUSTOM_HEADERS_FILE", v.PrefectHeadersFile),
		func(text string) error { _, err := parseHeaders(text); return err })
	l.prefectTLS(v)
	l.socketProxy(v)
	p.RequestTimeout = read(l, l.orProfile("PREFECT_API_REQUEST_TIMEOUT", v.PrefectRequestTimeout), defaultTimeout,
		func(d time.Duration) string { return number(d.Seconds()) }, seconds)
	p.UIURL = read(l, l.orProfile("PREFECT_UI_URL", v.PrefectUIURL), uiAddress(p.URL), plain, func(text string) (string, error) {
		u, err := webURL(text)
		if err != nil {
			return "", err
		}
		u.User = nil
		return strings.TrimRight(u.String(), "/"), nil
	})
	perSecond := 50.0
	if p.Cloud {
		perSecond = 5
	}
	p.MaxRequestsPerSecond = read(l, l.env("LISTENER_MAX_REQUESTS_PER_SECOND", v.MaxRequests), perSecond, number, rate)
}

// splitUser sets the address without user and password and returns these.
func (l *loader) splitUser(p *Prefect, address string) string {
	u, err := url.Parse(address)
	if err != nil { // webURL has parsed it before
		p.URL = address
		return ""
	}
	var user string
	if u.User != nil {
		password, _ := u.User.Password()
		user = u.User.Username() + ":" + password
		u.User = nil
	}
	p.URL, p.Cloud = u.String(), u.Hostname() == cloudHost
	return user
}

// checkAPI warns of addresses that people take for the API's.
func (l *loader) checkAPI(from raw, p *Prefect) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return
	}
	switch {
	case u.Hostname() == cloudUIHost:
		l.warn(from.where(), "is the address of Prefect Cloud's pages; the API is at https://%s/api/accounts/ID/workspaces/ID", cloudHost)
	case p.Cloud && !strings.Contains(u.Path, "/workspaces/"):
		l.warn(from.where(), "names no workspace: Prefect Cloud wants https://%s/api/accounts/ID/workspaces/ID", cloudHost)
	case !strings.Contains(u.Path+"/", "/api/"):
		l.warn(from.where(), "does not end in /api, as the address of a Prefect API does")
	}
}

// prefectTLS reads whom to trust.
func (l *loader) prefectTLS(v Variables) {
	p := &l.cfg.Prefect
	skip := l.orProfile("PREFECT_API_TLS_INSECURE_SKIP_VERIFY", v.PrefectSkipVerify)
	p.InsecureSkipVerify = read(l, skip, false, yesNo, boolean)
	if p.InsecureSkipVerify && strings.HasPrefix(p.URL, "https:") {
		l.warn(skip.where(), "lets anybody on the way pose as Prefect")
	}
	p.CertFile = read(l, l.orProfile("PREFECT_API_SSL_CERT_FILE", v.PrefectCertFile), "", plain, func(text string) (string, error) {
		file := l.absolute(text)
		content, err := readFile(l.in.Files, file, maxCertBytes)
		if err != nil {
			return "", fmt.Errorf("takes a PEM file of certificates: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(content) {
			return "", errors.New("takes a PEM file of certificates: there is none in it")
		}
		return file, nil
	})
}

// socketProxy reads the websocket's own proxy, of which there is one for each scheme, as the library has it that Prefect's
// client connects with.
func (l *loader) socketProxy(v Variables) {
	for _, of := range []struct {
		scheme string
		from   raw
	}{{"http", l.env("WS_PROXY", v.WSProxy)}, {"https", l.env("WSS_PROXY", v.WSSProxy)}} {
		address := read(l, of.from, "", maskURL, func(text string) (string, error) {
			u, err := url.Parse(text)
			if err != nil || u.Hostname() == "" || !slices.Contains(proxySchemes, u.Scheme) {
				return "", errors.New("takes the address of a proxy, such as http://proxy.example:3128")
			}
			return u.String(), nil
		})
		if strings.HasPrefix(l.cfg.Prefect.URL, of.scheme+":") {
			l.cfg.Prefect.SocketProxy = NewSecret(address)
		}
	}
}

// orProfile is a variable's value, else the profile's.
func (l *loader) orProfile(name, text string) raw {
	if from := l.env(name, text); from.text != "" {
		return from
	}
	if text := strings.TrimSpace(l.profile.settings[name]); text != "" {
		return raw{name: name, text: text, origin: l.profile.origin}
	}
	return raw{name: name}
}

// readProfile reads the Prefect profile. That there is no file of profiles is a problem only where one was named.
func (l *loader) readProfile(v Variables) {
	name, file, home := l.env("PREFECT_PROFILE", v.PrefectProfile), l.env("PREFECT_PROFILES_PATH", v.PrefectProfilesPath), l.env("PREFECT_HOME", v.PrefectHome)
	var where string
	switch {
	case file.text != "":
		where = l.absolute(file.text)
	case home.text != "":
		where = path.Join(l.absolute(home.text), "profiles.toml")
	case l.in.Home != "":
		where = path.Join(l.in.Home, ".prefect", "profiles.toml")
	}
	if where == "" {
		return
	}
	if file.text != "" {
		info, err := fs.Stat(l.in.Files, rooted(where))
		if err == nil {
			err = readable(where, info)
		}
		if err != nil {
			l.problem(file.name, file.text, fmt.Errorf("takes Prefect's file of profiles: %w", cause(err)))
			return
		}
	}
	settings, err := l.in.Profile(where, name.text)
	switch {
	case err == nil:
		l.profile = profile{settings: settings, origin: Origin{Source: Profile, Name: name.text, File: where}}
	case name.text != "":
		l.problem(name.name, name.text, fmt.Errorf("takes the name of a Prefect profile: %w", err))
	default:
		l.problem("PREFECT_PROFILES_PATH", where, fmt.Errorf("takes Prefect's file of profiles: %w", err))
	}
}

// uiAddress derives where people see the pages from the API's address, as Prefect itself does.
func uiAddress(api string) string {
	ui := strings.Replace(api, "://"+cloudHost+"/", "://"+cloudUIHost+"/", 1)
	ui = strings.TrimSuffix(ui, "/api")
	for _, part := range [][2]string{{"/api/", "/"}, {"/accounts/", "/account/"}, {"/workspaces/", "/workspace/"}} {
		ui = strings.Replace(ui, part[0], part[1], 1)
	}
	return ui
}
