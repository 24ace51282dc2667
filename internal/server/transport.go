package server

import (
	"log/slog"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Limits of both listeners. What they guard against is a peer that holds a connection without using it.
const (
	headerTimeout  = 5 * time.Second
	headerBytes    = 16 << 10
	idleTimeout    = time.Minute
	requestTimeout = 2 * time.Minute // a body of 8 MiB at 70 KB/s
	answerTimeout  = 3 * time.Minute // counts from the end of the header; a recording extends it while it flows

	receiveBytes = 16 << 20 // 10,000 contacts in one enrollment
	streams      = 256
	connAge      = 10 * time.Minute
	connGrace    = time.Minute
	pingFloor    = 10 * time.Second
)

func newHTTP(log *slog.Logger, h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

func newGRPC(list []around) *grpc.Server {
	return grpc.NewServer(
		grpc.UnaryInterceptor(unary(list)),
		grpc.StreamInterceptor(stream(list)),
		grpc.MaxRecvMsgSize(receiveBytes),
		grpc.MaxConcurrentStreams(streams),
		grpc.MaxHeaderListSize(headerBytes),
		grpc.ConnectionTimeout(headerTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: connAge, MaxConnectionAgeGrace: connGrace}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingFloor, PermitWithoutStream: true}),
	)
}
