// Package fault is the one error type of Callwright and its translation to and from gRPC status.
//
// Rules return an [Error] where they know what went wrong in the caller's terms; every other error is wrapped with %w
// and reaches callers as internal_error, its text only the log. An Error survives the gRPC hop whole, except for what it
// wraps.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what class of failure an error is. It fixes the HTTP status and the gRPC code (table in status.go).
type Kind int

// The kinds. Their order is not stored anywhere.
const (
	Internal         Kind = iota // 500: our fault
	Invalid                      // 400: the request can not be right
	Unauthenticated              // 401: no or bad credential
	Denied                       // 403: the credential may not do this
	NotFound                     // 404: not in the caller's workspace
	MethodNotAllowed             // 405
	Exists                       // 409: another record has this name or key
	Conflict                     // 409: the state of the record forbids it
	Gone                         // 410: it was there once
	TooLarge                     // 413
	Unprocessable                // 422: the same key with another body
	TooMany                      // 429: a limit; RetryAfter is set
	Canceled                     // 499: the caller went away
	Unavailable                  // 503: try again
	Timeout                      // 504: the deadline passed
)

// Error is a failure in the caller's terms.
type Error struct {
	Kind Kind
	// Code is stable and in snake_case; clients branch on it (CONTRACT.md §1).
	Code string
	// Message is a sentence for people; its text may change.
	Message string
	// Details are facts that go with the code. Values must be JSON values.
	Details map[string]any
	// RetryAfter is how long to wait; only with TooMany and Unavailable. Shown in whole seconds, rounded up.
	RetryAfter time.Duration
	// Err is the cause, for the log only.
	Err error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return e.Code + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// With returns a copy with one more detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = make(map[string]any, len(e.Details)+1)
	for k, v := range e.Details {
		c.Details[k] = v
	}
	c.Details[key] = value
	return &c
}

// Wrap returns a copy with a cause for the log.
func (e *Error) Wrap(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// New returns an error of a kind with a code and a message.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalidf is a validation_failed: the message starts with the field's name.
func Invalidf(format string, args ...any) *Error {
	return New(Invalid, "validation_failed", format, args...)
}

// Missing is a <what>_not_found: an unknown id and another workspace's id give the same error to the byte.
func Missing(what string) *Error {
	return New(NotFound, what+"_not_found", "no such %s", what)
}

// From finds the Error in a chain. An error without one is internal_error and keeps its cause for the log.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return New(Internal, "internal_error", "something went wrong on our side").Wrap(err)
}

// Is reports whether the chain holds an Error with the code.
func Is(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
