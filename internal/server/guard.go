package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/callwright/callwright/internal/fault"
)

// faults turns errors into statuses. Letting gRPC do it would call GRPCStatus on a wrapped error and show its whole chain
// to the caller.
func faults(log *slog.Logger) around {
	return func(ctx context.Context, c *rpc) error {
		err := c.next(ctx)
		if err == nil {
			return nil
		}
		f := faultOf(ctx, err)
		if f == nil {
			return err
		}
		if f.Kind == fault.Internal {
			log.LogAttrs(ctx, slog.LevelError, "internal error", slog.String("method", c.method),
				slog.String("request_id", c.id), slog.Any("err", err))
		}
		return fault.Status(f).Err()
	}
}

// faultOf finds the fault in an error. An error without one is the end of the call's context if that has ended, because
// drivers report a canceled query in words of their own. It is nil for a method that is declared but not written.
func faultOf(ctx context.Context, err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	end := ctx.Err()
	switch {
	case errors.Is(end, context.Canceled):
		return fault.New(fault.Canceled, "canceled", "the caller went away").Wrap(err)
	case errors.Is(end, context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Timeout, "deadline_exceeded", "it took too long").Wrap(err)
	}
	return fault.From(err)
}

// recovers turns a panic into an error with the stack, which only the log sees.
func recovers(ctx context.Context, c *rpc) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return c.next(ctx)
}

// deadline bounds unary calls. A stream lasts as long as its reader likes; its transport bounds idle ones.
func deadline(d time.Duration) around {
	return func(ctx context.Context, c *rpc) error {
		if c.stream {
			return c.next(ctx)
		}
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		err := c.next(ctx)
		if err != nil && ctx.Err() != nil {
			// The context that faults looks at is the outer one and has not ended.
			if f := faultOf(ctx, err); f != nil {
				return f
			}
		}
		return err
	}
}

const versionKey = "service-version"

var errVersion = fault.New(fault.Invalid, "unsupported_version", "this version of the API is not supported").
	With("supported", []any{Version})

// version refuses callers that ask for another version of the API. spec: Versioning.
func version(ctx context.Context, c *rpc) error {
	if slices.ContainsFunc(metadata.ValueFromIncomingContext(ctx, versionKey), func(v string) bool { return v != Version }) {
		return errVersion
	}
	return c.next(ctx)
}
