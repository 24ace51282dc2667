package server

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const requestIDKey = "x-request-id"

// requestID takes the caller's request id when it is sane, else makes one, and answers with it.
func requestID(ctx context.Context, c *rpc) error {
	if sent := metadata.ValueFromIncomingContext(ctx, requestIDKey); len(sent) == 1 && saneID(sent[0]) {
		c.id = sent[0]
	} else {
		c.id = rand.Text()
	}
	// Both headers at once: each call of SetHeader copies the ones before. A transport that can not set headers is no
	// reason to refuse the call.
	_ = grpc.SetHeader(ctx, metadata.MD{requestIDKey: {c.id}, versionKey: {Version}})
	return c.next(ctx)
}

// saneID says whether a caller's id may stand in logs and headers: up to 128 of [A-Za-z0-9._-].
func saneID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		b := id[i]
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '.' || b == '_' || b == '-' {
			continue
		}
		return false
	}
	return true
}

// logs writes one line for each call: what was called, how it ended, by whom. Nothing of what was said.
func logs(log *slog.Logger) around {
	return func(ctx context.Context, c *rpc) error {
		start := time.Now()
		err := c.next(ctx)
		code := status.Code(err)
		level := slog.LevelInfo
		switch {
		case code == codes.Internal || code == codes.Unknown || code == codes.DataLoss:
			level = slog.LevelError
		case exempt(c.method):
			level = slog.LevelDebug
		}
		if !log.Enabled(ctx, level) {
			return err
		}
		attrs := make([]slog.Attr, 0, 7)
		attrs = append(attrs, slog.String("method", c.method), slog.String("code", code.String()),
			slog.Duration("took", time.Since(start)), slog.String("request_id", c.id))
		for _, a := range [...]slog.Attr{slog.String("workspace_id", c.caller.WorkspaceID),
			slog.String("key_id", c.caller.KeyID), slog.String("user_id", c.caller.UserID)} {
			if a.Value.String() != "" {
				attrs = append(attrs, a)
			}
		}
		log.LogAttrs(ctx, level, "rpc", attrs...)
		return err
	}
}

// measures counts and times calls by method and code.
func measures(reg prometheus.Registerer) around {
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "callwright_rpc_total", Help: "Calls that ended, by method and gRPC code."}, []string{"method", "code"})
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "callwright_rpc_seconds", Help: "Time from a call's arrival to its end.",
		Buckets: []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}}, []string{"method"})
	reg.MustRegister(calls, seconds)
	return func(ctx context.Context, c *rpc) error {
		start := time.Now()
		err := c.next(ctx)
		method := strings.TrimPrefix(c.method, "/")
		calls.WithLabelValues(method, status.Code(err).String()).Inc()
		if !c.stream { // a stream lasts as long as its reader likes
			seconds.WithLabelValues(method).Observe(time.Since(start).Seconds())
		}
		return err
	}
}
