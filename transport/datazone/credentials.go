package datazone

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/prefect-openlineage/listener/transport"
)

// load reads what AWS's own variables and shared files say. It asks nobody: credentials are fetched when an event is to
// be signed.
func load(ctx context.Context, c Config) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{config.WithRetryMaxAttempts(2)}
	if c.Region != "" {
		options = append(options, config.WithRegion(c.Region))
	}
	if c.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(c.Profile))
	}
	found, err := config.LoadDefaultConfig(ctx, options...)
	if _, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		return aws.Config{}, fmt.Errorf("%w: %q", ErrProfile, c.Profile)
	}
	if err != nil {
		return aws.Config{}, fmt.Errorf("reading AWS's configuration: %w", err)
	}
	if c.Role != "" {
		found.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(found), c.Role,
			func(o *stscreds.AssumeRoleOptions) { o.RoleSessionName = "prefect-openlineage-listener" }))
	}
	return found, nil
}

// keeper hands out credentials and takes note of it when they are refused as having ended.
type keeper struct {
	provider aws.CredentialsProvider
	expired  atomic.Int64 // how often they were refused so
}

// get returns the credentials. Its error is a *transport.Error.
func (k *keeper) get(ctx context.Context) (aws.Credentials, error) {
	found, err := k.provider.Retrieve(ctx)
	if err == nil && !found.HasKeys() {
		err = errors.New("there are none")
	}
	if err != nil {
		return aws.Credentials{}, missing(ctx, err)
	}
	return found, nil
}

// refused says that credentials were answered with that they have ended: the next ones are fetched anew.
func (k *keeper) refused() {
	if cache, ok := k.provider.(interface{ Invalidate() }); ok {
		cache.Invalidate()
	}
	k.expired.Add(1)
}

// missing classes the lack of credentials. The way to AWS's token service may be in trouble, or the service itself, which
// passes; all else stays until somebody does something. An instance's metadata that can't be reached is the chain's last
// resort, and mostly means that there are no credentials at all.
func missing(ctx context.Context, err error) *transport.Error {
	e := &transport.Error{Outcome: transport.Hold, Reason: transport.ReasonAuth}
	call, isCall := errors.AsType[*smithy.OperationError](err)
	answer, answered := errors.AsType[*smithyhttp.ResponseError](err)
	answered = answered && answer.HTTPStatusCode() > 0 // it stands for a lost connection too
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case ctx.Err() != nil:
		e = &transport.Error{Outcome: transport.Retry, Reason: transport.ReasonCancelled}
	case isCall && call.ServiceID == "ec2imds":
	case answered && (answer.HTTPStatusCode() >= http.StatusInternalServerError || answer.HTTPStatusCode() == http.StatusTooManyRequests):
		e = &transport.Error{Outcome: transport.Retry, Reason: transport.StatusReason(answer.HTTPStatusCode())}
	case !answered && isNetwork:
		e = transport.ClassifyError(network)
	}
	words := ""
	if e.Outcome == transport.Hold && e.Reason == transport.ReasonAuth {
		words = " (set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or give the container or machine a role)"
	}
	return &transport.Error{
		Outcome: e.Outcome, Reason: e.Reason, Err: fmt.Errorf("getting AWS's credentials%s: %s", words, oneLine(err.Error())),
	}
}
