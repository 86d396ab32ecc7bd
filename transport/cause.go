package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"syscall"
)

// ClassifyError says what an error means that came instead of an answer, from the network or from a file. It returns
// the *Error inside err where there is one. The text of the result is err's own: the caller sees to it that no secret
// is in it.
func ClassifyError(err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	outcome, reason := cause(err)
	return &Error{Outcome: outcome, Reason: reason, Err: err}
}

func cause(err error) (Outcome, string) {
	if errors.Is(err, context.Canceled) {
		return Retry, ReasonCancelled
	}
	if isTLS(err) {
		return Hold, ReasonTLS
	}
	if outcome, reason, ok := fileCause(err); ok {
		return outcome, reason
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && !dns.IsTimeout {
		// A name that is not known now is known again when the service behind it is back, so this is no hold.
		return Retry, ReasonDNS
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return Retry, ReasonTimeout
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		return Retry, ReasonProxy
	}
	return Retry, ReasonConnection
}

// isTLS reports whether two ends could not agree on TLS: it stays so until somebody changes a certificate or a setting.
func isTLS(err error) bool {
	if errors.Is(err, http.ErrSchemeMismatch) {
		return true // plain HTTP where https is set
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	// An alert has no exported type; the operation's name is how crypto/tls marks one.
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "remote error" || op.Op == "local error")
}

// fileCause classes what a file system says.
func fileCause(err error) (Outcome, string, bool) {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return Retry, ReasonFull, true
	case errors.Is(err, syscall.EPIPE) && !isNet(err):
		return Hold, ReasonBrokenPipe, true
	}
	if _, ok := errors.AsType[*fs.PathError](err); !ok {
		if errors.Is(err, fs.ErrClosed) {
			return Hold, ReasonBrokenPipe, true
		}
		return 0, "", false
	}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EROFS),
		errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENAMETOOLONG),
		errors.Is(err, syscall.ELOOP), errors.Is(err, fs.ErrClosed):
		return Hold, ReasonFile, true
	default:
		return Retry, ReasonFile, true
	}
}

// isNet reports whether err comes from a connection, where a broken pipe is one more way of being cut off.
func isNet(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}
