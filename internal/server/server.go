// Package server carries the services of callwright.v1 to their callers: a gRPC listener, an HTTP listener for whatever
// is mounted on it, and a connection inside the process that the mounted handlers (REST, tool server, portal) call the
// same services through. All three ways pass one list of interceptors (interceptor.go).
//
// It knows no rule of the product. The services, the check of credentials, the mounts and the readiness of the database
// are values given by the composition root.
//
// Stopping, once the context of Run ends: readiness turns off and gRPC health says NOT_SERVING; DrainDelay passes, so that
// balancers notice; both listeners finish what they have begun, for at most StopTimeout; what is left is cut. Close skips
// to the cut.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

// Version is the API version that answers carry and the only one that callers may ask for.
// spec: Versioning.
const Version = "2025-03-02"

// Config says what the server serves and where.
type Config struct {
	// Register adds the services. It is called once.
	Register func(grpc.ServiceRegistrar)
	// Authenticate checks a bearer token. The context that it returns is the one that handlers get. A refused token is a
	// fault unauthorized. Without it every method that is not public is refused.
	Authenticate func(ctx context.Context, token string) (context.Context, Caller, error)
	// Ready says whether requests can be served: the database answers and is migrated. It is asked at most once a second.
	// Defaults to always.
	Ready func(ctx context.Context) error

	// HTTPAddr is where HTTP listens. Defaults to 127.0.0.1:8080.
	HTTPAddr string
	// GRPCAddr is where gRPC listens. Defaults to 127.0.0.1:9090.
	GRPCAddr string
	// MetricsAddr is where Prometheus may fetch /metrics: a loopback address. Defaults to nowhere.
	MetricsAddr string
	// Metrics is where the server's own metrics are registered and what /metrics shows. Defaults to a new registry.
	Metrics *prometheus.Registry
	// Reflection lets gRPC clients ask for the schema without a credential.
	Reflection bool

	// TrustedProxies are the networks of proxies in front of the listeners: behind them the client's address is taken from
	// X-Forwarded-For or Forwarded. Defaults to none.
	TrustedProxies []netip.Prefix

	// Deadline bounds each unary call on this side. Defaults to 10 s.
	Deadline time.Duration
	// Connections bounds the open connections of each listener. Defaults to 1,000.
	Connections int
	// DrainDelay passes between "not ready" and the end of the listeners. Defaults to none.
	DrainDelay time.Duration
	// StopTimeout bounds the graceful end of the listeners. Defaults to 30 s.
	StopTimeout time.Duration
	// Log gets one line for each call. Defaults to slog.Default().
	Log *slog.Logger
}

// Server serves gRPC and HTTP.
type Server struct {
	// HTTPAddr, GRPCAddr and MetricsAddr are the real addresses after Listen; MetricsAddr may be nil.
	HTTPAddr, GRPCAddr, MetricsAddr net.Addr

	c        Config
	grpc     *grpc.Server
	http     *http.Server
	metrics  *http.Server
	conn     grpc.ClientConnInterface
	health   *health.Server
	mounts   mounts
	ready    readiness
	draining atomic.Bool

	httpLis, grpcLis, metricsLis net.Listener

	cut     chan struct{}
	cutOnce sync.Once
}

// New builds a server that does not listen yet; its in-process connection already works.
func New(c Config) *Server {
	c = withDefaults(c)
	s := &Server{c: c, health: health.NewServer(), cut: make(chan struct{})}
	s.ready.ask = c.Ready
	list := s.interceptors()
	s.grpc = newGRPC(list)
	s.conn = newConn(list, s.grpc, c.Register)
	grpc_health_v1.RegisterHealthServer(s.grpc, s.health)
	if c.Reflection {
		reflection.Register(s.grpc)
	}
	s.http = newHTTP(c.Log, http.HandlerFunc(s.serveHTTP))
	s.Mount("/healthz", http.HandlerFunc(s.healthz))
	s.Mount("/readyz", http.HandlerFunc(s.readyz))
	metrics := http.NewServeMux()
	metrics.Handle("GET /metrics", promhttp.HandlerFor(c.Metrics, promhttp.HandlerOpts{}))
	s.metrics = newHTTP(c.Log, metrics)
	return s
}

