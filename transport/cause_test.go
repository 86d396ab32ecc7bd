package transport_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
)

func TestClassifyError(t *testing.T) {
	t.Parallel()
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	path := func(err error) error { return &fs.PathError{Op: "open", Path: "/x", Err: err} }
	tests := []struct {
		name    string
		err     error
		outcome transport.Outcome
		reason  string
	}{
		{"cancelled", context.Canceled, transport.Retry, "cancelled"},
		{"a deadline", context.DeadlineExceeded, transport.Retry, "timeout"},
		{"a dial that took too long", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, transport.Retry, "timeout"},
		{"refused", dial(syscall.ECONNREFUSED), transport.Retry, "connection"},
		{"reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, transport.Retry, "connection"},
		{"a broken pipe of a connection", &net.OpError{Op: "write", Err: syscall.EPIPE}, transport.Retry, "connection"},
		{"cut off", io.ErrUnexpectedEOF, transport.Retry, "connection"},
		{"no route", dial(syscall.EHOSTUNREACH), transport.Retry, "connection"},
		{"an unknown name", &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}, transport.Retry, "dns"},
		{"a name server that hangs", &net.DNSError{Err: "timeout", Name: "x", IsTimeout: true}, transport.Retry, "timeout"},
		{"the proxy is away", &net.OpError{Op: "proxyconnect", Err: dial(syscall.ECONNREFUSED)}, transport.Retry, "proxy"},
		{"a certificate", &tls.CertificateVerificationError{Err: x509.HostnameError{Host: "x", Certificate: &x509.Certificate{}}}, transport.Hold, "tls"},
		{"no TLS there", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, transport.Hold, "tls"},
		{"HTTP there", http.ErrSchemeMismatch, transport.Hold, "tls"},
		{"the other end refuses ours", &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}, transport.Hold, "tls"},
		{"the disk is full", path(syscall.ENOSPC), transport.Retry, "disk-full"},
		{"over the quota", path(syscall.EDQUOT), transport.Retry, "disk-full"},
		{"no right", path(syscall.EACCES), transport.Hold, "file"},
		{"read-only", path(syscall.EROFS), transport.Hold, "file"},
		{"a folder", path(syscall.EISDIR), transport.Hold, "file"},
		{"a file for a folder", path(syscall.ENOTDIR), transport.Hold, "file"},
		{"the disk failed", path(syscall.EIO), transport.Retry, "file"},
		{"nobody reads", path(syscall.EPIPE), transport.Hold, "broken-pipe"},
		{"nobody reads a pipe of ours", syscall.EPIPE, transport.Hold, "broken-pipe"},
		{"closed", fs.ErrClosed, transport.Hold, "broken-pipe"},
		{"anything", errors.New("something"), transport.Retry, "connection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, err := range []error{tt.err, fmt.Errorf("sending: %w", tt.err), &url.Error{Op: "Post", Err: tt.err}} {
				e := transport.ClassifyError(err)
				if e.Outcome != tt.outcome || e.Reason != tt.reason {
					t.Errorf("%v: %v %q, want %v %q", err, e.Outcome, e.Reason, tt.outcome, tt.reason)
				}
				if !errors.Is(e, tt.err) && !errors.As(e, new(*tls.CertificateVerificationError)) {
					t.Errorf("%v: the cause is lost", err)
				}
			}
		})
	}
}

func TestClassifyErrorKeepsWhatIsClassed(t *testing.T) {
	t.Parallel()
	known := &transport.Error{Outcome: transport.Permanent, Reason: "refused", Status: 422}
	if got := transport.ClassifyError(fmt.Errorf("a group: %w", known)); got != known {
		t.Errorf("got %v, want the error inside", got)
	}
}

func TestConfigErrorText(t *testing.T) {
	t.Parallel()
	e := &transport.ConfigError{Path: "transport.url", Problem: "is missing", Hint: "set it"}
	if got, want := e.Error(), "transport.url: is missing; set it"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	e.Hint = ""
	if got, want := e.Error(), "transport.url: is missing"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
