package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/mcp"
)

const (
	id    = "0198c1f2-0000-7000-8000-000000000001"
	other = "0198c1f2-0000-7000-8000-00000000dead"
)

// assistant answers what the test gave it and remembers what it was asked.
type assistant struct {
	callwrightv1.UnimplementedAssistantServiceServer
	asked      proto.Message
	credential string
}

func (a *assistant) note(ctx context.Context, m proto.Message) {
	a.asked = m
	md, _ := metadata.FromIncomingContext(ctx)
	a.credential = strings.Join(md.Get("authorization"), ",")
}

var (
	created = timestamppb.New(time.Date(2026, 11, 20, 9, 41, 7, 120e6, time.UTC))
	juniper = &callwrightv1.Agent{
		Id: id, WorkspaceId: other, CreatedAt: created, UpdatedAt: created, Name: proto.String("Juniper"),
		Status: proto.String("active"), Languages: []string{"en", "de"}, EnableRecording: proto.Bool(false),
		Creativity: proto.Float64(0.5), Prompt: proto.String("Be kind."), Personality: proto.String("secret"),
		RingDuration: proto.Int32(0),
	}
	dental = &callwrightv1.AssistantCall{
		Id: id, Status: callwrightv1.CallStatus_CALL_STATUS_NO_ANSWER, Direction: callwrightv1.Direction_DIRECTION_OUTBOUND,
		To: "+15005550001", From: "+15005550000", Duration: proto.Int32(0), CreatedAt: created,
		Transcript: proto.String("agent: Hello"), EndedReason: proto.String("no_answer"),
	}
)

func (a *assistant) FindAgents(ctx context.Context, r *callwrightv1.FindAgentsRequest) (*callwrightv1.FindAgentsResponse, error) {
	a.note(ctx, r)
	return &callwrightv1.FindAgentsResponse{Agents: []*callwrightv1.Agent{juniper}, Total: 3}, nil
}

func (a *assistant) ReadAgent(ctx context.Context, r *callwrightv1.ReadAgentRequest) (*callwrightv1.ReadAgentResponse, error) {
	a.note(ctx, r)
	if r.AgentId == other {
		return nil, fault.Status(fault.Missing("agent")).Err()
	}
	return &callwrightv1.ReadAgentResponse{Agent: juniper}, nil
}

func (a *assistant) FindCalls(ctx context.Context, r *callwrightv1.FindCallsRequest) (*callwrightv1.FindCallsResponse, error) {
	a.note(ctx, r)
	return &callwrightv1.FindCallsResponse{Calls: []*callwrightv1.AssistantCall{dental}, Total: 1}, nil
}

func (a *assistant) ReadCall(ctx context.Context, r *callwrightv1.ReadCallRequest) (*callwrightv1.ReadCallResponse, error) {
	a.note(ctx, r)
	if r.CallId == other {
		return nil, fault.Status(fault.Missing("call")).Err()
	}
	return &callwrightv1.ReadCallResponse{Call: dental}, nil
}

// start serves the tool server on loopback over the fake services.
func start(t *testing.T, change func(*mcp.Config)) (*assistant, string) {
	return startWith(t, func(c mcp.Config) http.Handler {
		if change != nil {
			change(&c)
		}
		return mcp.New(c)
	})
}

func startWith(t *testing.T, handler func(mcp.Config) http.Handler) (*assistant, string) {
	a := new(assistant)
	conn := new(inprocgrpc.Channel)
	callwrightv1.RegisterAssistantServiceServer(conn, a)
	c := mcp.Config{
		Conn: conn, Version: "test",
		Authenticate: func(_ context.Context, token string) (string, error) {
			if token != "good" {
				return "", fault.New(fault.Unauthenticated, "unauthorized", "no such key")
			}
			return token, nil
		},
	}
	s := httptest.NewServer(handler(c))
	t.Cleanup(s.Close)
	return a, s.URL
}

func post(t *testing.T, url, body string, header map[string]string) (*http.Response, map[string]any) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		if k == "Host" {
			r.Host = v
		}
		r.Header.Del(k)
		if v != "" {
			r.Header.Set(k, v)
		}
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	var decoded map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	require.NoError(t, d.Decode(&decoded), "%s", raw)
	return answer, decoded
}

