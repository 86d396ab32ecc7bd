package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPrefectFromTheProfile(t *testing.T) {
	t.Parallel()
	profile := map[string]string{
		"PREFECT_API_URL": "http://profile:4200/api", "PREFECT_API_KEY": "pnu_profile", "PREFECT_API_REQUEST_TIMEOUT": "7",
	}
	cfg, _ := mustLoad(t, system{profile: profile})
	for _, name := range []string{"PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_REQUEST_TIMEOUT"} {
		_, origin := setting(t, cfg, name)
		equal(t, "active profile in /home/ann/.prefect/profiles.toml", origin)
	}
	equal(t, "http://profile:4200/api", cfg.Prefect.URL)
	equal(t, 7*time.Second, cfg.Prefect.RequestTimeout)

	cfg, _ = mustLoad(t, system{profile: profile, env: []string{"PREFECT_API_URL=http://env:4200/api", "PREFECT_PROFILE=ann", "PREFECT_HOME=/p"}})
	equal(t, "http://env:4200/api", cfg.Prefect.URL)
	_, origin := setting(t, cfg, "PREFECT_API_KEY")
	equal(t, "profile ann in /p/profiles.toml", origin)
}

func TestPrefectProfileProblems(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		s    system
		want string
	}{
		{"no such profile", system{env: []string{"PREFECT_PROFILE=bob"}}, "PREFECT_PROFILE=bob: takes the name of a Prefect profile: there is no profile bob"},
		{"no such file", system{env: []string{"PREFECT_PROFILES_PATH=~/p.toml"}}, "PREFECT_PROFILES_PATH=~/p.toml: takes Prefect's file of profiles: file does not exist"},
		{
			"a profile's bad value", system{profile: map[string]string{"PREFECT_API_URL": "nowhere"}},
			"PREFECT_API_URL (active profile in /home/ann/.prefect/profiles.toml)=nowhere: takes an address that begins with http:// or https://",
		},
		{
			"a profile's bad secret", system{profile: map[string]string{"PREFECT_API_AUTH_STRING": "hunter2"}},
			"PREFECT_API_AUTH_STRING (active profile in /home/ann/.prefect/profiles.toml): takes user:password",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			equal(t, []string{test.want}, problems(test.s))
		})
	}
	_, _ = mustLoad(t, system{env: []string{"PREFECT_PROFILES_PATH=p.toml"}, files: map[string]string{workDir + "/p.toml": ""}})
}

func TestPrefectUserInTheAddress(t *testing.T) {
	t.Parallel()
	const address = "PREFECT_API_URL=http://ann:hunter2@prefect:4200/api"
	cfg, _ := mustLoad(t, system{env: []string{address}})
	auth, err := cfg.Prefect.AuthString.Value()
	equal(t, []any{"http://prefect:4200/api", "ann:hunter2", nil}, []any{cfg.Prefect.URL, auth.Reveal(), err})

	cfg, warnings := mustLoad(t, system{env: []string{address, "PREFECT_API_AUTH_STRING=bob:s3cret", "OPENLINEAGE_URL=http://h"}})
	auth, _ = cfg.Prefect.AuthString.Value()
	equal(t, "bob:s3cret", auth.Reveal())
	equal(t, []string{"PREFECT_API_URL: its user and password do not count, since other credentials are set"}, lines(warnings))
}

func TestPrefectWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		env  []string
		want string // the beginning; empty: none
	}{
		{"fine", []string{"PREFECT_API_URL=http://h:4200/api"}, ""},
		{"fine below a path", []string{"PREFECT_API_URL=https://h/prefect/api/"}, ""},
		{"fine in the cloud", []string{"PREFECT_API_URL=https://api.prefect.cloud/api/accounts/a/workspaces/w"}, ""},
		{"no api", []string{"PREFECT_API_URL=http://h:4200"}, "PREFECT_API_URL: does not end in /api"},
		{"pages", []string{"PREFECT_API_URL=https://app.prefect.cloud/account/a/workspace/w"}, "PREFECT_API_URL: is the address of Prefect Cloud's pages"},
		{"no workspace", []string{"PREFECT_API_URL=https://api.prefect.cloud/api"}, "PREFECT_API_URL: names no workspace"},
		{"no check", []string{"PREFECT_API_URL=https://h/api", "PREFECT_API_TLS_INSECURE_SKIP_VERIFY=1"}, "PREFECT_API_TLS_INSECURE_SKIP_VERIFY: lets anybody"},
		{"no TLS to check", []string{"PREFECT_API_TLS_INSECURE_SKIP_VERIFY=1"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, warnings := mustLoad(t, system{env: append(test.env, "OPENLINEAGE_URL=http://h")})
			got := strings.Join(lines(warnings), "\n")
			if !strings.HasPrefix(got, test.want) || (test.want == "" && got != "") {
				t.Errorf("warnings %q, want one that begins with %q", got, test.want)
			}
		})
	}
}

func TestPrefectPages(t *testing.T) {
	t.Parallel()
	for api, want := range map[string]string{
		"http://127.0.0.1:4200/api":        "http://127.0.0.1:4200",
		"https://h/prefect/api/":           "https://h/prefect",
		"https://u:p@h/api":                "https://h",
		"https://h:1/api/accounts/a/api":   "https://h:1/account/a",
		"http://h:4200":                    "http://h:4200",
		"https://api.prefect.cloud.evil/a": "https://api.prefect.cloud.evil/a",
	} {
		cfg, _ := mustLoad(t, system{env: []string{"PREFECT_API_URL=" + api}})
		equal(t, want, cfg.Prefect.UIURL)
		equal(t, false, cfg.Prefect.Cloud)
	}
}

func TestPrefectCertificates(t *testing.T) {
	t.Parallel()
	files := map[string]string{workDir + "/ca.pem": certificate(t), "/text.pem": "hello"}
	equal(t, []string{"PREFECT_API_SSL_CERT_FILE=/text.pem: takes a PEM file of certificates: there is none in it"},
		problems(system{files: files, env: []string{"PREFECT_API_SSL_CERT_FILE=/text.pem"}}))
	cfg, _ := mustLoad(t, system{files: files, env: []string{"PREFECT_API_SSL_CERT_FILE=ca.pem"}})
	equal(t, workDir+"/ca.pem", cfg.Prefect.CertFile)
}

func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)},
		&x509.Certificate{SerialNumber: big.NewInt(1)}, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// The websocket has a proxy of its own for each scheme.
func TestSocketProxy(t *testing.T) {
	t.Parallel()
	const plain, secure = "WS_PROXY=http://ann:s3cret-word@ws.example:3128", "WSS_PROXY=socks5://wss.example"
	for _, test := range []struct{ api, want string }{
		{"http://prefect.example/api", "http://ann:s3cret-word@ws.example:3128"},
		{"https://prefect.example/api", "socks5://wss.example"},
	} {
		cfg, _ := mustLoad(t, system{env: []string{"PREFECT_API_URL=" + test.api, plain, secure}})
		if got := cfg.Prefect.SocketProxy.Reveal(); got != test.want {
			t.Errorf("%s: %s, want %s", test.api, got, test.want)
		}
		for _, setting := range cfg.Settings {
			if strings.Contains(setting.Value, "s3cret-word") {
				t.Errorf("%s shows the password", setting.Name)
			}
		}
	}
	cfg, _ := mustLoad(t, system{env: []string{"PREFECT_API_URL=http://prefect.example/api", plain}})
	if !slices.Contains(cfg.Secrets(), "s3cret-word") {
		t.Errorf("the password is not among the secrets to mask")
	}
	equal(t, []string{"WS_PROXY=\"proxy.example:3128\": takes the address of a proxy, such as http://proxy.example:3128"},
		problems(system{env: []string{"WS_PROXY=proxy.example:3128"}}))
}
