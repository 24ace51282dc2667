package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
)

// Class says where a request without an answer got stuck. The texts are stable: they are stored with attempts.
type Class string

// The classes.
const (
	DNS              Class = "dns"
	RefusedAddress   Class = "refused_address"
	Connect          Class = "connect"
	TLS              Class = "tls"
	Timeout          Class = "timeout"
	Closed           Class = "closed"
	Protocol         Class = "protocol"
	TooManyRedirects Class = "too_many_redirects"
	InvalidRequest   Class = "invalid_request"
	Canceled         Class = "canceled"
)

var sentences = map[Class]string{
	DNS:              "The host name does not resolve.",
	RefusedAddress:   "The address is not a public one, or its port is not allowed.",
	Connect:          "The connection could not be made.",
	TLS:              "The TLS handshake failed; check the server's certificate.",
	Timeout:          "No answer in time.",
	Closed:           "The connection was closed before an answer.",
	Protocol:         "The answer is not valid HTTP, or its headers are too large.",
	TooManyRedirects: "Too many redirects.",
	InvalidRequest:   "The address or a header is not valid.",
	Canceled:         "The request was canceled on our side.",
}

// Sentence says it to the user who chose the address, without telling anything about our network.
func (c Class) Sentence() string { return sentences[c] }

// Error is a request that got no answer. Err is for the log: it can name internal addresses, and is not for users.
type Error struct {
	Class Class
	Err   error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return string(e.Class)
	}
	return fmt.Sprintf("%s: %v", e.Class, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// ClassOf finds the class of an error that came from this package; Protocol for any other.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Protocol
}

// failure classifies what the transport returned. caller is the caller's own context: when that was canceled, the
// receiver is not to blame.
func failure(caller context.Context, err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	return &Error{Class: classify(caller, err), Err: err}
}

func classify(caller context.Context, err error) Class {
	var dns *net.DNSError
	var timeout net.Error
	var op *net.OpError
	switch {
	case errors.Is(caller.Err(), context.Canceled):
		return Canceled
	case errors.As(err, &dns):
		return DNS
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return Timeout
	case isTLS(err):
		return TLS
	case errors.As(err, &op) && op.Op == "dial":
		return Connect
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		return Closed
	}
	return Protocol
}

// isTLS knows the types crypto/tls has, and for the errors that it makes without a type, its prefix.
func isTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &certificate) || errors.As(err, &record) || strings.Contains(err.Error(), "tls: ")
}
