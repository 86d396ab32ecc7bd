package datazone

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/transport"
)

// service is DataZone's name in signatures.
const service = "datazone"

// tokenHeader carries the client token.
const tokenHeader = "Client-Token"

// signer puts AWS's signature on requests.
type signer struct {
	keeper *keeper
	region string
	now    func() time.Time
	signer *v4.Signer
}

func newSigner(k *keeper, region string, now func() time.Time) *signer {
	return &signer{keeper: k, region: region, now: now, signer: v4.NewSigner()}
}

// sign signs a request and returns what of it may not be shown. Signed are the headers that are AWS's; others, such as
// those that a proxy may change, are not.
func (s *signer) sign(ctx context.Context, req *http.Request, body []byte) (secrets []string, err error) {
	credentials, err := s.keeper.get(ctx)
	if err != nil {
		return nil, err
	}
	bare := &http.Request{Method: req.Method, URL: req.URL, Host: req.Host, Header: http.Header{}}
	if token := req.Header.Get(tokenHeader); token != "" {
		bare.Header.Set(tokenHeader, token)
	}
	digest := sha256.Sum256(body)
	if err := s.signer.SignHTTP(ctx, credentials, bare, hex.EncodeToString(digest[:]), service, s.region, s.now()); err != nil {
		return nil, &transport.Error{
			Outcome: transport.Hold, Reason: transport.ReasonAuth, Err: fmt.Errorf("signing the request: %w", err),
		}
	}
	maps.Copy(req.Header, bare.Header)
	return secretsOf(credentials), nil
}

// secretsOf are the parts of credentials that an answer could repeat.
func secretsOf(c aws.Credentials) []string { return []string{c.SecretAccessKey, c.SessionToken} }

// mark sets the headers that an event's request has for itself. boto3 says nothing of the body's type, which is bytes to
// DataZone.
func mark(event transport.Event, header http.Header) {
	header.Del("Content-Type")
	header.Set(tokenHeader, clientToken(event))
}

// tokenSpace is the namespace of client tokens.
var tokenSpace = uuid.MustParse("0c7b1a52-8f0a-5a35-9c1e-6b8f24d3a9b7")

// clientToken names a request: the same for the same copy of the same event.
func clientToken(e transport.Event) string {
	return uuid.NewSHA1(uuid.NewSHA1(tokenSpace, []byte(e.Key)), e.Body).String()
}
