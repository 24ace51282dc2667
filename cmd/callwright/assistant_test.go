package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
	"github.com/callwright/callwright/internal/webhook"
)

// tool asks a tool over HTTP as a hand-built client does, and returns its answer, or its failure's error_code.
func (w *tenant) tool(t *testing.T, as, name, args string) (result map[string]any, code string) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args)
	req, err := http.NewRequestWithContext(t.Context(), "POST", w.house.url+"/mcp", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", w.credential(t, as))
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	var answer struct {
		Result struct {
			IsError           bool `json:"isError"`
			StructuredContent map[string]any
			Content           []struct{ Text string }
		}
		ErrorCode string `json:"error_code"`
	}
	require.NoError(t, json.Unmarshal(raw, &answer), "%s", raw)
	if answer.ErrorCode != "" {
		return nil, answer.ErrorCode
	}
	if answer.Result.IsError {
		var failure struct {
			ErrorCode string `json:"error_code"`
		}
		require.NoError(t, json.Unmarshal([]byte(answer.Result.Content[0].Text), &failure))
		return nil, failure.ErrorCode
	}
	return answer.Result.StructuredContent, ""
}

// read is a GET over REST with the credential.
func (w *tenant) read(t *testing.T, as, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", w.house.url+path, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", w.credential(t, as))
	res, err := w.house.client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

// conclude does what the job after a call does.
func (w *tenant) conclude(t *testing.T, id uuid.UUID) {
	t.Helper()
	work := analysis.NewWorker(analysis.Config{DB: w.house.db, Log: slog.New(slog.NewJSONHandler(&w.house.log, nil))})
	require.NoError(t, work.Work(t.Context(), &river.Job[call.Ended]{
		JobRow: &rivertype.JobRow{Attempt: 1}, Args: call.Ended{WorkspaceID: w.id, CallID: id},
	}))
}

func (w *tenant) talked(t *testing.T, a uuid.UUID, words ...string) uuid.UUID {
	t.Helper()
	c, err := call.Place(w.ctx(t), w.house.db, call.Request{To: "+15551230001", AgentID: a})
	require.NoError(t, err)
	require.NoError(t, w.talk(t, c.ID, 12, 1600, words))
	w.conclude(t, c.ID)
	return c.ID
}

func TestAssistantsReadAgentsAndCallsOfTheirWorkspaceOnly(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		w, other := h.found(t, "acme"), h.found(t, "other")
		a, err := agent.Create(w.ctx(t), db, agent.Settings{Name: ptr("Juniper"), Role: ptr("Receptionist"), Prompt: ptr("Be kind.")})
		require.NoError(t, err)
		id := w.talked(t, a.ID, "Hello!", "look_up()", "My tooth hurts.")
		_, err = call.Place(w.ctx(t), db, call.Request{To: "+15551230002", AgentID: a.ID, Test: true})
		require.NoError(t, err)

		list := func(tool, args string) (n int, total float64, first map[string]any) {
			t.Helper()
			got, code := w.tool(t, "key", tool, args)
			require.Empty(t, code)
			rows := got["data"].([]any)
			if len(rows) > 0 {
				first = rows[0].(map[string]any)
			}
			return len(rows), got["pagination"].(map[string]any)["total"].(float64), first
		}
		for args, want := range map[string]int{
			`{}`: 1, `{"include_test":true}`: 2, `{"status":"completed"}`: 1, `{"status":"busy"}`: 0, `{"answered_by":"human"}`: 1,
			`{"answered_by":"ivr"}`: 0, `{"direction":"inbound"}`: 0, `{"to_number":"+15551230001"}`: 1, `{"to_number":"+1555123000"}`: 0,
			`{"min_duration":12,"max_duration":12}`: 1, `{"min_duration":13}`: 0, `{"max_duration":11}`: 0,
			`{"from_date":"2100-01-01"}`: 0, `{"to_date":"2020-01-01"}`: 0, `{"from_date":"2020-01-01","to_date":"2100-01-01"}`: 1,
			`{"agent_id":"` + a.ID.String() + `"}`: 1, `{"agent_id":"` + uuid.NewString() + `"}`: 0,
			`{"contact_id":"` + uuid.NewString() + `"}`: 0, `{"campaign_id":"` + uuid.NewString() + `"}`: 0,
		} {
			n, total, _ := list("list_calls", args)
			require.Equal(t, want, n, args)
			require.EqualValues(t, want, total, args)
		}
		n, total, _ := list("list_calls", `{"offset":1000000,"limit":200}`)
		require.Zero(t, n)
		require.EqualValues(t, 1, total, "tests are not counted")
		_, _, first := list("list_calls", `{}`)
		require.Contains(t, first["summary"], "My tooth hurts.")
		require.NotContains(t, first, "transcript")
		require.NotContains(t, first, "content_redacted")
		for args, want := range map[string]int{`{"status":"ACTIVE"}`: 1, `{"status":"no such status"}`: 0, `{"q":"JUNI"}`: 1, `{"modality":"chat"}`: 0} {
			n, _, _ := list("list_agents", args)
			require.Equal(t, want, n, args)
		}
		got, code := w.tool(t, "key", "get_agent", `{"agent_id":"`+a.ID.String()+`"}`)
		require.Empty(t, code)
		require.Equal(t, "Be kind.", got["data"].(map[string]any)["prompt"])
		got, code = w.tool(t, "key", "get_call", `{"call_id":"`+id.String()+`"}`)
		require.Empty(t, code)
		one := got["data"].(map[string]any)
		require.Equal(t, "agent: Hello!\nuser: My tooth hurts.", one["transcript"])
		require.Equal(t, "agent_hangup", one["ended_reason"])
		require.NotContains(t, fmt.Sprint(one), "recording")

		for tool, args := range map[string]string{"get_call": `{"call_id":"` + id.String() + `"}`, "get_agent": `{"agent_id":"` + a.ID.String() + `"}`} {
			_, code := other.tool(t, "key", tool, args)
			require.Equal(t, "not_found", code, tool)
			_, code = w.tool(t, "read key", tool, args)
			require.Equal(t, "forbidden", code, "a key without the scope mcp")
			_, code = w.tool(t, "deleted key", tool, args)
			require.Equal(t, "api_key_invalid", code)
		}

		// Who asked what, for those who administer.
		status, body := w.read(t, "token", "/v1/tool-accesses?limit=200")
		require.Equal(t, 200, status, body)
		require.Contains(t, body, `"tool":"get_call","subject_id":"`+id.String()+`"`)
		require.Contains(t, body, `"key_id":"`+w.founded.Key.Row.ID.String()+`"`)
		status, body = other.read(t, "token", "/v1/tool-accesses")
		require.Equal(t, 200, status)
		require.Equal(t, 2, strings.Count(body, `"tool"`), "its own questions alone")
		for _, as := range []string{"key", "viewer"} {
			status, _ = w.read(t, as, "/v1/tool-accesses")
			require.Equal(t, 403, status, as)
		}
	})
}

