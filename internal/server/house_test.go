package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/rest"
	"github.com/callwright/callwright/internal/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// calls is a service whose answer is chosen by the id that it is asked for.
type calls struct {
	v1.UnimplementedCallServiceServer
	held    chan struct{} // told that a call is being held
	release chan struct{} // ends it
}

type principal struct{}

func (c *calls) GetCall(ctx context.Context, r *v1.GetCallRequest) (*v1.GetCallResponse, error) {
	switch r.GetId() {
	case "missing":
		return nil, fmt.Errorf("read: %w", fault.Missing("call").With("id", "x").With("n", 3))
	case "limited":
		return nil, &fault.Error{Kind: fault.TooMany, Code: "usage_limit_reached", Message: "used up", RetryAfter: time.Minute}
	case "broken":
		return nil, fmt.Errorf("select secrets: %w", io.ErrUnexpectedEOF)
	case "panic":
		panic("secret")
	case "slow":
		<-ctx.Done()
		return nil, errors.New("interrupted (9)")
	case "inner timeout":
		return nil, fmt.Errorf("query: %w", context.DeadlineExceeded)
	case "hold":
		c.held <- struct{}{}
		<-c.release
	}
	who, _ := ctx.Value(principal{}).(string)
	from := ""
	if r.GetId() == "origin" {
		from = strings.Join(metadata.ValueFromIncomingContext(ctx, "client-address"), " ")
	}
	return &v1.GetCallResponse{Call: &v1.Call{Id: r.GetId(), WorkspaceId: who, From: from}}, nil
}

func (*calls) DeleteCall(context.Context, *v1.DeleteCallRequest) (*v1.DeleteCallResponse, error) {
	return &v1.DeleteCallResponse{Message: "gone"}, nil
}

func (*calls) StreamRecording(r *v1.StreamRecordingRequest, out grpc.ServerStreamingServer[v1.StreamRecordingResponse]) error {
	who, _ := out.Context().Value(principal{}).(string)
	err := out.Send(&v1.StreamRecordingResponse{Part: &v1.StreamRecordingResponse_Info{Info: &v1.RecordingInfo{Size: 3, Etag: who}}})
	switch r.GetId() {
	case "breaks":
		return fmt.Errorf("read: %w", fault.New(fault.Unavailable, "unavailable", "the disk is away"))
	case "panic":
		panic("secret")
	}
	return errors.Join(err, out.Send(&v1.StreamRecordingResponse{Part: &v1.StreamRecordingResponse_Chunk{Chunk: []byte("abc")}}))
}

// authenticate knows the tokens "full", "reader" and "person".
func authenticate(ctx context.Context, token string) (context.Context, server.Caller, error) {
	c := server.Caller{WorkspaceID: "w1", KeyID: "k1", Allows: func(string) bool { return true }}
	switch token {
	case "full":
	case "reader":
		c.Allows = func(scope string) bool { return scope == "read" }
	case "person":
		c.KeyID, c.UserID, c.IsUser = "", "u1", true
	case "mute":
		c.Allows = nil
	case "database is away":
		return nil, c, io.ErrClosedPipe
	default:
		return nil, c, fault.New(fault.Unauthenticated, "unauthorized", "no such key")
	}
	return context.WithValue(ctx, principal{}, token), c, nil
}

// house is a running server.
type house struct {
	*server.Server
	t    *testing.T
	url  string
	tcp  *grpc.ClientConn
	stop context.CancelFunc
	done chan error
}

func open(t *testing.T, change ...func(*server.Config)) *house {
	t.Helper()
	return openWith(t, func(*server.Server) {}, change...)
}

// openWith lets the test mount more before the server runs.
func openWith(t *testing.T, mount func(*server.Server), change ...func(*server.Config)) *house {
	t.Helper()
	c := server.Config{
		Register:     func(r grpc.ServiceRegistrar) { v1.RegisterCallServiceServer(r, &calls{}) },
		Authenticate: authenticate, HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", Reflection: true,
		Deadline: 300 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&c)
	}
	s := server.New(c)
	s.Mount("/", rest.New(rest.Config{Conn: s.Conn(), Caller: s.Caller, Log: c.Log}))
	mount(s)
	require.NoError(t, s.Listen())
	tcp, err := grpc.NewClient(s.GRPCAddr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	h := &house{Server: s, t: t, url: "http://" + s.HTTPAddr.String(), tcp: tcp, stop: stop, done: make(chan error, 1)}
	go func() { h.done <- s.Run(ctx) }()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		require.NoError(t, tcp.Close())
		stop()
		s.Close()
		require.NoError(t, <-h.done)
		h.done <- nil
	})
	return h
}

// get fetches a path; headers are name, value pairs.
func (h *house) get(path string, headers ...string) (*http.Response, string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), "GET", h.url+path, nil)
	require.NoError(h.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(h.t, err)
	defer resp.Body.Close()
	var b strings.Builder
	_, err = io.Copy(&b, resp.Body)
	require.NoError(h.t, err)
	return resp, b.String()
}
