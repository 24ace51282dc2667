package main_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/nodetest"
)

// Assistants of other people can use the tools: the TypeScript SDK, the inspector's command line, and the conformance
// suite of the protocol, on the running program.
func TestForeignAssistantsUseTheTools(t *testing.T) {
	bench := nodetest.Install(t, "testdata/assistants")
	dir := t.TempDir()
	f, _ := installation{dir, []string{"--data-dir", dir}}.dev(t, "--sandbox-speed", "20", "--mcp-rate-limit", "0")
	status, answer := f.do(t, "POST", f.APIURL+"/call", `{"to":"+15005550006","agent_id":"`+f.AgentID+`","variables":{"name":"Maria"}}`)
	require.Equal(t, 200, status, string(answer))
	var placed struct {
		Data struct {
			CallID string `json:"call_id"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal(answer, &placed))
	id := placed.Data.CallID
	f.ended(t, id)

	names := []string{"get_agent", "get_call", "list_agents", "list_calls"}
	type row struct{ ID, Name, Status, Transcript string }
	type list struct {
		Data       []row
		Pagination struct {
			Total   int
			HasMore bool `json:"has_more"`
		}
	}
	type one struct{ Data row }
	type failure struct {
		ErrorCode string `json:"error_code"`
	}

	t.Run("the TypeScript SDK", func(t *testing.T) {
		var found struct {
			Server, Instructions string
			ReadOnly             []string
			Agents, Calls        list
			Agent, Call          one
			Unknown, Malformed   failure
			Refused              string
		}
		require.NoError(t, json.Unmarshal(bench.Run(t, "node", "sdk.mjs", f.MCPURL, f.APIKey, f.AgentID, id), &found))
		require.Equal(t, "callwright", found.Server)
		require.Contains(t, found.Instructions, "they change nothing")
		require.Equal(t, names, found.ReadOnly)
		require.Equal(t, f.AgentID, found.Agents.Data[0].ID)
		require.Equal(t, "Juniper", found.Agent.Data.Name)
		require.Equal(t, 1, found.Calls.Pagination.Total)
		require.Equal(t, id, found.Calls.Data[0].ID)
		require.Contains(t, found.Call.Data.Transcript, "Hi Maria")
		require.Equal(t, "not_found", found.Unknown.ErrorCode)
		require.Equal(t, "validation_failed", found.Malformed.ErrorCode)
		require.Contains(t, found.Refused, "api_key_invalid")
	})

	t.Run("the inspector's command line", func(t *testing.T) {
		inspect := func(into any, args ...string) {
			t.Helper()
			out := bench.Run(t, "mcp-inspector", append([]string{"--cli", f.MCPURL, "--transport", "http",
				"--header", "Authorization: Bearer " + f.APIKey}, args...)...)
			require.NoError(t, json.Unmarshal(out, into), string(out))
		}
		var listed struct{ Tools []row }
		inspect(&listed, "--method", "tools/list")
		require.Len(t, listed.Tools, 4)
		for name, arg := range map[string]string{
			"list_agents": "limit=5", "get_agent": "agent_id=" + f.AgentID, "list_calls": "status=completed", "get_call": "call_id=" + id,
		} {
			var got struct {
				IsError           bool
				StructuredContent struct{ Data json.RawMessage }
			}
			inspect(&got, "--method", "tools/call", "--tool-name", name, "--tool-arg", arg)
			require.False(t, got.IsError, name)
			require.Contains(t, string(got.StructuredContent.Data), f.AgentID, name)
		}
	})

	t.Run("the conformance suite", func(t *testing.T) {
		// The suite's program can not send a header of ours.
		target, err := url.Parse(f.HTTPURL)
		require.NoError(t, err)
		front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+f.APIKey)
		}})
		defer front.Close()
		for _, scenario := range []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection"} {
			out := bench.Run(t, "conformance", "server", "--url", front.URL+"/mcp", "--scenario", scenario)
			require.Contains(t, string(out), " 0 failed, 0 warnings", scenario)
		}
	})
}
