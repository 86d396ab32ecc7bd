package differential_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// signature is an Authorization header of AWS's, taken apart.
type signature struct {
	key, date, region, service string
	headers                    []string // those that are signed
	value                      string
}

const signs = "AWS4-HMAC-SHA256 "

func parseSignature(authorization string) (signature, bool) {
	rest, ok := strings.CutPrefix(authorization, signs)
	if !ok {
		return signature{}, false
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(rest, ", ") {
		name, value, _ := strings.Cut(part, "=")
		parts[name] = value
	}
	scope := strings.Split(parts["Credential"], "/")
	if len(scope) != 5 || scope[4] != "aws4_request" {
		return signature{}, false
	}
	return signature{
		key: scope[0], date: scope[1], region: scope[2], service: scope[3],
		headers: strings.Split(parts["SignedHeaders"], ";"), value: parts["Signature"],
	}, true
}

// unsigned leaves of a signature what has to be equal on both sides: whose it is, for which region and service, and
// over which headers of the event's.
func unsigned(header string) string {
	s, ok := parseSignature(header)
	if !ok {
		return header
	}
	return signs + strings.Join([]string{s.key, s.region, s.service, strings.Join(s.signedOfEvent(), ";")}, " ")
}

// signedOfEvent are the signed headers less those that only count boto3's calls.
func (s signature) signedOfEvent() []string {
	return slices.DeleteFunc(slices.Clone(s.headers), func(name string) bool { return strings.HasPrefix(name, "amz-sdk-") })
}

// proven fails the test unless the signature of a request is the one that AWS's other library makes of what the sink
// saw: the body, the address, and the headers that are named as signed.
func proven(t *testing.T, r transporttest.Request, secret string) {
	t.Helper()
	said, ok := parseSignature(r.Header.Get("Authorization"))
	if !ok {
		t.Fatalf("no signature: %q", r.Header.Get("Authorization"))
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := http.NewRequestWithContext(t.Context(), r.Method, "http://"+r.Host+r.URL.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range said.headers {
		if name != "host" && name != "x-amz-date" && name != "x-amz-security-token" {
			again.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	digest := sha256.Sum256(r.Raw)
	credentials := aws.Credentials{AccessKeyID: said.key, SecretAccessKey: secret, SessionToken: r.Header.Get("X-Amz-Security-Token")}
	if err := v4.NewSigner().SignHTTP(t.Context(), credentials, again, hex.EncodeToString(digest[:]), said.service, said.region, at); err != nil {
		t.Fatal(err)
	}
	want, _ := parseSignature(again.Header.Get("Authorization"))
	if want.value != said.value || !slices.Equal(want.headers, said.headers) {
		t.Errorf("signed %s over %v, want %s over %v", said.value, said.headers, want.value, want.headers)
	}
}
