package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/rest"
	"github.com/callwright/callwright/internal/server"
)

// outcome is all that a caller can see of a call.
type outcome struct {
	Code     string
	Message  string
	Details  []string
	Answers  []string
	ID       []string
	Versions []string
}

func seen(err error, header metadata.MD, answers ...proto.Message) outcome {
	st := status.Convert(err)
	o := outcome{Code: st.Code().String(), Message: st.Message(), ID: header["x-request-id"], Versions: header["service-version"]}
	for _, d := range st.Details() {
		o.Details = append(o.Details, text(d.(proto.Message)))
	}
	for _, m := range answers {
		o.Answers = append(o.Answers, text(m))
	}
	return o
}

func text(m proto.Message) string {
	var b bytes.Buffer
	j, _ := protojson.Marshal(m)
	_ = json.Compact(&b, j)
	return b.String()
}

// read calls GetCall, stream StreamRecording, over any connection.
func read(ctx context.Context, c grpc.ClientConnInterface, id string) outcome {
	var header metadata.MD
	resp, err := v1.NewCallServiceClient(c).GetCall(ctx, &v1.GetCallRequest{Id: id}, grpc.Header(&header))
	if err != nil {
		return seen(err, header)
	}
	return seen(nil, header, resp)
}

func stream(ctx context.Context, c grpc.ClientConnInterface, id string) outcome {
	s, err := v1.NewCallServiceClient(c).StreamRecording(ctx, &v1.StreamRecordingRequest{Id: id})
	if err != nil {
		return seen(err, nil)
	}
	var answers []proto.Message
	for err == nil {
		var m *v1.StreamRecordingResponse
		if m, err = s.Recv(); err == nil {
			answers = append(answers, m)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	header, _ := s.Header()
	return seen(err, header, answers...)
}

func TestACallIsTheSameInTheProcessAndOverTheNetwork(t *testing.T) {
	h := open(t)
	detail := func(code string, status string) string { return `{"errorCode":"` + code + `","status":` + status + `}` }
	for name, c := range map[string]struct {
		call  func(context.Context, grpc.ClientConnInterface, string) outcome
		id    string
		token string
		more  []string
		want  outcome
	}{
		"an answer":                     {read, "c1", "full", nil, outcome{Code: "OK", Answers: []string{`{"call":{"id":"c1","workspaceId":"full"}}`}}},
		"a wrapped fault":               {read, "missing", "full", nil, outcome{Code: "NotFound", Message: "no such call", Details: []string{`{"errorCode":"call_not_found","details":{"id":"x","n":3},"status":404}`}}},
		"a limit":                       {read, "limited", "full", nil, outcome{Code: "ResourceExhausted", Message: "used up", Details: []string{detail("usage_limit_reached", "429"), `{"retryDelay":"60s"}`}}},
		"an unknown error":              {read, "broken", "full", nil, outcome{Code: "Internal", Message: "something went wrong on our side", Details: []string{detail("internal_error", "500")}}},
		"a panic":                       {read, "panic", "full", nil, outcome{Code: "Internal", Message: "something went wrong on our side", Details: []string{detail("internal_error", "500")}}},
		"a call that is slow":           {read, "slow", "full", nil, outcome{Code: "DeadlineExceeded", Message: "it took too long", Details: []string{detail("deadline_exceeded", "504")}}},
		"a query that is slow":          {read, "inner timeout", "full", nil, outcome{Code: "DeadlineExceeded", Message: "it took too long", Details: []string{detail("deadline_exceeded", "504")}}},
		"no credential":                 {read, "c1", "", nil, outcome{Code: "Unauthenticated", Message: "a bearer token is needed", Details: []string{detail("unauthorized", "401")}}},
		"a wrong credential":            {read, "c1", "wrong", nil, outcome{Code: "Unauthenticated", Message: "no such key", Details: []string{detail("unauthorized", "401")}}},
		"two credentials":               {read, "c1", "full", []string{"authorization", "Bearer full"}, outcome{Code: "Unauthenticated", Message: "a bearer token is needed", Details: []string{detail("unauthorized", "401")}}},
		"no scope at all":               {read, "c1", "mute", nil, outcome{Code: "PermissionDenied", Message: "this credential does not allow read", Details: []string{detail("forbidden", "403")}}},
		"a check that fails":            {read, "c1", "database is away", nil, outcome{Code: "Internal", Message: "something went wrong on our side", Details: []string{detail("internal_error", "500")}}},
		"the version":                   {read, "c1", "full", []string{"service-version", "2025-03-02"}, outcome{Code: "OK", Answers: []string{`{"call":{"id":"c1","workspaceId":"full"}}`}}},
		"another version":               {read, "c1", "", []string{"service-version", "2024-01-01"}, outcome{Code: "InvalidArgument", Message: "this version of the API is not supported", Details: []string{`{"errorCode":"unsupported_version","details":{"supported":["2025-03-02"]},"status":400}`}}},
		"a stream":                      {stream, "c1", "reader", nil, outcome{Code: "OK", Answers: []string{`{"info":{"size":"3","etag":"reader"}}`, `{"chunk":"YWJj"}`}}},
		"a stream that breaks":          {stream, "breaks", "full", nil, outcome{Code: "Unavailable", Message: "the disk is away", Answers: []string{`{"info":{"size":"3","etag":"full"}}`}, Details: []string{detail("unavailable", "503")}}},
		"a stream that panics":          {stream, "panic", "full", nil, outcome{Code: "Internal", Message: "something went wrong on our side", Answers: []string{`{"info":{"size":"3","etag":"full"}}`}, Details: []string{detail("internal_error", "500")}}},
		"a stream without a credential": {stream, "c1", "", nil, outcome{Code: "Unauthenticated", Message: "a bearer token is needed", Details: []string{detail("unauthorized", "401")}}},
	} {
		t.Run(name, func(t *testing.T) {
			pairs := append([]string{"x-request-id", "my.id-1"}, c.more...)
			if c.token != "" {
				pairs = append(pairs, "authorization", "bEARER "+c.token)
			}
			ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs(pairs...))
			c.want.ID, c.want.Versions = []string{"my.id-1"}, []string{server.Version}
			require.Equal(t, c.want, c.call(ctx, h.tcp, c.id), "over the network")
			require.Equal(t, c.want, c.call(ctx, h.Conn(), c.id), "in the process")
		})
	}
}

func TestWhatIsNotThereIsUnimplementedOnBothWays(t *testing.T) {
	h := open(t)
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer full"))
	for _, c := range []grpc.ClientConnInterface{h.tcp, h.Conn()} {
		_, err := v1.NewCallServiceClient(c).PlaceCall(ctx, &v1.PlaceCallRequest{})
		require.Equal(t, codes.Unimplemented, status.Code(err), "declared, not written")
		err = c.Invoke(ctx, "/callwright.v1.CallService/Nothing", &v1.GetCallRequest{}, &v1.GetCallResponse{})
		require.Equal(t, codes.Unimplemented, status.Code(err))
		err = c.Invoke(ctx, "/callwright.v1.NothingService/Nothing", &v1.GetCallRequest{}, &v1.GetCallResponse{})
		require.Equal(t, codes.Unimplemented, status.Code(err))
	}
}

func TestACallerThatGoesAwayEndsTheCall(t *testing.T) {
	h := open(t, func(c *server.Config) { c.Deadline = 0 })
	for _, c := range []grpc.ClientConnInterface{h.tcp, h.Conn()} {
		ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer full")))
		cancel()
		require.Equal(t, "Canceled", read(ctx, c, "slow").Code)
	}
}

func TestNeitherSideSeesTheOthersChanges(t *testing.T) {
	answer := &v1.GetCallResponse{Call: &v1.Call{Id: "c1"}}
	var got *v1.GetCallRequest
	h := open(t, func(c *server.Config) {
		c.Register = func(r grpc.ServiceRegistrar) { v1.RegisterCallServiceServer(r, &keeps{got: &got, answer: answer}) }
	})
	ctx := metadata.NewOutgoingContext(context.WithValue(t.Context(), principal{}, "forged"), metadata.Pairs("authorization", "Bearer full"))
	sent := &v1.GetCallRequest{Id: "a"}
	resp, err := v1.NewCallServiceClient(h.Conn()).GetCall(ctx, sent)
	require.NoError(t, err)
	sent.Id, resp.Call.Id = "changed", "changed"
	require.Equal(t, "a", got.GetId())
	require.Equal(t, "c1", answer.GetCall().GetId())
}

type keeps struct {
	v1.UnimplementedCallServiceServer
	got    **v1.GetCallRequest
	answer *v1.GetCallResponse
}

func (k *keeps) GetCall(_ context.Context, r *v1.GetCallRequest) (*v1.GetCallResponse, error) {
	*k.got = r
	return k.answer, nil
}

func TestScopes(t *testing.T) {
	h := open(t)
	for _, token := range []string{"full", "person", "reader"} {
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer "+token))
		_, err := v1.NewCallServiceClient(h.Conn()).GetCall(ctx, &v1.GetCallRequest{})
		require.NoError(t, err)
		_, err = v1.NewCallServiceClient(h.Conn()).DeleteCall(ctx, &v1.DeleteCallRequest{})
		if token != "reader" {
			require.NoError(t, err)
			continue
		}
		f := fault.FromStatus(err)
		require.Equal(t, fault.Denied, f.Kind)
		require.Equal(t, "forbidden", f.Code)
	}
}

func TestWithoutACheckOfCredentialsNobodyComesIn(t *testing.T) {
	h := open(t, func(c *server.Config) { c.Authenticate = nil })
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer full"))
	require.Equal(t, "PermissionDenied", read(ctx, h.Conn(), "c1").Code)
}

func TestAMethodWithoutAnAuthOptionIsRefused(t *testing.T) {
	// A service of another package has no option that we know.
	h := open(t, func(c *server.Config) {
		c.Register = func(r grpc.ServiceRegistrar) {
			r.RegisterService(&grpc.ServiceDesc{ServiceName: "other.Service", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
				MethodName: "Do", Handler: func(srv any, ctx context.Context, dec func(any) error, i grpc.UnaryServerInterceptor) (any, error) {
					return i(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/other.Service/Do"}, func(context.Context, any) (any, error) {
						return &v1.GetCallResponse{}, nil
					})
				}}}}, struct{}{})
		}
	})
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer full"))
	err := h.Conn().Invoke(ctx, "/other.Service/Do", &v1.GetCallRequest{}, &v1.GetCallResponse{})
	require.Equal(t, codes.PermissionDenied, status.Code(err))
}

