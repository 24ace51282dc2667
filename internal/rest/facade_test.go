package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/rest"
)

// services are fakes that remember what they were asked and answer what a test wants.
type services struct {
	v1.UnimplementedCallServiceServer
	v1.UnimplementedAgentServiceServer
	v1.UnimplementedPhoneNumberServiceServer

	placed    *v1.PlaceCallRequest
	listed    *v1.ListCallsRequest
	read      string
	created   *v1.Agent
	updated   *v1.UpdateAgentRequest
	agents    *v1.ListAgentsRequest
	metadata  metadata.MD
	err       error
	call      *v1.Call
	recording []byte
	opened    int
}

func (s *services) note(ctx context.Context) { s.metadata, _ = metadata.FromIncomingContext(ctx) }

func (s *services) PlaceCall(ctx context.Context, r *v1.PlaceCallRequest) (*v1.PlaceCallResponse, error) {
	s.note(ctx)
	s.placed = r
	return &v1.PlaceCallResponse{Data: &v1.PlacedCall{Status: "Queued", CallId: "c1"}}, s.err
}

func (s *services) ListCalls(_ context.Context, r *v1.ListCallsRequest) (*v1.ListCallsResponse, error) {
	s.listed = r
	return &v1.ListCallsResponse{TotalRecords: 1 << 53, CurrentPage: 1}, s.err
}

func (s *services) GetCall(ctx context.Context, r *v1.GetCallRequest) (*v1.GetCallResponse, error) {
	s.note(ctx)
	s.read = r.GetId()
	return &v1.GetCallResponse{Call: s.call}, s.err
}

func (s *services) GetCallDetail(_ context.Context, r *v1.GetCallDetailRequest) (*v1.GetCallDetailResponse, error) {
	return &v1.GetCallDetailResponse{Data: &v1.CallDetail{Call: s.call, Variables: map[string]string{"b": "2", "a": "1"}}}, s.err
}

func (s *services) CancelCall(_ context.Context, r *v1.CancelCallRequest) (*v1.CancelCallResponse, error) {
	s.read = r.GetId()
	return &v1.CancelCallResponse{Data: s.call}, s.err
}

func (s *services) DeleteCall(ctx context.Context, _ *v1.DeleteCallRequest) (*v1.DeleteCallResponse, error) {
	switch s.err {
	case errPanics:
		panic("oh")
	case errWaits:
		<-ctx.Done()
		return nil, fault.New(fault.Canceled, "canceled", "the caller went away")
	}
	return &v1.DeleteCallResponse{Message: "Call deleted"}, s.err
}

func (s *services) CreateAgent(_ context.Context, r *v1.CreateAgentRequest) (*v1.CreateAgentResponse, error) {
	s.created = r.GetAgent()
	return &v1.CreateAgentResponse{Data: r.GetAgent()}, s.err
}

func (s *services) UpdateAgent(_ context.Context, r *v1.UpdateAgentRequest) (*v1.UpdateAgentResponse, error) {
	s.updated = r
	return &v1.UpdateAgentResponse{Data: r.GetAgent()}, s.err
}

func (s *services) ListAgents(_ context.Context, r *v1.ListAgentsRequest) (*v1.ListAgentsResponse, error) {
	s.agents = r
	return &v1.ListAgentsResponse{Pagination: &v1.Pagination{Limit: r.GetLimit()}}, s.err
}

var (
	errPanics = fault.New(fault.Internal, "panics", "")
	errWaits  = fault.New(fault.Internal, "waits", "")
)

const wav = 200_000

