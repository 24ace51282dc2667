package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	main "github.com/callwright/callwright/cmd/callwright"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// toolTable is the specification's table of tools, as it stands there. spec: Endpoints, Tool server (MCP).
var toolTable = map[string]map[string]string{
	"list_agents": {
		"q": "string 100", "status": "string 64", "modality": "string 32", "language": "string 32",
		"offset": "integer 0 1000000", "limit": "integer 1 200",
		"sort": "one of created_at:desc created_at:asc name:asc name:desc",
	},
	"get_agent": {"agent_id": "UUID, required"},
	"list_calls": {
		"agent_id": "UUID", "contact_id": "UUID", "campaign_id": "UUID",
		"status":    "one of scheduled not-scheduled paused queued dialing in-progress completed failed blocked skipped no-answer busy canceled",
		"direction": "one of inbound outbound", "from_date": "ISO 8601", "to_date": "ISO 8601",
		"to_number": "string 32", "from_number": "string 32", "min_duration": "integer 0", "max_duration": "integer 0",
		"answered_by": "one of human voicemail ivr", "include_test": "boolean",
		"offset": "integer 0 1000000", "limit": "integer 1 200", "sort": "one of created_at:desc created_at:asc",
	},
	"get_call": {"call_id": "UUID, required"},
}

// valuesOf are JSON values that a parameter takes and that it refuses: its bounds, one past them, the wrong types, null.
func valuesOf(kind, own string) (good, bad []string) {
	words := strings.Fields(kind)
	quote := func(s string) string { return `"` + s + `"` }
	good, bad = []string{`null`}, []string{`[]`, `{}`}
	switch words[0] {
	case "string":
		n, _ := strconv.Atoi(words[1])
		good = append(good, quote(strings.Repeat("é", n)), quote(""), quote(`%_\\'\"`))
		bad = append(bad, quote(strings.Repeat("é", n+1)), `5`, `true`, `"a\u0000b"`)
	case "integer":
		low, _ := strconv.Atoi(words[1])
		good = append(good, words[1], words[1]+".0")
		bad = append(bad, strconv.Itoa(low-1), `"`+words[1]+`"`, words[1]+".5", `true`, `-1e30`)
		if len(words) > 2 {
			high, _ := strconv.Atoi(words[2])
			good = append(good, words[2])
			bad = append(bad, strconv.Itoa(high+1), `1e30`)
		} else {
			good = append(good, `2147483648`, `1e30`)
		}
	case "boolean":
		good, bad = append(good, `true`, `false`), append(bad, `"true"`, `1`)
	case "one":
		for _, w := range words[2:] {
			good = append(good, quote(w))
			bad = append(bad, quote(strings.ToUpper(w)), quote(w+" "))
		}
		bad = append(bad, `"other"`, `""`, `1`)
	case "ISO":
		good = append(good, `"2026-11-20"`, `"2026-11-20T09:41:07Z"`, `"2026-11-20T09:41:07.123456+05:30"`, `"0001-01-01"`, `"9999-12-31"`)
		bad = append(bad, `"today"`, `"2026-02-30"`, `""`, `1763628067`, `true`)
	default:
		good = append(good, quote(own), quote(strings.ToUpper(own)))
		bad = append(bad, `"x"`, `""`, `5`, quote("{"+own+"}"), quote("urn:uuid:"+own), quote(strings.ReplaceAll(own, "-", "")))
		if strings.HasSuffix(kind, "required") {
			good, bad = good[1:], append(bad, `null`)
		}
	}
	return good, bad
}

func TestEveryParameterOfEveryToolHoldsItsBounds(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		w, other := h.found(t, "acme"), h.found(t, "other")
		w.fill(t, "acme")
		other.fill(t, "other")
		ref := map[string]callwrightv1.Ref{"agent_id": callwrightv1.Ref_REF_AGENT, "contact_id": callwrightv1.Ref_REF_CONTACT,
			"campaign_id": callwrightv1.Ref_REF_CAMPAIGN, "call_id": callwrightv1.Ref_REF_CALL}
		_, listed := w.protocol(t, `"tools/list"`, `{}`)
		for _, tool := range listed["tools"].([]any) {
			tool := tool.(map[string]any)
			members := tool["inputSchema"].(map[string]any)["properties"].(map[string]any)
			require.Len(t, members, len(toolTable[tool["name"].(string)]), "no parameter more")
		}
		require.Len(t, listed["tools"], len(toolTable))
		for tool, params := range toolTable {
			for name, kind := range params {
				good, bad := valuesOf(kind, w.ids[ref[name]])
				for _, v := range good {
					got, code := w.tool(t, "key", tool, `{"`+name+`":`+v+`}`)
					require.Empty(t, code, "%s %s=%s", tool, name, v)
					require.Contains(t, got, "data")
				}
				for _, v := range bad {
					_, code := w.tool(t, "key", tool, `{"`+name+`":`+v+`}`)
					require.Equal(t, "validation_failed", code, "%s %s=%s", tool, name, v)
				}
				if ref[name] == 0 {
					continue
				}
				for _, id := range []string{other.ids[ref[name]], uuid.NewString(), "00000000-0000-0000-0000-000000000000"} {
					got, code := w.tool(t, "key", tool, `{"`+name+`":"`+id+`"}`)
					if strings.HasPrefix(tool, "get_") {
						require.Equal(t, "not_found", code, "%s %s=%s", tool, name, id)
						continue
					}
					require.Empty(t, code)
					require.Empty(t, got["data"], "%s %s=%s", tool, name, id)
					require.Equal(t, map[string]any{"total": 0.0, "has_more": false}, got["pagination"])
				}
			}
			_, code := w.tool(t, "key", tool, `{"workspace_id":"`+other.id.String()+`"}`)
			if strings.HasPrefix(tool, "get_") {
				require.Equal(t, "validation_failed", code, "the id is missing")
			} else {
				require.Empty(t, code, "there is no such parameter")
			}
		}
		require.NotContains(t, h.log.String(), `"level":"ERROR"`, "nothing from outside is a failure of ours")
	})
}

