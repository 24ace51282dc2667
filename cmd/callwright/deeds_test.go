package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/agentbuilder"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// do is what happens to calls without a request: deeds of the engine, by its own doors into the rules, and of operators.
func (w *tenant) do(t *testing.T, text string) error {
	args := strings.Fields(text)
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	n, _ := strconv.Atoi(args[len(args)-1])
	switch args[0] {
	case "wait":
		return w.untilTheClockMoves(t)
	case "plan":
		if _, text, ok := strings.Cut(text, " {"); ok {
			plan, err := identity.ParsePlan([]byte("{" + text))
			require.NoError(t, err)
			return w.house.identity.SetPlan(t.Context(), w.id, plan)
		}
		plan := identity.Plan{ConcurrentCalls: n, MaxCallMinutes: 60}
		if arg(1) == "limit" {
			plan = identity.Plan{Limited: true, ConcurrentCalls: 10, MaxCallMinutes: 60,
				Windows: []identity.Window{{Key: arg(2), Limit: n}}}
		}
		return w.house.identity.SetPlan(t.Context(), w.id, plan)
	case "hipaa":
		return w.house.db.Ent().Workspace.UpdateOneID(w.id).SetHipaa(true).Exec(store.System(t.Context()))
	case "approve", "deny":
		return w.decide(t, arg(1), args[0] == "approve")
	case "use":
		_, err := w.house.identity.Authenticate(t.Context(), arg(1))
		return err
	case "place":
		return w.place(t, n)
	case "dial":
		return w.dial(t, uuid.MustParse(arg(1)))
	case "answer":
		if arg(2) == "unless" && arg(3) != "completed" {
			return nil
		}
		return call.Answered(store.System(t.Context()), w.house.db, uuid.MustParse(arg(1)), store.Now())
	case "finish":
		return w.finish(t, uuid.MustParse(arg(1)), call.Outcome{Status: call.Status(arg(2))})
	case "talk":
		size := 1600
		if arg(3) == "recording" {
			size = n
		}
		seconds, _ := strconv.Atoi(arg(2))
		return w.talk(t, uuid.MustParse(arg(1)), seconds, size, []string{"Hello, this is Callwright.", "look_up()", "Hi!"})
	case "build":
		return w.build(t, uuid.MustParse(arg(1)))
	case "builds": // so many jobs are started
		for range n {
			_, err := agentbuilder.Builds{DB: w.house.db}.Create(w.ctx(t), agentbuilder.Request{Instructions: "x"})
			require.NoError(t, err)
		}
		return nil
	case "recordings": // of this workspace are so many
		files, err := filepath.Glob(filepath.Join(w.house.sounds, w.id.String(), "*"))
		require.NoError(t, err)
		require.Len(t, files, n)
		return nil
	case "ring":
		_, _, err := call.Receive(store.System(t.Context()), w.house.db, "case", time.Minute, call.Inbound{To: arg(1), From: arg(2)})
		return err
	}
	return fmt.Errorf("nobody knows how to %q", text)
}

// untilTheClockMoves waits for the next millisecond, the precision that callers see.
func (w *tenant) untilTheClockMoves(*testing.T) error {
	for now := time.Now().Truncate(time.Millisecond); time.Now().Truncate(time.Millisecond).Equal(now); {
	}
	return nil
}

// place places calls to +15551230001 and so on, one after the other.
func (w *tenant) place(t *testing.T, n int) error {
	a, err := agent.Create(w.ctx(t), w.house.db, agent.Settings{Name: ptr("A")})
	require.NoError(t, err)
	for i := range n {
		if i > 0 {
			_ = w.untilTheClockMoves(t)
		}
		_, err := call.Place(w.ctx(t), w.house.db, call.Request{
			To: fmt.Sprintf("+1555123%04d", i+1), AgentID: a.ID,
			Metadata: json.RawMessage(fmt.Sprintf(`{"n":%d,"odd":%t,"deep":{"k":"v"}}`, i+1, i%2 == 0)),
		})
		require.NoError(t, err)
	}
	return nil
}

// dial claims the workspace's oldest queued call, which must be the one that is meant.
func (w *tenant) dial(t *testing.T, id uuid.UUID) error {
	c, err := call.Claim(store.System(t.Context()), w.house.db, w.id, "case", time.Minute)
	require.NoError(t, err)
	require.NotNil(t, c, "no call to dial")
	require.Equal(t, id, c.ID, "another call is older")
	return nil
}

func (w *tenant) finish(t *testing.T, id uuid.UUID, o call.Outcome) error {
	o.EndedAt = store.Now()
	if o.Reason == "" {
		o.Reason, o.Message = "provider_error", "It ended."
	}
	return call.Finish(store.System(t.Context()), w.house.db, id, o)
}

// talk is a whole call: dialed, answered, some words, ended with a recording of that many bytes of sound.
func (w *tenant) talk(t *testing.T, id uuid.UUID, seconds, sound int, words []string) error {
	ctx := store.System(t.Context())
	require.NoError(t, w.dial(t, id))
	require.NoError(t, call.Answered(ctx, w.house.db, id, store.Now()))
	require.NoError(t, call.AddTurns(ctx, w.house.db, w.id, id, []call.Turn{
		{Seq: 0, Role: call.RoleAgent, Content: words[0], Start: 0, End: 1500 * time.Millisecond, Timing: &call.TurnTiming{FirstTokenMS: ptr(180), VoiceToVoiceMS: ptr(540)}},
		{Seq: 1, Role: call.RoleFunctionCall, Content: words[1], Start: 1600 * time.Millisecond, End: 1600 * time.Millisecond},
		{Seq: 2, Role: call.RoleUser, Content: words[2], Start: 2 * time.Second, End: 2600 * time.Millisecond},
	}))
	c, err := call.Get(ctx, w.house.db.Ent(), id)
	require.NoError(t, err)
	wav := append([]byte("RIFF"), make([]byte, 40+sound)...)
	require.NoError(t, w.house.recordings.Put(ctx, call.RecordingKey(c), bytes.NewReader(wav)))
	return w.finish(t, id, call.Outcome{
		Status: call.StatusCompleted, Reason: "agent_hangup", Message: "The agent ended the call.", AnsweredBy: "human",
		AnsweredByReason: "a short answer", RecordingConsent: "given",
		Duration: &seconds, Latency: &call.Latency{GreetingMS: ptr(120), TurnP50MS: ptr(300), TurnMaxMS: ptr(450)},
		Recording: &call.Recorded{Key: call.RecordingKey(c), Size: int64(len(wav))},
	})
}

func ptr[T any](v T) *T { return &v }
