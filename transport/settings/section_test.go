package settings_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/settings"
)

func TestSpellingsOfAKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"tokenEndpoint", "token_endpoint", "tokenendpoint", "TOKEN_ENDPOINT"} {
		s := settings.New("transport.auth", map[string]any{key: " x "})
		if got := s.String("tokenEndpoint"); got != "x" {
			t.Errorf("%s: %q", key, got)
		}
		if s.Finish(); len(s.Warnings()) > 0 {
			t.Errorf("%s: %v", key, s.Warnings())
		}
	}
	s := settings.New("x", map[string]any{"api_key": "snake", "apiKey": "camel", "apikey": nil})
	if got := s.String("apiKey"); got != "camel" {
		t.Errorf("of two spellings %q counts", got)
	}
	if got := settings.New("x", map[string]any{"api_key": "snake", "apiKey": ""}).String("apiKey"); got != "snake" {
		t.Errorf("the first that is not empty has to count: %q", got)
	}
	if got := settings.New("x", map[string]any{"api_key": "snake", "apikey": "small"}).String("apiKey"); got != "small" {
		t.Errorf("of two further spellings %q counts", got)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	s := settings.New("transport", map[string]any{
		"text": "a", "number": 5, "big": uint64(7), "fraction": 1.5, "textNumber": " 2.5 ", "on": true, "textOff": "No", "one": 1,
		"seconds": 0.25, "duration": "1m30s", "null": nil, "empty": "", "map": map[string]any{"inner": "b"},
	})
	got := []any{
		s.String("text"), s.String("number"), s.String("fraction"), s.String("on"), s.String("null"), s.String("absent"),
		s.Number(9, "number"), s.Number(9, "big"), s.Number(9, "textNumber"), s.Number(9, "empty"),
		s.Bool(false, "on"), s.Bool(true, "textOff"), s.Bool(false, "one"), s.Bool(true, "null"),
		s.Seconds(time.Hour, "seconds"), s.Seconds(time.Hour, "duration"), s.Seconds(time.Hour, "absent"),
		s.Map("map").String("inner"), s.Map("absent").Empty(), s.Map("map").Path("inner"), s.Null("null"), s.Null("absent"),
	}
	want := []any{
		"a", "5", "1.5", "true", "", "",
		5.0, 7.0, 2.5, 9.0,
		true, false, true, true,
		250 * time.Millisecond, 90 * time.Second, time.Hour,
		"b", true, "transport.map.inner", true, false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
}

func TestProblemsAreCollectedAndNameTheirPath(t *testing.T) {
	t.Parallel()
	secret := "s3cr3t"
	s := settings.New("transport", map[string]any{
		"a": []any{secret}, "b": secret, "c": secret, "d": secret, "e": 0, "f": -1, "g": "NaN", "h": 86401, "inner": map[string]any{"x": []any{}},
	})
	s.String("a")
	s.Bool(false, "b")
	s.Number(0, "c")
	s.Map("d")
	s.Seconds(0, "e")
	s.Seconds(0, "f")
	s.Number(0, "g")
	s.Seconds(0, "h")
	s.Map("inner").String("x")
	var paths []string
	for _, err := range unwrap(s.Err()) {
		e, ok := errors.AsType[*transport.ConfigError](err)
		if !ok {
			t.Fatalf("%v is no ConfigError", err)
		}
		paths = append(paths, e.Path)
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the value is in %q", err)
		}
	}
	want := []string{
		"transport.a", "transport.b", "transport.c", "transport.d", "transport.e", "transport.f", "transport.g", "transport.h",
		"transport.inner.x",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
}

func unwrap(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}

func TestUnknownKeysAreWarnedAbout(t *testing.T) {
	t.Parallel()
	s := settings.New("transport", map[string]any{
		"url": "x", "time_out": "s3cr3t", "Endpoint": "x", "zzz": 1, "auth": map[string]any{"apikye": "s3cr3t"},
	})
	s.String("url")
	s.String("timeoutSeconds")
	s.String("endpoint")
	auth := s.Map("auth")
	auth.String("apiKey")
	auth.Finish()
	s.Finish()
	want := []string{
		"transport.auth.apikye: is not known and has no effect; did you mean apiKey?",
		"transport.time_out: is not known and has no effect",
		"transport.zzz: is not known and has no effect",
	}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Error(diff)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"http", "async_http", "console", "file", "noop", "composite", "transform"}
	for name, want := range map[string]string{
		"htpp": "http", "HTTP": "http", "files": "file", "composide": "composite", "async-http": "async_http", "qqqqqq": "", "": "",
	} {
		if got := settings.Nearest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestAskedIsWhatReadersLookedFor(t *testing.T) {
	t.Parallel()
	s := settings.New("transport", map[string]any{"URL": "x", "odd": 1, "auth": map[string]any{"api_key": "k"}})
	s.String("url")
	s.Bool(false, "append")
	auth := s.Map("auth")
	auth.String("apiKey")
	s.Map("retry").Number(1, "total")
	s.Finish()
	want := []string{
		"transport.append", "transport.auth", "transport.auth.apiKey", "transport.retry", "transport.retry.total",
		"transport.url",
	}
	for _, from := range []*settings.Section{s, auth} {
		if diff := cmp.Diff(want, from.Asked()); diff != "" {
			t.Error(diff)
		}
	}
}