// protocol sends a JSON-RPC request with the key and returns the HTTP status and the result.
func (w *tenant) protocol(t *testing.T, method, params string) (int, map[string]any) {
	t.Helper()
	r := w.house.ask(t, "POST", w.house.url+"/mcp", `{"jsonrpc":"2.0","id":1,"method":`+method+`,"params":`+params+`}`, map[string]string{
		"Authorization": w.credential(t, "key"), "Accept": "application/json, text/event-stream", "Content-Type": "application/json",
	})
	result, _ := r.body["result"].(map[string]any)
	return r.status, result
}

// toolReply is an answer over HTTP.
type toolReply struct {
	status int
	header http.Header
	body   map[string]any
}

func (h *house) ask(t *testing.T, method, url, body string, header map[string]string) toolReply {
	t.Helper()
	return askHTTP(t, method, url, body, header)
}

func askHTTP(t *testing.T, method, url, body string, header map[string]string) (a toolReply) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for k, v := range header {
		if k == "Host" {
			req.Host = v
		}
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	_ = json.Unmarshal(text, &a.body)
	a.status, a.header = res.StatusCode, res.Header
	return a
}

// serve starts callwright serve in this process and returns what it announced; stop ends it and returns its log.
func (in installation) serve(t *testing.T, args ...string) (f devFacts, stop func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	var log lockedBuffer
	code := make(chan int, 1)
	args = append(append([]string{"serve", "--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"}, in.flags...), args...)
	go func() {
		code <- main.Run(ctx, args, w, &log)
		w.Close()
	}()
	stopped := false
	stop = func() string {
		if cancel(); !stopped {
			stopped = true
			require.Zero(t, <-code, log.String())
		}
		return log.String()
	}
	t.Cleanup(func() { stop() })
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	require.NoError(t, err, log.String())
	go io.Copy(io.Discard, out)
	require.NoError(t, json.Unmarshal([]byte(line), &f))
	return f, stop
}

// What stands in front of the tools, on the running server: who asks, how often, in what form; and nothing but POST.
func TestTheToolServerIsGuarded(t *testing.T) {
	installations(t, func(t *testing.T, in installation) {
		w := in.found(t)
		f, _ := in.serve(t)
		ask := func(change map[string]string) toolReply {
			header := map[string]string{"Authorization": "Bearer " + w.APIKey, "Accept": "application/json, text/event-stream",
				"Content-Type": "application/json"}
			for k, v := range change {
				header[k] = v
			}
			return askHTTP(t, "POST", f.MCPURL, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header)
		}
		refused := func(r toolReply, status int, code string) {
			t.Helper()
			require.Equal(t, status, r.status)
			require.EqualValues(t, status, r.body["status"])
			require.Equal(t, code, r.body["error_code"])
			require.Equal(t, code, r.body["error"].(map[string]any)["data"].(map[string]any)["error_code"], "for clients of JSON-RPC")
		}
		for _, method := range []string{"GET", "DELETE", "PUT", "HEAD"} {
			r := askHTTP(t, method, f.MCPURL, "", map[string]string{"Authorization": "Bearer " + w.APIKey})
			require.Equal(t, 405, r.status, method)
			require.Equal(t, "POST", r.header.Get("Allow"))
		}
		refused(ask(map[string]string{"Host": "evil.example"}), 403, "forbidden")
		refused(ask(map[string]string{"Origin": "https://evil.example"}), 403, "forbidden")
		missing := ask(map[string]string{"Authorization": ""})
		refused(missing, 401, "api_key_invalid")
		require.Contains(t, missing.body["message"], "the header Authorization is missing")
		require.Equal(t, "Bearer", missing.header.Get("WWW-Authenticate"))
		refused(ask(map[string]string{"Authorization": "Bearer cw_live_no", "Accept": "text/html"}), 401, "api_key_invalid")

		// 60 in any minute for each key; what was refused for its form counts.
		refused(ask(map[string]string{"Accept": "application/json"}), 406, "not_acceptable")
		big := askHTTP(t, "POST", f.MCPURL, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`, map[string]string{
			"Authorization": "Bearer " + w.APIKey, "Accept": "application/json, text/event-stream"})
		refused(big, 413, "body_too_large")
		for i := range 58 {
			require.Equal(t, 200, ask(nil).status, "request %d", i+3)
		}
		over := ask(map[string]string{"Accept": "application/json"})
		refused(over, 429, "rate_limited")
		wait, err := strconv.Atoi(over.header.Get("Retry-After"))
		require.NoError(t, err)
		require.True(t, wait >= 1 && wait <= 60, wait)
		refused(ask(map[string]string{"Authorization": "Bearer cw_live_no"}), 401, "api_key_invalid")

		second := strings.TrimSpace(in.run(t, "key", "create", "--workspace", w.WorkspaceID.String(), "--json"))
		var k struct {
			APIKey string `json:"api_key"`
		}
		require.NoError(t, json.Unmarshal([]byte(second), &k), second)
		require.Equal(t, 200, ask(map[string]string{"Authorization": "Bearer " + k.APIKey}).status, "another key has its own minute")
		status, _ := f.get(t, fmt.Sprintf("%s/usage", f.APIURL), w.APIKey)
		require.Equal(t, 200, status, "REST has a limit of its own")
	})
}

func (f devFacts) get(t *testing.T, url, key string) (int, []byte) {
	t.Helper()
	f.APIKey = key
	return f.do(t, "GET", url, "")
}
