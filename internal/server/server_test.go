package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/server"
)

func TestRESTReachesTheServices(t *testing.T) {
	h := open(t)
	resp, body := h.get("/v1/call/c1", "Authorization", "Bearer full")
	require.Equal(t, 200, resp.StatusCode, body)
	require.Contains(t, body, `"workspace_id":"full"`)
	for id, want := range map[string]int{"missing": 404, "limited": 429, "broken": 500, "panic": 500, "slow": 504} {
		resp, body = h.get("/v1/call/"+id, "Authorization", "Bearer full")
		require.Equal(t, want, resp.StatusCode, body)
		require.Contains(t, body, fmt.Sprintf(`{"status":%d,"error_code":"`, want))
		require.NotContains(t, body, "secret")
	}
	resp, body = h.get("/v1/call/c1")
	require.Equal(t, 401, resp.StatusCode, body)
	require.Equal(t, "Bearer", resp.Header.Get("WWW-Authenticate"))
}

func TestMountsTheLongestPatternWins(t *testing.T) {
	say := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	h := openWith(t, func(s *server.Server) {
		s.Mount("/docs", say("docs"))
		s.Mount("/docs/", say("below"))
		s.Mount("/docs/deep/", say("deep"))
	})
	for path, want := range map[string]string{"/docs": "docs", "/docs/": "below", "/docs/x": "below", "/docs/deep/x": "deep", "/docs/deepx": "below"} {
		_, body := h.get(path)
		require.Equal(t, want, body, path)
	}
	resp, _ := h.get("/docsx")
	require.Equal(t, 404, resp.StatusCode, "that is REST's to say")
}

func TestReadinessIsTheDatabases(t *testing.T) {
	var asked atomic.Int64
	var away atomic.Bool
	h := open(t, func(c *server.Config) {
		c.Ready = func(context.Context) error {
			asked.Add(1)
			if away.Load() {
				return errors.New("secret address refused")
			}
			return nil
		}
	})
	resp, body := h.get("/healthz")
	require.Equal(t, 200, resp.StatusCode, body)
	for range 20 {
		resp, body = h.get("/readyz")
		require.Equal(t, 200, resp.StatusCode, body)
	}
	require.Less(t, asked.Load(), int64(20), "probes are not load")

	away.Store(true)
	require.Eventually(t, func() bool { // the answer before may stand for a second
		resp, body = h.get("/readyz")
		return resp.StatusCode == 503
	}, 10*time.Second, 50*time.Millisecond)
	require.Contains(t, body, `"error_code":"unavailable"`)
	require.NotContains(t, body, "secret")
	resp, _ = h.get("/healthz")
	require.Equal(t, 200, resp.StatusCode, "the process runs")
}

// A stop: readiness turns off while requests are still answered, what has begun is finished, then nothing listens.
func TestStoppingFinishesWhatHasBegun(t *testing.T) {
	svc := &calls{held: make(chan struct{}), release: make(chan struct{})}
	h := open(t, func(c *server.Config) {
		c.Register = func(r grpc.ServiceRegistrar) { v1.RegisterCallServiceServer(r, svc) }
		c.Deadline, c.DrainDelay = time.Minute, time.Hour
	})
	answered := make(chan int, 2)
	ctx := metadata.NewOutgoingContext(context.Background(), metadata.Pairs("authorization", "Bearer full"))
	go func() {
		resp, err := http.DefaultTransport.RoundTrip(request(t, h.url+"/v1/call/hold"))
		if err != nil {
			answered <- 0
			return
		}
		resp.Body.Close()
		answered <- resp.StatusCode
	}()
	go func() {
		if _, err := v1.NewCallServiceClient(h.tcp).GetCall(ctx, &v1.GetCallRequest{Id: "hold"}); err != nil {
			answered <- 0
			return
		}
		answered <- 200
	}()
	<-svc.held
	<-svc.held
	h.stop()
	require.Eventually(t, func() bool { resp, _ := h.get("/readyz"); return resp.StatusCode == 503 }, 5*time.Second, time.Millisecond)
	check, err := grpc_health_v1.NewHealthClient(h.tcp).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err, "it still answers")
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, check.GetStatus())
	resp, _ := h.get("/v1/call/c1", "Authorization", "Bearer full")
	require.Equal(t, 200, resp.StatusCode, "as does REST, until balancers have noticed")
	close(svc.release)
	require.Equal(t, 200, <-answered)
	require.Equal(t, 200, <-answered)
	h.Close() // the delay is an hour
	require.NoError(t, h.ended())
	_, err = net.Dial("tcp", h.HTTPAddr.String())
	require.Error(t, err)
}

