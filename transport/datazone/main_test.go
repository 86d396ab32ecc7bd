package datazone_test

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"go.uber.org/goleak"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datazone"
	"github.com/prefect-openlineage/listener/transport/settings"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type m = map[string]any

const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

// keys are credentials that nobody has to be asked for. They count how often they were fetched anew.
type keys struct {
	token       string
	err         error
	invalidated atomic.Int64
}

func (k *keys) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: secret, SessionToken: k.token}, k.err
}

func (k *keys) Invalidate() { k.invalidated.Add(1) }

// read parses settings beside variables, and returns what is warned of and what is wrong.
func read(values m, env map[string]string) (datazone.Config, []string, error) {
	s := settings.New("transport", values)
	c := datazone.Parse(s, func(name string) string { return env[name] })
	return c, s.Warnings(), s.Err()
}

// parse returns the configuration of settings, which must be without a problem.
func parse(tb testing.TB, values m, env map[string]string) datazone.Config {
	tb.Helper()
	c, _, err := read(values, env)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// build returns a transport of a configuration, which is closed with the test.
func build(tb testing.TB, c datazone.Config, k aws.CredentialsProvider, now func() time.Time) *datazone.Transport {
	tb.Helper()
	tr, err := datazone.New(c, datazone.Options{
		UserAgent: "listener/test", Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }, Credentials: k, Now: now,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tr.Close(tb.Context()) })
	return tr
}

// to returns settings for a sink, with some changed.
func to(sink *transporttest.Sink, changes ...m) m {
	values := m{"domainId": "dzd_4example", "region": "eu-central-1", "endpointOverride": sink.URL()}
	for _, c := range changes {
		maps.Copy(values, c)
	}
	return values
}

func TestContract(t *testing.T) {
	transporttest.RunHTTPWith(t, transporttest.HTTPTraits{NoPassword: true}, func(tb testing.TB, target transporttest.Target) transport.Transport {
		values := m{
			"domainId": "dzd_4example", "region": "eu-central-1", "endpointOverride": target.URL, "timeout": target.Timeout.Seconds(),
		}
		at := time.Now() // stands still, so that copies have the same signature
		return build(tb, parse(tb, values, nil), &keys{token: target.APIKey}, func() time.Time { return at })
	})
}