// Forgetting the option refuses everybody; better to learn it here.
func TestEveryMethodOfTheAPISaysWhoMayCallIt(t *testing.T) {
	n := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("callwright.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			for j := range f.Services().Get(i).Methods().Len() {
				m := f.Services().Get(i).Methods().Get(j)
				auth, _ := proto.GetExtension(m.Options(), v1.E_Auth).(*v1.Auth)
				require.True(t, auth.GetPublic() != (auth.GetScope() != v1.Scope_SCOPE_UNSPECIFIED), "%s: public or a scope", m.FullName())
				n++
			}
		}
		return true
	})
	require.NotZero(t, n)
}

func TestProbesAndReflectionNeedNoCredential(t *testing.T) {
	h := open(t)
	resp, err := grpc_health_v1.NewHealthClient(h.tcp).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, resp.GetStatus())
	s, err := reflectionv1.NewServerReflectionClient(h.tcp).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}))
	list, err := s.Recv()
	require.NoError(t, err)
	require.Contains(t, list.String(), "callwright.v1.CallService")
	require.NoError(t, s.CloseSend())

	h = open(t, func(c *server.Config) { c.Reflection = false })
	s, err = reflectionv1.NewServerReflectionClient(h.tcp).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	_, err = s.Recv()
	require.Equal(t, codes.Unimplemented, status.Code(err))
}