func (s *services) StreamRecording(r *v1.StreamRecordingRequest, out grpc.ServerStreamingServer[v1.StreamRecordingResponse]) error {
	if s.err != nil {
		return s.err
	}
	s.opened++
	err := out.Send(&v1.StreamRecordingResponse{Part: &v1.StreamRecordingResponse_Info{Info: &v1.RecordingInfo{
		MediaType: "audio/wav", Size: int64(len(s.recording)), Etag: "tag1", ModifiedAt: timestamppb.New(time.Unix(1e9, 0))}}})
	for rest := s.recording[r.GetOffset():]; err == nil && len(rest) > 0; {
		n := min(len(rest), 64<<10)
		err = out.Send(&v1.StreamRecordingResponse{Part: &v1.StreamRecordingResponse_Chunk{Chunk: rest[:n]}})
		rest = rest[n:]
	}
	return err
}

// conn carries calls to s with the one interceptor that REST relies on.
func conn(s *services) grpc.ClientConnInterface { return connTo(s) }

func connTo(s interface {
	v1.CallServiceServer
	v1.AgentServiceServer
	v1.PhoneNumberServiceServer
}) grpc.ClientConnInterface {
	var c inprocgrpc.Channel
	c.WithServerUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (resp any, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fault.Status(fault.From(io.ErrUnexpectedEOF)).Err()
			}
		}()
		resp, err = h(ctx, req)
		return resp, toStatus(err)
	})
	c.WithServerStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		return toStatus(h(srv, ss))
	})
	v1.RegisterCallServiceServer(&c, s)
	v1.RegisterAgentServiceServer(&c, s)
	v1.RegisterPhoneNumberServiceServer(&c, s)
	return &c
}

func toStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return fault.Status(err).Err()
}

func newCall() *v1.Call {
	return &v1.Call{
		Id: "c1", CreatedAt: timestamppb.New(time.Date(2026, 11, 20, 9, 41, 7, 120_999_999, time.UTC)), To: "+15551234567",
		From: "+15005550000", Status: v1.CallStatus_CALL_STATUS_IN_PROGRESS, Direction: v1.Direction_DIRECTION_OUTBOUND,
		Metadata: `{"b": 12345678901234567890, "a":1.10}`, WorkspaceId: "w1", RecordingUrl: proto.String("/v1/call/c1/recording"),
	}
}

// facade is a running REST surface over fakes.
type facade struct {
	*services
	url string
	t   *testing.T
}

func start(t *testing.T, change ...func(*rest.Config)) *facade {
	s := &services{call: newCall(), recording: bytes.Repeat([]byte("0123456789"), wav/10)}
	c := rest.Config{Conn: conn(s), PublicURL: "https://cw.example/", Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&c)
	}
	srv := httptest.NewServer(rest.New(c))
	t.Cleanup(srv.Close)
	return &facade{services: s, url: srv.URL, t: t}
}

