package mask_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

func TestMasksEverySpelling(t *testing.T) {
	t.Parallel()
	const secret = `pa55 w"/+ö%&`
	var m mask.Masker
	m.Set("password", secret)
	spellings := map[string]string{
		"plain":       secret,
		"query":       url.QueryEscape(secret),
		"path":        url.PathEscape(secret),
		"userinfo":    url.UserPassword("u", secret).String(),
		"base64":      base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64 url":  base64.URLEncoding.EncodeToString([]byte(secret)),
		"inside JSON": `pa55 w\"/+ö%\u0026`,
	}
	for name, form := range spellings {
		got := m.Text("before " + form + " after")
		if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") || !strings.Contains(got, "***") {
			t.Errorf("%s: %q", name, got)
		}
		if strings.Contains(got, "pa55") || strings.Contains(got, form) {
			t.Errorf("%s: still there: %q", name, got)
		}
	}
}

func TestLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	var m mask.Masker
	const text = "an innocent answer"
	if got := m.Text(text); got != text {
		t.Errorf("without secrets: %q", got)
	}
	m.Set("short", "an", "")
	if got := string(m.Bytes([]byte(text))); got != text {
		t.Errorf("a secret too short to look for: %q", got)
	}
}

func TestTheLongerSecretGoesFirst(t *testing.T) {
	t.Parallel()
	var m mask.Masker
	m.Set("a", "secret")
	m.Set("b", "secret-and-more")
	if got := m.Text("x secret-and-more y"); got != "x *** y" {
		t.Errorf("%q", got)
	}
}

func TestForgetsOldTokens(t *testing.T) {
	t.Parallel()
	var m mask.Masker
	for n := range 5 {
		m.Set("token", fmt.Sprintf("token-%d", n))
	}
	m.Set("token", "token-4") // the same again changes nothing
	if got, want := m.Text("token-2 token-3 token-4"), "token-2 *** ***"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	var m mask.Masker
	m.Set("fixed", "the-fixed-one")
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 50 {
				m.Set(fmt.Sprint(n), fmt.Sprintf("secret-%d-%d", n, i))
				if got := m.Text("the-fixed-one"); got != "***" {
					t.Errorf("%q", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestNoSecretSurvives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z0-9/+:@?& ]{4,20}`).Draw(t, "secret")
		around := rapid.StringMatching(`[A-Z]{0,10}`).Draw(t, "around")
		var m mask.Masker
		m.Set("x", secret)
		if got := m.Text(around + secret + around); strings.Contains(got, secret) {
			t.Fatalf("%q is in %q", secret, got)
		}
	})
}