func TestTheLogHasOneLineForEachCallAndNoSecrets(t *testing.T) {
	var b bytes.Buffer
	h := open(t, func(c *server.Config) { c.Log = slog.New(slog.NewJSONHandler(&b, nil)) })
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer full", "x-request-id", "r1"))
	read(ctx, h.Conn(), "c1")
	var line map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &line), "one line: "+b.String())
	require.Equal(t, "/callwright.v1.CallService/GetCall", line["method"])
	require.Equal(t, "OK", line["code"])
	require.Equal(t, "r1", line["request_id"])
	require.Equal(t, "w1", line["workspace_id"])
	require.Equal(t, "k1", line["key_id"])
	require.NotContains(t, line, "user_id")
	require.NotContains(t, b.String(), "full")
	b.Reset()

	read(ctx, h.Conn(), "broken")
	require.Equal(t, 2, strings.Count(b.String(), "\n"), "the cause and the call")
	require.Contains(t, b.String(), "select secrets", "the cause is for the log")
	b.Reset()

	read(ctx, h.Conn(), "panic")
	require.Contains(t, b.String(), "house_test.go", "with the stack")
	b.Reset()

	_, err := grpc_health_v1.NewHealthClient(h.tcp).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Empty(t, b.String(), "probes are noise")
}

