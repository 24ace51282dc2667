package call_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestAPlacedCallIsQueuedWithWhatWasSent(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		contact := store.NewID()
		c := r.place(call.Request{
			To: "+4401632960961", Variables: map[string]string{"Name": "Ada"}, ContactID: &contact,
			Metadata: json.RawMessage(`{"b": 1.50, "a": "<ü>", "n": null}`),
		})
		got := r.get(c.ID)
		require.Equal(t, "queued", got.Status)
		require.Equal(t, "outbound", got.Direction)
		require.Equal(t, "+441632960961", got.ToNumber, "canonical")
		require.Equal(t, call.SandboxNumber, got.FromNumber)
		require.Equal(t, r.workspace, got.WorkspaceID)
		require.Equal(t, r.agent, *got.AgentID)
		require.Equal(t, contact, *got.ContactID)
		require.Equal(t, map[string]string{"Name": "Ada"}, got.Variables)
		require.Equal(t, `{"b": 1.50, "a": "<ü>", "n": null}`, got.Metadata, "the text that was sent")
		require.Nil(t, got.Duration)
		require.False(t, got.InFlight)
		require.Equal(t, got.CreatedAt.Truncate(time.Millisecond), got.CreatedAt)
		require.EqualValues(t, 1, r.total())

		bare := r.get(r.place(call.Request{Variables: map[string]string{}, Test: true}).ID)
		require.Equal(t, "{}", bare.Metadata)
		require.Empty(t, bare.Variables, "none were supplied")
		require.True(t, bare.Test)
		require.EqualValues(t, 2, r.total())
	})
}

func TestACallLeavesByTheAgentsOutboundNumber(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		require.Equal(t, "+12125550100", r.place(call.Request{Line: call.Line{From: "+12125550100"}}).FromNumber, "the trunk's number")
		require.Equal(t, call.SandboxNumber, r.place(call.Request{Line: call.Line{From: "+12125550100"}, Test: true}).FromNumber, "tests are on the sandbox")
		_, err := agent.CreateNumber(r.ctx, db, agent.Number{Number: ptr("+14155550142"), AgentID: &r.agent, Outbound: ptr(false)})
		require.NoError(t, err)
		require.Equal(t, call.SandboxNumber, r.place(call.Request{}).FromNumber)
		_, err = agent.CreateNumber(r.ctx, db, agent.Number{Number: ptr("+14155550143"), AgentID: &r.agent})
		require.NoError(t, err)
		require.Equal(t, "+14155550143", r.place(call.Request{Line: call.Line{From: "+12125550100"}}).FromNumber)
	})
}

func TestWhatCanNotBeCalledIsRefusedAndLeavesNothing(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		other := newRig(t, db)
		draft := r.newAgent(agent.Settings{Status: ptr("draft")}).ID
		inactive := r.newAgent(agent.Settings{Status: ptr("inactive")}).ID
		chat := r.newAgent(agent.Settings{Modality: ptr("chat")}).ID
		for name, c := range map[string]struct {
			q    call.Request
			code string
			says string
		}{
			"no plus":                     {call.Request{To: "15551234567"}, "validation_failed", "to must be"},
			"formatting":                  {call.Request{To: "+1 (555) 123-4567"}, "validation_failed", "E.164"},
			"not possible":                {call.Request{To: "+1234567890"}, "validation_failed", "to is not a possible"},
			"unknown agent":               {call.Request{AgentID: store.NewID()}, "agent_not_found", "no such agent"},
			"another workspace's agent":   {call.Request{AgentID: other.agent}, "agent_not_found", "no such agent"},
			"a draft":                     {call.Request{AgentID: draft}, "agent_inactive", "draft"},
			"an inactive agent":           {call.Request{AgentID: inactive}, "agent_inactive", "inactive"},
			"an agent that does not talk": {call.Request{AgentID: chat, Test: true}, "validation_failed", "agent_id"},
			"variables":                   {call.Request{Variables: map[string]string{"1": ""}}, "invalid_variables", `"1"`},
			"metadata":                    {call.Request{Metadata: json.RawMessage(`[]`)}, "validation_failed", "metadata"},
		} {
			_, err := r.try(c.q)
			require.Contains(t, requireCode(t, err, c.code).Message, c.says, name)
		}
		require.Zero(t, r.total())
		require.NotEqual(t, uuid.Nil, r.place(call.Request{AgentID: draft, Test: true}).ID, "a draft can be tried out")
		require.EqualValues(t, 1, r.total())

		_, err := call.Place(t.Context(), db, call.Request{To: to, AgentID: r.agent})
		require.ErrorIs(t, err, store.ErrNoWorkspace)
	})
}