// What people said under HIPAA is nowhere to be had: over no surface, in no log, and in no table once it was analysed.
func TestNothingSaidUnderHIPAALeaves(t *testing.T) {
	const canary = "CANARY-17 diagnosis"
	for _, flagged := range []string{"workspace", "agent"} {
		t.Run(flagged, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, db *store.DB) {
				h := open(t, db)
				w := h.found(t, "clinic")
				settings := agent.Settings{Name: ptr("Nurse"), CallTag: ptr(true)}
				if flagged == "agent" {
					settings.IsHIPAACompliant = ptr(true)
				} else {
					require.NoError(t, w.do(t, "hipaa"))
				}
				a, err := agent.Create(w.ctx(t), db, settings)
				require.NoError(t, err)
				c, err := call.Place(w.ctx(t), db, call.Request{To: "+15551230001", AgentID: a.ID})
				require.NoError(t, err)
				require.NoError(t, w.talk(t, c.ID, 12, 1600, []string{canary, canary, canary}))
				look := func(when string) {
					for _, path := range []string{"/v1/call", "/v1/call/ID", "/v1/calls/ID", "/v1/webhook-deliveries", "/v1/tool-accesses"} {
						for _, as := range []string{"key", "token"} {
							_, body := w.read(t, as, strings.ReplaceAll(path, "ID", c.ID.String()))
							require.NotContains(t, body, "CANARY", "%s %s", when, path)
						}
					}
					_, body := w.read(t, "key", "/v1/calls/"+c.ID.String())
					require.Contains(t, body, `"content_redacted":true,"redaction_reason":"hipaa"`, when)
					status, _ := w.read(t, "key", "/v1/call/"+c.ID.String()+"/recording")
					require.Equal(t, 404, status, when)
					for tool, args := range map[string]string{"list_calls": `{}`, "get_call": `{"call_id":"` + c.ID.String() + `"}`} {
						got, code := w.tool(t, "key", tool, args)
						require.Empty(t, code)
						text, err := json.Marshal(got)
						require.NoError(t, err)
						require.NotContains(t, string(text), "CANARY", "%s %s", when, tool)
						require.Contains(t, string(text), `"content_redacted":true`, when)
						require.Contains(t, string(text), `"redaction_reason":"hipaa"`, when)
						require.NotContains(t, string(text), `"transcript"`, when)
						require.NotContains(t, string(text), `"summary"`, when)
					}
				}
				look("before the analysis")
				w.conclude(t, c.ID)
				look("after the analysis")
				// The recording that the test put there, as one of the time before the flag, goes with the next run.
				eraser := &call.Eraser{DB: db, Recordings: h.recordings, Others: []func(context.Context, *store.Tx, []uuid.UUID) error{analysis.Erase, webhook.Erase},
					Log: slog.New(slog.NewJSONHandler(&h.log, nil))}
				require.NoError(t, eraser.Work(t.Context(), nil))
				require.NoError(t, w.do(t, "recordings 0"))
				look("after all")
				require.NotContains(t, h.log.String(), "CANARY")
				require.Zero(t, stored(t, db, "CANARY"))
			})
		})
	}
}

// stored counts the turns, analyses, calls and deliveries that hold a text.
func stored(t *testing.T, db *store.DB, text string) (n int) {
	t.Helper()
	ctx := store.System(context.WithoutCancel(t.Context()))
	count := func(rows any, err error) {
		require.NoError(t, err)
		raw, err := json.Marshal(rows)
		require.NoError(t, err)
		n += bytes.Count(raw, []byte(text))
	}
	turns, err := db.Ent().Turn.Query().All(ctx)
	count(turns, err)
	analyses, err := db.Ent().CallAnalysis.Query().All(ctx)
	count(analyses, err)
	calls, err := db.Ent().Call.Query().All(ctx)
	count(calls, err)
	deliveries, err := db.Ent().Delivery.Query().All(ctx)
	count(deliveries, err)
	return n
}