// call runs a tool without initialize, as hand-built clients do, and returns its structured answer or its failure.
func call(t *testing.T, url, name, args string) (result, failure map[string]any) {
	_, body := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+args+`}}`, nil)
	r, ok := body["result"].(map[string]any)
	require.True(t, ok, "%v", body)
	if r["isError"] == true {
		require.NotContains(t, r, "structuredContent")
		text := r["content"].([]any)[0].(map[string]any)["text"].(string)
		require.NoError(t, json.Unmarshal([]byte(text), &failure))
		return nil, failure
	}
	return r["structuredContent"].(map[string]any), nil
}

func TestAnswersHaveOnlyListedFieldsThatHaveAValue(t *testing.T) {
	a, url := start(t, nil)

	got, _ := call(t, url, "get_agent", `{"agent_id":"`+id+`"}`)
	require.Equal(t, map[string]any{"data": map[string]any{
		"id": id, "name": "Juniper", "status": "active", "languages": []any{"en", "de"}, "enable_recording": false,
		"created_at": "2026-11-20T09:41:07.120Z", "updated_at": "2026-11-20T09:41:07.120Z", "prompt": "Be kind.",
		"creativity": json.Number("0.5"), "ring_duration": json.Number("0"),
	}}, got)
	require.Equal(t, "Bearer good", a.credential, "the caller's credential goes along")

	got, _ = call(t, url, "list_agents", `{}`)
	row := got["data"].([]any)[0].(map[string]any)
	require.NotContains(t, row, "prompt", "a summary")
	require.Equal(t, map[string]any{"total": json.Number("3"), "has_more": true}, got["pagination"])

	got, _ = call(t, url, "list_agents", `{"offset":2}`)
	require.Equal(t, false, got["pagination"].(map[string]any)["has_more"])

	got, _ = call(t, url, "list_calls", `{}`)
	row = got["data"].([]any)[0].(map[string]any)
	require.Equal(t, map[string]any{
		"id": id, "status": "no-answer", "direction": "outbound", "to": "+15005550001", "from": "+15005550000",
		"duration": json.Number("0"), "created_at": "2026-11-20T09:41:07.120Z",
	}, row, "no transcript in a list")

	got, _ = call(t, url, "get_call", `{"call_id":"`+id+`"}`)
	require.Equal(t, "agent: Hello", got["data"].(map[string]any)["transcript"])
	require.Equal(t, "no_answer", got["data"].(map[string]any)["ended_reason"])
}

func TestFailuresAreResults(t *testing.T) {
	_, url := start(t, nil)
	_, failure := call(t, url, "get_agent", `{"agent_id":"`+other+`"}`)
	require.Equal(t, "not_found", failure["error_code"])
	_, failure = call(t, url, "get_call", `{"call_id":"`+other+`"}`)
	require.Equal(t, "not_found", failure["error_code"])

	_, body := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_call","arguments":{}}}`, nil)
	require.Contains(t, body, "error", "an unknown tool is a protocol error")
}

func TestToolsDescribeThemselves(t *testing.T) {
	_, url := start(t, nil)
	_, body := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil)
	tools := body["result"].(map[string]any)["tools"].([]any)
	require.Len(t, tools, 4)
	for _, tool := range tools {
		tool := tool.(map[string]any)
		require.Equal(t, map[string]any{
			"title": tool["annotations"].(map[string]any)["title"], "readOnlyHint": true, "destructiveHint": false,
			"idempotentHint": true, "openWorldHint": false,
		}, tool["annotations"])
		require.Equal(t, "object", tool["inputSchema"].(map[string]any)["type"])
		require.Equal(t, "object", tool["outputSchema"].(map[string]any)["type"])
		require.NotContains(t, tool["inputSchema"].(map[string]any)["properties"], "workspace_id")
		raw, err := json.Marshal(tool["outputSchema"])
		require.NoError(t, err)
		require.NotContains(t, string(raw), "recording_url")
		if tool["name"] == "list_calls" {
			members := tool["inputSchema"].(map[string]any)["properties"].(map[string]any)
			require.Equal(t, map[string]any{
				"type": "integer", "minimum": json.Number("1"), "maximum": json.Number("200"), "default": json.Number("20"),
				"description": "Rows to return.",
			}, members["limit"])
			require.Len(t, members["status"].(map[string]any)["enum"], 13)
			require.Equal(t, []any{"created_at:desc", "created_at:asc"}, members["sort"].(map[string]any)["enum"])
		}
	}
}