func TestMetadataIsAnObjectThatBothDatabasesCanLookInto(t *testing.T) {
	exactly := func(n int) string { return `{"k":"` + strings.Repeat("x", n-8) + `"}` }
	deep := func(n int) string { return strings.Repeat(`{"k":`, n) + "1" + strings.Repeat("}", n) }
	ok := []string{
		`{}`, ` { "a" : [1, 2.50, -0, 1e-3, true, null, {"b": {}}] } `, `{"a":"\u00fc\ud83d\ude00\\u0000"}`, `{"":""}`,
		`{"a":0e5,"b":0.000,"c":-0.0,"d":1.7976931348623157e308,"e":5e-324,"f":123456789012345678901234567890}`,
		`{"a":{"x":1},"b":{"x":2}}`, `{"a":"\\ud800"}`, exactly(4096), deep(100),
	}
	bad := map[string]string{
		`[]`: "object", `null`: "object", `"a"`: "object", `1`: "object", `{`: "object", `{"a"}`: "object", `{"a":1} {}`: "one",
		`{"a":1}x`: "one", `{"a":1,}`: "object", `{'a':1}`: "object", "{\"a\":\"\xff\"}": "UTF-8",
		`{"a":"\u0000"}`: "NUL", `{"\u0000":1}`: "NUL", `{"a":"\ud800"}`: "surrogate", `{"\udc00":1}`: "surrogate",
		`{"a":"\ud800\u0041"}`: "surrogate", `{"a":"\ud83d\\ude00"}`: "surrogate",
		`{"a":1e400}`: "range", `{"a":1e-400}`: "range", `{"a":0e99999}`: "range",
		`{"a":1,"b":{"x":1,"x":2}}`: "twice", `{"a":1,"\u0061":2}`: "twice",
		exactly(4097): "4096", deep(101): "deep",
	}
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		for _, text := range ok {
			c := r.place(call.Request{Metadata: json.RawMessage(text)})
			require.Equal(t, text, r.get(c.ID).Metadata)
		}
		for text, says := range bad {
			_, err := r.try(call.Request{Metadata: json.RawMessage(text)})
			f := requireCode(t, err, "validation_failed")
			require.Contains(t, f.Message, "metadata", text)
			require.Contains(t, f.Message, says, text)
		}
		// what was taken can be searched, every row of it
		p, err := call.List(r.ctx, db.Ent(), call.Query{Where: `{"metadata":{"path":["a"],"equals":5}}`, Take: ptr(200)})
		require.NoError(t, err)
		require.Empty(t, p.Calls)
		p, err = call.List(r.ctx, db.Ent(), call.Query{Where: `{"metadata":{"path":["a","b"],"equals":"x"}}`})
		require.NoError(t, err)
		require.Empty(t, p.Calls)
	})
}

func TestACallIsHandedOnlyWhereItMightHaveCalled(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		_, _, err := policy.Forbid(r.ctx, db, "+12125550177", nil)
		require.NoError(t, err)
		numbers := map[string]string{
			"desk": "+12125550155", "premium": "+19002345678", "abroad": "+442079460000", "no": "+12125550177",
		}
		names := func(l call.Line, test bool) []string {
			row := r.place(call.Request{Test: test})
			got, err := l.Transfers(r.ctx, db.Ent(), row, numbers)
			require.NoError(t, err)
			return slices.Sorted(maps.Keys(got))
		}
		trunk := call.Line{Real: true, Numbers: []string{"+12125550100"}}
		require.Equal(t, []string{"desk"}, names(trunk, false))
		require.Equal(t, []string{"abroad", "desk", "premium"}, names(trunk, true), "tests are on the sandbox")
		require.Equal(t, []string{"abroad", "desk", "premium"}, names(call.Line{}, false), "the list binds everywhere")
	})
}