func withDefaults(c Config) Config {
	if c.Ready == nil {
		c.Ready = func(context.Context) error { return nil }
	}
	if c.HTTPAddr == "" {
		c.HTTPAddr = "127.0.0.1:8080"
	}
	if c.GRPCAddr == "" {
		c.GRPCAddr = "127.0.0.1:9090"
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	if c.Deadline == 0 {
		c.Deadline = 10 * time.Second
	}
	if c.Connections == 0 {
		c.Connections = 1000
	}
	if c.StopTimeout == 0 {
		c.StopTimeout = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Conn is the connection inside the process: calls through it pass the interceptors like any other.
func (s *Server) Conn() grpc.ClientConnInterface { return s.conn }

// Listen opens the listeners and fills in the addresses. Nothing is answered before Run.
func (s *Server) Listen() error {
	var err error
	if s.httpLis, err = net.Listen("tcp", s.c.HTTPAddr); err != nil {
		return fmt.Errorf("listen for HTTP: %w", err)
	}
	if s.grpcLis, err = net.Listen("tcp", s.c.GRPCAddr); err != nil {
		s.httpLis.Close()
		return fmt.Errorf("listen for gRPC: %w", err)
	}
	s.HTTPAddr, s.GRPCAddr = s.httpLis.Addr(), s.grpcLis.Addr()
	if s.c.MetricsAddr == "" {
		return nil
	}
	if s.metricsLis, err = listenLoopback(s.c.MetricsAddr); err != nil {
		s.httpLis.Close()
		s.grpcLis.Close()
		return fmt.Errorf("listen for metrics: %w", err)
	}
	s.MetricsAddr = s.metricsLis.Addr()
	return nil
}

// listenLoopback refuses to show metrics to the world.
func listenLoopback(addr string) (net.Listener, error) {
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	if tcp, ok := lis.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		lis.Close()
		return nil, fmt.Errorf("%s is not a loopback address", addr)
	}
	return lis, nil
}

// Run serves until ctx ends or a listener fails, then stops in the order of the package comment. It calls Listen unless
// that was done. It returns nil after a stop by ctx or Close.
func (s *Server) Run(ctx context.Context) error {
	if s.httpLis == nil {
		if err := s.Listen(); err != nil {
			return err
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return served("gRPC", s.grpc.Serve(capped(s.grpcLis, s.c.Connections))) })
	g.Go(func() error { return served("HTTP", s.http.Serve(plain(capped(s.httpLis, s.c.Connections)))) })
	if s.metricsLis != nil {
		g.Go(func() error { return served("metrics", s.metrics.Serve(s.metricsLis)) })
	}
	g.Go(func() error {
		select {
		case <-gctx.Done():
		case <-s.cut:
		}
		s.stop()
		return nil
	})
	return g.Wait()
}

// served reads what a Serve returned: the end that stop brings about is none.
func served(what string, err error) error {
	if err == nil || errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", what, err)
}

// stop ends the listeners gracefully; see the package comment.
func (s *Server) stop() {
	s.draining.Store(true)
	s.health.Shutdown()
	s.pause(s.c.DrainDelay)

	ctx, cancel := context.WithTimeout(context.Background(), s.c.StopTimeout)
	defer cancel()
	go func() {
		select {
		case <-s.cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	var both sync.WaitGroup
	both.Go(func() {
		if s.http.Shutdown(ctx) != nil {
			s.http.Close()
		}
	})
	both.Go(func() {
		done := make(chan struct{})
		go func() { s.grpc.GracefulStop(); close(done) }()
		select {
		case <-done:
		case <-ctx.Done():
			s.grpc.Stop()
			<-done
		}
	})
	both.Wait()
	s.metrics.Close()
}

// pause waits for d unless Close is called.
func (s *Server) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.cut:
	}
}

// Close cuts every connection at once and makes Run return: the second signal. It may be called at any time, repeatedly.
func (s *Server) Close() { s.cutOnce.Do(func() { close(s.cut) }) }