func TestInsaneRequestIDsAreReplaced(t *testing.T) {
	h := open(t)
	for _, id := range []string{"", "a b", strings.Repeat("x", 129), "a\"b"} {
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer full", "x-request-id", id))
		got := read(ctx, h.tcp, "c1").ID
		require.Len(t, got, 1)
		require.Len(t, got[0], 26)
	}
}

func TestRESTAndTheServicesSpeakOfTheSameVersion(t *testing.T) {
	require.Equal(t, rest.Version, server.Version)
	h := open(t)
	resp, body := h.get("/v1/call/c1", "Authorization", "Bearer full", "Service-Version", "1999-01-01")
	require.Equal(t, 400, resp.StatusCode)
	require.JSONEq(t, `{"status":400,"error_code":"unsupported_version","message":"this version of the API is not supported","details":{"supported":["2025-03-02"]}}`, body)
	require.Equal(t, "2025-03-02", resp.Header.Get("Service-Version"))
	resp, _ = h.get("/v1/call/c1", "Authorization", "Bearer full", "Service-Version", "2025-03-02")
	require.Equal(t, 200, resp.StatusCode)
}

func TestTheThrottlesCallerIsTheKeyElseTheUser(t *testing.T) {
	h := open(t)
	for token, want := range map[string]string{"full": "key k1", "reader": "key k1", "person": "user u1"} {
		got, err := h.Caller(t.Context(), token)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := h.Caller(t.Context(), "wrong")
	require.True(t, fault.Is(err, "unauthorized"))
}

func TestNULCharactersAreRefusedWhereverTheyStand(t *testing.T) {
	h := open(t)
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.Pairs("authorization", "Bearer full"))
	for _, c := range []grpc.ClientConnInterface{h.tcp, h.Conn()} {
		client := v1.NewCallServiceClient(c)
		for want, r := range map[string]*v1.PlaceCallRequest{
			"to must not contain NUL characters":        {To: "a\x00"},
			"variables must not contain NUL characters": {Variables: map[string]string{"a": "\x00"}},
			"metadata must not contain NUL characters":  {Metadata: "\x00"},
		} {
			_, err := client.PlaceCall(ctx, r)
			f := fault.FromStatus(err)
			require.Equal(t, "validation_failed", f.Code)
			require.Equal(t, want, f.Message)
		}
		_, err := client.PlaceCall(ctx, &v1.PlaceCallRequest{Variables: map[string]string{"\x00": ""}})
		require.Equal(t, codes.InvalidArgument, status.Code(err))
		require.Equal(t, "InvalidArgument", stream(ctx, c, "\x00").Code)
		_, err = v1.NewCallServiceClient(c).PlaceCall(t.Context(), &v1.PlaceCallRequest{To: "\x00"})
		require.Equal(t, codes.Unauthenticated, status.Code(err), "strangers learn nothing of it")
	}
}

// A stream can be over before its request is sent; the client then must learn why, not that it is over.
func TestAStreamThatIsRefusedAtOnceSaysSo(t *testing.T) {
	h := open(t)
	for name, c := range map[string]grpc.ClientConnInterface{"tcp": h.tcp, "in process": h.Conn()} {
		t.Run(name, func(t *testing.T) {
			s, err := c.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, v1.CallService_StreamRecording_FullMethodName)
			require.NoError(t, err)
			_, _ = s.Header() // returns when the server has refused
			require.NoError(t, s.SendMsg(&v1.StreamRecordingRequest{}))
			require.NoError(t, s.CloseSend())
			require.Equal(t, codes.Unauthenticated, status.Code(s.RecvMsg(&v1.StreamRecordingResponse{})))
		})
	}
}