func TestAGracefulStopWaitsAndASecondSignalDoesNot(t *testing.T) {
	svc := &calls{held: make(chan struct{}), release: make(chan struct{})}
	h := open(t, func(c *server.Config) {
		c.Register = func(r grpc.ServiceRegistrar) { v1.RegisterCallServiceServer(r, svc) }
		c.Deadline = time.Minute
	})
	failed := make(chan error, 1)
	go func() {
		resp, err := http.DefaultTransport.RoundTrip(request(t, h.url+"/v1/call/hold"))
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	<-svc.held
	h.stop()
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", h.HTTPAddr.String())
		if err == nil {
			c.Close()
		}
		return err != nil
	}, 5*time.Second, time.Millisecond, "no new connections")
	select {
	case <-h.done:
		t.Fatal("it did not wait")
	default:
	}
	h.Close()
	require.Error(t, <-failed, "cut")
	require.NoError(t, h.ended())
	close(svc.release)
}

func (h *house) ended() error {
	err := <-h.done
	h.done <- err
	return err
}

func request(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), "GET", url, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer full")
	return r
}

// What net/http refuses before any handler runs has our error body too.
func TestRequestsThatCanNotBeRead(t *testing.T) {
	h := open(t)
	for name, c := range map[string]struct {
		sent string
		want int
		code string
	}{
		"malformed percent-encoding": {"GET /v1/call/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "validation_failed"},
		"a header that is too large": {"GET /v1/call HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 32<<10) + "\r\n\r\n", 431, "header_too_large"},
		"no HTTP at all":             {"hello\r\n\r\n", 400, "validation_failed"},
		"no host":                    {"GET /v1/call HTTP/1.1\r\n\r\n", 400, "validation_failed"},
		"an unknown encoding":        {"POST /v1/call HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "validation_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", h.HTTPAddr.String())
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, c.sent)
			require.NoError(t, err)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, c.want, resp.StatusCode)
			require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
			require.Equal(t, "2025-03-02", resp.Header.Get("Service-Version"))
			require.Contains(t, string(b), fmt.Sprintf(`{"status":%d,"error_code":%q,`, c.want, c.code))
		})
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	h := open(t, func(c *server.Config) { c.Connections = 2 })
	ask := func(c net.Conn) error {
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return err
		}
		_, err := http.ReadResponse(bufio.NewReader(c), nil)
		return err
	}
	var open [3]net.Conn
	for i := range open {
		c, err := net.Dial("tcp", h.HTTPAddr.String())
		require.NoError(t, err)
		defer c.Close()
		open[i] = c
		if i < 2 {
			require.NoError(t, ask(c))
		}
	}
	require.NoError(t, open[2].SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	require.Error(t, ask(open[2]), "it waits for a place")
	open[0].Close()
	require.NoError(t, open[2].SetReadDeadline(time.Time{}))
	_, err := http.ReadResponse(bufio.NewReader(open[2]), nil)
	require.NoError(t, err)
}

func TestMetricsHaveAListenerOfTheirOwn(t *testing.T) {
	h := open(t, func(c *server.Config) { c.MetricsAddr = "127.0.0.1:0" })
	h.get("/v1/call/c1", "Authorization", "Bearer full")
	resp, err := http.Get("http://" + h.MetricsAddr.String() + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(b), `callwright_rpc_total{code="OK",method="callwright.v1.CallService/GetCall"} 1`)
	require.Contains(t, string(b), `callwright_rpc_seconds_count{method="callwright.v1.CallService/GetCall"} 1`)
	public, _ := h.get("/metrics")
	require.Equal(t, 404, public.StatusCode)

	s := server.New(server.Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", MetricsAddr: "0.0.0.0:0"})
	require.ErrorContains(t, s.Run(t.Context()), "not a loopback address")
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	h := open(t)
	s := server.New(server.Config{HTTPAddr: h.HTTPAddr.String(), GRPCAddr: "127.0.0.1:0"})
	require.ErrorContains(t, s.Run(t.Context()), "listen for HTTP")
	s = server.New(server.Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: h.GRPCAddr.String()})
	require.ErrorContains(t, s.Run(t.Context()), "listen for gRPC")
}

func TestMessagesOfAWholeEnrollmentFit(t *testing.T) {
	h := open(t)
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer full"))
	_, err := v1.NewCallServiceClient(h.tcp).GetCall(ctx, &v1.GetCallRequest{Id: strings.Repeat("x", 1<<20)})
	require.NoError(t, err)
	_, err = v1.NewCallServiceClient(h.tcp).DeleteCall(ctx, &v1.DeleteCallRequest{Id: strings.Repeat("x", 15<<20)})
	require.NoError(t, err)
	_, err = v1.NewCallServiceClient(h.tcp).DeleteCall(ctx, &v1.DeleteCallRequest{Id: strings.Repeat("x", 17<<20)})
	require.ErrorContains(t, err, "ResourceExhausted")
}

func TestAHeaderThatIsTooLargeIsRefused(t *testing.T) {
	h := open(t)
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer full", "x-long", strings.Repeat("x", 15<<10)))
	_, err := v1.NewCallServiceClient(h.tcp).GetCall(ctx, &v1.GetCallRequest{Id: "c1"})
	require.NoError(t, err)
	ctx = metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer full", "x-long", strings.Repeat("x", 17<<10)))
	_, err = v1.NewCallServiceClient(h.tcp).GetCall(ctx, &v1.GetCallRequest{Id: "c1"})
	require.Error(t, err, "16 KiB, as over HTTP")
}