// do sends a request; headers are name, value pairs.
func (f *facade) do(method, path, body string, headers ...string) (*http.Response, string) {
	f.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, in)
	require.NoError(f.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(f.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(f.t, err)
	return resp, string(b)
}

// refused demands the error envelope with a status and a code, and gives its message.
func refused(t *testing.T, resp *http.Response, body string, status int, code string) string {
	t.Helper()
	require.Equal(t, status, resp.StatusCode, body)
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	var e struct {
		Status  int
		Code    string `json:"error_code"`
		Message string
	}
	require.NoError(t, json.Unmarshal([]byte(body), &e), body)
	require.Equal(t, status, e.Status)
	require.Equal(t, code, e.Code)
	require.NotEmpty(t, e.Message)
	return e.Message
}

func TestAnswersLookAsTheSpecificationSays(t *testing.T) {
	f := start(t)
	call := `{"id":"c1","created_at":"2026-11-20T09:41:07.120Z","to":"+15551234567","from":"+15005550000",` +
		`"status":"in-progress","duration":null,"direction":"outbound","metadata":{"b": 12345678901234567890, "a":1.10},` +
		`"recording_url":"https://cw.example/v1/call/c1/recording","workspace_id":"w1","agent_id":null,"contact_id":null,` +
		`"campaign_id":null,"test":false,"answered_by":null,"ended_reason":null,"ended_message":null,"retry_after":null,` +
		`"schedule_time":null}`
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		want               string
	}{
		"a placed call stands in an envelope": {"POST", "/v1/call", `{"to":"+1"}`, 200,
			`{"status":200,"data":{"status":"Queued","call_id":"c1"}}`},
		"a call is bare": {"GET", "/v1/call/c1", "", 200, call},
		"a list of calls is bare, integers are numbers": {"GET", "/v1/call", "", 200,
			`{"calls":[],"totalRecords":9007199254740992,"currentPage":1}`},
		"the members of an inlined message stand among the others": {"GET", "/v1/calls/c1", "", 200,
			`{"status":200,"data":` + strings.TrimSuffix(call, "}") + `,"transcript":"","transcript_object":[],` +
				`"variables":{"a":"1","b":"2"},"dialed_at":null,"answered_at":null,"ended_at":null,"latency":null,` +
				`"analysis":null,"content_redacted":false,"redaction_reason":null,"content_deleted_at":null,"answered_by_reason":null,"recording_consent":null}}`},
		"a deleted call is a message": {"DELETE", "/v1/call/c1", "", 200, `{"status":200,"message":"Call deleted"}`},
		"a page shows every number": {"GET", "/v1/agents?limit=5", "", 200,
			`{"status":200,"data":[],"pagination":{"offset":0,"limit":5,"total":0,"has_more":false}}`},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := f.do(c.method, c.path, c.body)
			require.Equal(t, c.status, resp.StatusCode, body)
			require.Equal(t, c.want, body)
			require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
			require.EqualValues(t, len(body), resp.ContentLength)
		})
	}
}

func TestEveryAnswerCarriesTheCommonHeaders(t *testing.T) {
	f := start(t)
	for _, path := range []string{"/v1/call/c1", "/v1/nothing", "/v1/call/c1/recording"} {
		resp, _ := f.do("GET", path, "", "X-Request-Id", "abc.DEF_1-2")
		require.Equal(t, "abc.DEF_1-2", resp.Header.Get("X-Request-Id"))
		require.Len(t, resp.Header.Values("X-Request-Id"), 1)
		require.Equal(t, "2025-03-02", resp.Header.Get("Service-Version"))
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
	}
	resp, _ := f.do("GET", "/v1/call/c1", "")
	require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
	for _, insane := range []string{"", "a b", "ü", strings.Repeat("x", 129)} {
		resp, _ := f.do("GET", "/v1/call/c1", "", "X-Request-Id", insane)
		require.Len(t, resp.Header.Get("X-Request-Id"), 26, "a new one is made")
		require.Equal(t, []string{resp.Header.Get("X-Request-Id")}, f.metadata["x-request-id"], "and the services know it")
	}
}

func TestOnlyTheHeadersThatMeanSomethingReachTheServices(t *testing.T) {
	f := start(t)
	f.do("GET", "/v1/call/c1", "", "Authorization", "Bearer x", "Service-Version", "2025-03-02", "Idempotency-Key", "k",
		"Grpc-Metadata-Authorization", "Bearer other", "Grpc-Timeout", "1n", "X-Forwarded-For", "6.6.6.6", "Cookie", "c=1")
	require.Equal(t, []string{"Bearer x"}, f.metadata["authorization"])
	require.Equal(t, []string{"2025-03-02"}, f.metadata["service-version"])
	require.Equal(t, []string{"k"}, f.metadata["idempotency-key"])
	require.Equal(t, []string{"127.0.0.1"}, f.metadata["x-forwarded-for"])
	require.Empty(t, f.metadata["grpcgateway-cookie"])
	f.do("GET", "/v1/call/c1", "", "Service-Version", "ü")
	require.Equal(t, []string{"unknown"}, f.metadata["service-version"], "it must not become absent")
}

