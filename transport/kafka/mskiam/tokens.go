// Package mskiam makes the tokens by which the brokers of Amazon MSK know an AWS identity: a request that is signed and
// never sent.
package mskiam

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/twmb/franz-go/pkg/sasl/oauth"

	"github.com/prefect-openlineage/listener/transport"
)

const (
	service = "kafka-cluster"
	action  = "kafka-cluster:Connect"
	// life is how long a token may be shown to a broker; the connection lives on.
	life = 15 * time.Minute
	// session names the use of a role in AWS's own records, as AWS's signer does.
	session = "MSKSASLDefaultSession"
	// patience bounds the search for credentials: a machine that is none of AWS's answers at no address of theirs.
	patience = 20 * time.Second
)

// Identity says as whom brokers are asked.
type Identity struct {
	Region string
	// Profile is one of the shared configuration's, Role the ARN of a role that is taken on. Both empty: AWS's default
	// chain (variables, shared files, web identity, container, instance).
	Profile, Role string
}

// Region returns the region that AWS's own variables and files name; "" where they name none. It asks nobody. Its error
// says that the profile is in none of the shared files; what else is wrong with them shows when a token is made.
func Region(ctx context.Context, profile string) (string, error) {
	c, err := config.LoadDefaultConfig(ctx, profileOf(profile)...)
	if missing, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		return "", missing
	}
	if err != nil {
		return "", nil
	}
	return c.Region, nil
}

func profileOf(profile string) []func(*config.LoadOptions) error {
	if profile == "" {
		return nil
	}
	return []func(*config.LoadOptions) error{config.WithSharedConfigProfile(profile)}
}

// Tokens makes tokens for one identity. It is safe for concurrent use.
type Tokens struct {
	identity  Identity
	userAgent string
	now       func() time.Time

	mu          sync.Mutex
	credentials aws.CredentialsProvider // nil: not looked for yet
}

// New returns the tokens of an identity. It reads and asks nothing yet.
func New(identity Identity, userAgent string, now func() time.Time) *Tokens {
	return &Tokens{identity: identity, userAgent: userAgent, now: now}
}

// Auth returns a token. Its error is a *transport.Error.
func (t *Tokens) Auth(ctx context.Context) (oauth.Auth, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	provider, err := t.provider(ctx)
	if err != nil {
		return oauth.Auth{}, fault(err)
	}
	credentials, err := provider.Retrieve(ctx)
	if err != nil {
		return oauth.Auth{}, fault(err)
	}
	token, err := sign(ctx, credentials, t.identity.Region, t.userAgent, t.now())
	if err != nil {
		return oauth.Auth{}, fault(err)
	}
	return oauth.Auth{Token: token}, nil
}

// provider returns where credentials come from. What it gives is kept until shortly before it ends.
func (t *Tokens) provider(ctx context.Context) (aws.CredentialsProvider, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.credentials != nil {
		return t.credentials, nil
	}
	options := append(profileOf(t.identity.Profile), config.WithRegion(t.identity.Region))
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, err
	}
	t.credentials = c.Credentials
	if t.identity.Role != "" {
		role := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(c), t.identity.Role,
			func(o *stscreds.AssumeRoleOptions) { o.RoleSessionName = session })
		t.credentials = aws.NewCredentialsCache(role)
	}
	return t.credentials, nil
}

// sign returns a signed request, as text that a broker can check and send on to AWS.
func sign(ctx context.Context, by aws.Credentials, region, userAgent string, now time.Time) (string, error) {
	query := url.Values{"Action": {action}, "X-Amz-Expires": {strconv.Itoa(int(life.Seconds()))}}
	address := url.URL{Scheme: "https", Host: "kafka." + region + ".amazonaws.com", Path: "/", RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return "", errors.New("the region makes no address")
	}
	empty := sha256.Sum256(nil)
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, by, request, hex.EncodeToString(empty[:]), service, region, now.UTC())
	if err != nil {
		return "", err
	}
	// Who asks stands outside the signature.
	signed += "&User-Agent=" + url.QueryEscape(userAgent)
	return base64.RawURLEncoding.EncodeToString([]byte(signed)), nil
}

// fault says what it means that there is no token. AWS being away or in trouble passes; credentials that are missing or
// refused do not, and an instance's own service that is away only means that this is no instance with a role.
func fault(err error) error {
	outcome := transport.Hold
	answer, answered := errors.AsType[*smithyhttp.ResponseError](err)
	answered = answered && answer.HTTPStatusCode() > 0 // it stands for a lost connection too
	asked, isCall := errors.AsType[*smithy.OperationError](err)
	_, isNetwork := errors.AsType[net.Error](err)
	switch {
	case isCall && asked.Service() == "ec2imds":
	case answered && (answer.HTTPStatusCode() >= http.StatusInternalServerError || answer.HTTPStatusCode() == http.StatusTooManyRequests),
		!answered && isCall && isNetwork:
		outcome = transport.Retry
	}
	return &transport.Error{
		Outcome: outcome, Reason: transport.ReasonAuth,
		Err: fmt.Errorf("making a token of the AWS credentials: %w", err),
	}
}
