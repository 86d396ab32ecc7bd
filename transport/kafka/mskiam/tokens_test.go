package mskiam

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/prefect-openlineage/listener/transport"
)

func now() time.Time { return time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) }

// The token is, but for who asks, the one that AWS's signer for Python makes of the same credentials at the same time.
func TestTheTokenIsThatOfAWSsSigner(t *testing.T) {
	t.Parallel()
	by := aws.Credentials{
		AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", SessionToken: "session/token+=",
	}
	token, err := sign(t.Context(), by, "eu-west-1", "listener/1", now())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	got, err := url.Parse(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	const python = "https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect&X-Amz-Algorithm=AWS4-HMAC-SHA256" +
		"&X-Amz-Credential=AKIDEXAMPLE%2F20261130%2Feu-west-1%2Fkafka-cluster%2Faws4_request&X-Amz-Date=20261130T100000Z" +
		"&X-Amz-Expires=900&X-Amz-SignedHeaders=host&X-Amz-Security-Token=session%2Ftoken%2B%3D" +
		"&X-Amz-Signature=7f86920f0020e976378902a297701440d8df8e3389053bc6369ca8bd1467b7ba&User-Agent=aws-msk-iam-sasl-signer-python%2F1.0.2"
	want, err := url.Parse(python)
	if err != nil {
		t.Fatal(err)
	}
	has, wants := got.Query(), want.Query()
	if agent := has.Get("User-Agent"); agent != "listener/1" {
		t.Errorf("User-Agent %q", agent)
	}
	has.Del("User-Agent")
	wants.Del("User-Agent")
	if got.Host != want.Host || got.Path != want.Path || has.Encode() != wants.Encode() {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// home sets up what AWS's own library reads, and nothing of this machine's.
func home(t *testing.T, files map[string]string, variables map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

// keyOf is the access key that a token names.
func keyOf(t *testing.T, identity Identity) string {
	t.Helper()
	auth, err := New(identity, "listener/1", now).Auth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := base64.RawURLEncoding.DecodeString(auth.Token)
	signed, err := url.Parse(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	key, _, _ := strings.Cut(signed.Query().Get("X-Amz-Credential"), "/")
	return key
}

func TestWhereCredentialsComeFrom(t *testing.T) {
	const role = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>` +
		`<AccessKeyId>OFTHEROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>` +
		`<Expiration>2036-11-30T12:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`
	asked := ""
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.FormValue("RoleArn") + " " + r.FormValue("RoleSessionName")
		_, _ = w.Write([]byte(role))
	}))
	defer service.Close()
	home(t, map[string]string{
		"config":      "[profile other]\nregion = eu-north-1\n",
		"credentials": "[default]\naws_access_key_id = OFTHEFILE\naws_secret_access_key = x\n[other]\naws_access_key_id = OFOTHER\naws_secret_access_key = x\n",
	}, map[string]string{"AWS_ENDPOINT_URL_STS": service.URL})
	for identity, want := range map[Identity]string{
		{Region: "eu-west-1"}:                                               "OFTHEFILE",
		{Region: "eu-west-1", Profile: "other"}:                             "OFOTHER",
		{Region: "eu-west-1", Role: "arn:aws:iam::111122223333:role/lines"}: "OFTHEROLE",
	} {
		if got := keyOf(t, identity); got != want {
			t.Errorf("%+v: %s, want %s", identity, got, want)
		}
	}
	if asked != "arn:aws:iam::111122223333:role/lines MSKSASLDefaultSession" {
		t.Errorf("asked for %s", asked)
	}
	if got, err := Region(t.Context(), "other"); got != "eu-north-1" || err != nil {
		t.Errorf("region %q, %v", got, err)
	}
	if got, err := Region(t.Context(), "nobody"); err == nil {
		t.Errorf("a profile that there is not has region %q", got)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "OFVARIABLES")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	if got := keyOf(t, Identity{Region: "eu-west-1"}); got != "OFVARIABLES" {
		t.Error(got)
	}
}

// What it means that there are no credentials, in each way.
func TestWithoutCredentials(t *testing.T) {
	status := http.StatusForbidden
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`))
	}))
	home(t, nil, map[string]string{
		"AWS_ACCESS_KEY_ID": "OFVARIABLES", "AWS_SECRET_ACCESS_KEY": "x", "AWS_ENDPOINT_URL_STS": service.URL, "AWS_MAX_ATTEMPTS": "1",
	})
	of := func(identity Identity) *transport.Error {
		_, err := New(identity, "listener/1", now).Auth(t.Context())
		e, ok := errors.AsType[*transport.Error](err)
		if !ok {
			t.Fatalf("%v is no *transport.Error", err)
		}
		return e
	}
	role := Identity{Region: "eu-west-1", Role: "arn:aws:iam::111122223333:role/lines"}
	if e := of(role); e.Outcome != transport.Hold || e.Reason != transport.ReasonAuth {
		t.Errorf("a role that is refused: %v %s: %v", e.Outcome, e.Reason, e)
	}
	status = http.StatusServiceUnavailable
	if e := of(role); e.Outcome != transport.Retry {
		t.Errorf("a service in trouble: %v %s: %v", e.Outcome, e.Reason, e)
	}
	service.Close()
	if e := of(role); e.Outcome != transport.Retry {
		t.Errorf("a service that is away: %v %s: %v", e.Outcome, e.Reason, e)
	}
	if e := of(Identity{Region: "eu-west-1", Profile: "nobodys"}); e.Outcome != transport.Hold {
		t.Errorf("a profile that is not there: %v %s: %v", e.Outcome, e.Reason, e)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if e := of(Identity{Region: "eu-west-1"}); e.Outcome != transport.Hold {
		t.Errorf("no credentials: %v %s: %v", e.Outcome, e.Reason, e)
	}
}