func TestAddressesFallBackToTheRequestsHost(t *testing.T) {
	f := start(t, func(c *rest.Config) { c.PublicURL = "" })
	_, body := f.do("GET", "/v1/call/c1", "")
	require.Contains(t, body, `"recording_url":"`+f.url+`/v1/call/c1/recording"`)
}

func TestFaultsOfTheServicesBecomeTheErrorBody(t *testing.T) {
	f := start(t)
	for _, c := range []struct {
		err    error
		status int
		want   string
		header string
		value  string
	}{
		{fault.Missing("call"), 404, `{"status":404,"error_code":"call_not_found","message":"no such call"}`, "", ""},
		{fault.New(fault.Unauthenticated, "unauthorized", "no"), 401,
			`{"status":401,"error_code":"unauthorized","message":"no"}`, "WWW-Authenticate", "Bearer"},
		{fault.New(fault.Conflict, "call_active", "busy <&>").With("n", 3).With("a", "ü"), 409,
			`{"status":409,"error_code":"call_active","message":"busy <&>","details":{"a":"ü","n":3}}`, "", ""},
		{&fault.Error{Kind: fault.TooMany, Code: "usage_limit_reached", Message: "used up", RetryAfter: 1500 * time.Millisecond}, 429,
			`{"status":429,"error_code":"usage_limit_reached","message":"used up"}`, "Retry-After", "2"},
		{fault.New(fault.TooMany, "slow_down", "slower"), 429,
			`{"status":429,"error_code":"slow_down","message":"slower"}`, "Retry-After", "1"},
		{&fault.Error{Kind: fault.Unavailable, Code: "unavailable", Message: "soon", RetryAfter: time.Second}, 503,
			`{"status":503,"error_code":"unavailable","message":"soon"}`, "Retry-After", "1"},
		{fault.New(fault.Gone, "gone", "was here"), 410, `{"status":410,"error_code":"gone","message":"was here"}`, "", ""},
		{fault.New(fault.Timeout, "deadline_exceeded", "slow"), 504,
			`{"status":504,"error_code":"deadline_exceeded","message":"slow"}`, "", ""},
		{io.ErrClosedPipe, 500, `{"status":500,"error_code":"internal_error","message":"something went wrong on our side"}`, "", ""},
		{errPanics, 500, `{"status":500,"error_code":"internal_error","message":"something went wrong on our side"}`, "", ""},
	} {
		f.err = c.err
		resp, body := f.do("DELETE", "/v1/call/c1", "")
		require.Equal(t, c.want, body)
		require.Equal(t, c.status, resp.StatusCode)
		require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
		if c.header != "" {
			require.Equal(t, c.value, resp.Header.Get(c.header))
		}
	}
}

func TestAClientThatGoesAwayIs499(t *testing.T) {
	s := &services{err: errWaits}
	h := rest.New(rest.Config{Conn: conn(s), Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "DELETE", "/v1/call/c1", nil))
	refused(t, w.Result(), w.Body.String(), 499, "canceled")
}

func newHandler(t testing.TB) http.Handler {
	t.Helper()
	return rest.New(rest.Config{Conn: conn(&services{call: newCall()}), Log: slog.New(slog.DiscardHandler)})
}

// wrecked is a connection that panics, as only a defect of ours can.
type wrecked struct{ grpc.ClientConnInterface }

func (wrecked) Invoke(context.Context, string, any, any, ...grpc.CallOption) error { panic("secret") }

func TestAPanicOfOurOwnIs500AndGoesToTheLog(t *testing.T) {
	var log bytes.Buffer
	h := rest.New(rest.Config{Conn: wrecked{}, Log: slog.New(slog.NewJSONHandler(&log, nil))})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/v1/call/c1", nil))
	refused(t, w.Result(), w.Body.String(), 500, "internal_error")
	require.NotContains(t, w.Body.String(), "secret")
	require.Contains(t, log.String(), "secret")
	require.Contains(t, log.String(), "facade_test.go", "with the stack")
}
