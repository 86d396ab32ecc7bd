package prefect_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/prefect"
)

const profiles = `
active = "work"

[profiles.work]
PREFECT_API_URL = "https://prefect.example/api"
PREFECT_API_KEY = "pnu_s3cret"
PREFECT_API_REQUEST_TIMEOUT = 12.5
PREFECT_API_TLS_INSECURE_SKIP_VERIFY = true
PREFECT_CLIENT_MAX_RETRIES = 3

[profiles.work.PREFECT_CLIENT_CUSTOM_HEADERS]
X-Token = "t"

[profiles.home]
PREFECT_API_URL = "http://home:4200/api"

[profiles.local]
PREFECT_API_URL = "http://127.0.0.1:4999/api"
`

func TestParseProfile(t *testing.T) {
	t.Parallel()
	work := map[string]string{
		"PREFECT_API_URL": "https://prefect.example/api", "PREFECT_API_KEY": "pnu_s3cret", "PREFECT_API_REQUEST_TIMEOUT": "12.5",
		"PREFECT_API_TLS_INSECURE_SKIP_VERIFY": "true", "PREFECT_CLIENT_MAX_RETRIES": "3",
		"PREFECT_CLIENT_CUSTOM_HEADERS": `{"X-Token":"t"}`,
	}
	ephemeral := map[string]string{"PREFECT_SERVER_EPHEMERAL_ENABLED": "true"}
	for _, test := range []struct {
		name, content, profile string
		want                   map[string]string
		err                    string
	}{
		{"the active one", profiles, "", work, ""},
		{"another by name", profiles, "home", map[string]string{"PREFECT_API_URL": "http://home:4200/api"}, ""},
		{"a shipped one that the file replaces", profiles, "local", map[string]string{"PREFECT_API_URL": "http://127.0.0.1:4999/api"}, ""},
		{"a shipped one", profiles, "ephemeral", ephemeral, ""},
		{"a shipped one without settings", profiles, "cloud", map[string]string{}, ""},
		{"no file and none named", "", "", ephemeral, ""},
		{"no file and a shipped one", "", "local", map[string]string{"PREFECT_API_URL": "http://127.0.0.1:4200/api"}, ""},
		{"nothing active", "[profiles.a]\nPREFECT_API_URL = 'x'", "", ephemeral, ""},
		{"the active one is a shipped one", "active = 'ephemeral'\n[profiles.a]\nPREFECT_API_URL = 'x'", "", ephemeral, ""},
		{"an unknown name", profiles, "nowhere", nil, `"nowhere"; there are cloud, ephemeral, home, local, test, work`},
		{"an unknown active one", "active = 'gone'", "", nil, `"gone"`},
		{"no TOML", "active = \"work\"\n[profiles.work]\nPREFECT_API_KEY = pnu_s3cret", "", nil, "line 3, column 19"},
		{"a wrong form", "profiles = 7", "", nil, "line 1"},
		{"a setting instead of a profile", "[profiles]\nPREFECT_API_KEY = 'pnu_s3cret'", "", nil, "line 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := prefect.ParseProfile([]byte(test.content), test.profile)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("%v, want an error with %s and no secret", err, test.err)
				}
				return
			}
			check(t, err, got, test.want)
		})
	}
	if _, err := prefect.ParseProfile([]byte(profiles), "nowhere"); !errors.Is(err, prefect.ErrNoProfile) {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestReadProfile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "profiles.toml")
	got, err := prefect.ReadProfile(path, "")
	check(t, err, got, map[string]string{"PREFECT_SERVER_EPHEMERAL_ENABLED": "true"})
	if err := os.WriteFile(path, []byte(profiles), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err = prefect.ReadProfile(path, "home")
	check(t, err, got, map[string]string{"PREFECT_API_URL": "http://home:4200/api"})
	if _, err := prefect.ReadProfile(path, "nowhere"); !errors.Is(err, prefect.ErrNoProfile) || !strings.Contains(err.Error(), path) {
		t.Errorf("an unknown name: %v", err)
	}
	if _, err := prefect.ReadProfile(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "reading the Prefect profiles") {
		t.Errorf("a folder instead of a file: %v", err)
	}
}

// FuzzParseProfile: a file of any content gives settings or an error, never both or a panic.
func FuzzParseProfile(f *testing.F) {
	f.Add(profiles, "work")
	f.Add("[profiles.a]\nb = 1979-05-27T07:32:00Z\nc = [1, {d = inf}]", "a")
	f.Fuzz(func(t *testing.T, content, name string) {
		got, err := prefect.ParseProfile([]byte(content), name)
		if (got == nil) != (err != nil) {
			t.Fatalf("%v and %v", got, err)
		}
		again, _ := prefect.ParseProfile([]byte(content), name)
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
