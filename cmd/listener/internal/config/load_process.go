package config

import (
	"errors"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	defaultHTTPAddr       = "127.0.0.1:4280"
	defaultOutboxMaxBytes = 1 << 30
	// leastOutbox leaves room for the largest single event.
	leastOutbox = 1 << 20
	// leastRetention is longer than the longest look back at Prefect: an ended run that is forgotten while it can
	// still be seen would be told as a new one.
	leastRetention = 25 * time.Hour
	stateFolder    = "prefect-openlineage-listener"
	stateFile      = "listener.db"
)

// process reads the settings of the program itself.
func (l *loader) process(v Variables) {
	c := &l.cfg
	poll := 2 * time.Second
	if c.Prefect.Cloud {
		poll = 10 * time.Second
	}
	c.StatePath = l.state(v)
	c.PollInterval = l.duration("LISTENER_POLL_INTERVAL", v.PollInterval, poll, 1)
	c.Hints = read(l, l.env("LISTENER_HINTS", v.Hints), true, onOff, func(text string) (bool, error) {
		word, err := choice(text, "on", "off")
		return word == "on", err
	})
	c.Lookback = l.duration("LISTENER_LOOKBACK", v.Lookback, time.Hour, 0)
	c.Grace = l.duration("LISTENER_GRACE", v.Grace, 10*time.Minute, 1)
	c.Retention = l.duration("LISTENER_RETENTION", v.Retention, 720*time.Hour, leastRetention)
	c.OutboxMaxBytes = read(l, l.env("LISTENER_OUTBOX_MAX_BYTES", v.OutboxMaxBytes), defaultOutboxMaxBytes, Size,
		func(text string) (int64, error) { return size(text, leastOutbox) })
	c.HTTP.Addr = read(l, l.env("LISTENER_HTTP_ADDR", v.HTTPAddr), defaultHTTPAddr, plain, listenAddr)
	c.HTTP.Auth = l.credential(l.env("LISTENER_HTTP_AUTH", v.HTTPAuth), l.env("LISTENER_HTTP_AUTH_FILE", v.HTTPAuthFile), userPassword)
	c.Heartbeat = l.credential(l.env("LISTENER_HEARTBEAT_URL", v.HeartbeatURL), l.env("LISTENER_HEARTBEAT_URL_FILE", v.HeartbeatURLFile), pingURL)
	c.Log = l.log(v)
}

func (l *loader) duration(name, text string, unset, least time.Duration) time.Duration {
	return read(l, l.env(name, text), unset, Brief, func(text string) (time.Duration, error) { return duration(text, least) })
}

// log reads how to log.
func (l *loader) log(v Variables) Log {
	format := "json"
	if l.in.Terminal {
		format = "console"
	}
	return Log{
		Level: read(l, l.env("LISTENER_LOG_LEVEL", v.LogLevel), "info", plain, func(text string) (string, error) {
			return choice(text, "debug", "info", "warn", "error")
		}),
		Format: read(l, l.env("LISTENER_LOG_FORMAT", v.LogFormat), format, plain, func(text string) (string, error) {
			return choice(text, "json", "console")
		}),
	}
}

// state reads where the store is.
func (l *loader) state(v Variables) string {
	from := l.env("LISTENER_STATE", v.State)
	unset := l.defaultState(v)
	if folder := l.env("STATE_DIRECTORY", v.StateDirectory); from.text == "" && folder.text != "" && !strings.HasPrefix(folder.text, "/") {
		l.warn(folder.name, "=%s does not count: it takes an absolute path", quote(folder.text))
	}
	if from.text == "" && unset == "" {
		l.problem(from.name, "", errors.New("is not set and there is no home folder: takes sqlite:///absolute/path"))
		return ""
	}
	return read(l, from, unset, func(path string) string { return (&url.URL{Scheme: "sqlite", Path: path}).String() }, statePath)
}

func statePath(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("takes sqlite:///absolute/path")
	}
	switch {
	case u.Scheme == "postgres" || u.Scheme == "postgresql":
		return "", errors.New("takes sqlite:///absolute/path: the store is one SQLite file, never a database server")
	case u.Scheme == "" && strings.HasPrefix(text, "/"):
		return "", errors.New("takes sqlite:///absolute/path, so here sqlite://" + text)
	case u.Scheme != "sqlite" || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasSuffix(u.Path, "/"):
		return "", errors.New("takes sqlite:///absolute/path, with three slashes")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("takes sqlite:///absolute/path without ? and #")
	}
	return path.Clean(u.Path), nil
}

// defaultState is under systemd's folder for the unit, else in the user's state folder. Empty: there is neither.
func (l *loader) defaultState(v Variables) string {
	// systemd gives several folders with colons between when a unit asks for several.
	if folder, _, _ := strings.Cut(strings.TrimSpace(v.StateDirectory), ":"); strings.HasPrefix(folder, "/") {
		return path.Join(folder, stateFile)
	}
	// A relative XDG_STATE_HOME is to be ignored, says the XDG base directory specification.
	if strings.HasPrefix(v.XDGStateHome, "/") {
		return path.Join(v.XDGStateHome, stateFolder, stateFile)
	}
	if l.in.Home == "" {
		return ""
	}
	return path.Join(l.in.Home, ".local", "state", stateFolder, stateFile)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func number(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }
