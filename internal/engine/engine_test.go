package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// fast is a speed at which a conversation of half a minute takes a second, with room for a busy machine.
const fast = 25

// CONTRACT.md §4, sandbox numbers.
func TestEachSandboxNumberEndsAsItShould(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, number       string
		status             call.Status
		reason, answeredBy string
		agentSpeaks        bool
		callerSpeaks       bool
	}{
		{"nobody answers", "+15005550001", call.StatusNoAnswer, "no_answer", "", false, false},
		{"busy", "+15005550002", call.StatusBusy, "busy", "", false, false},
		{"a voicemail", "+15005550003", call.StatusCompleted, "voicemail", "voicemail", false, true},
		{"an IVR", "+15005550004", call.StatusCompleted, "", "ivr", true, true},
		{"a failure", "+15005550005", call.StatusFailed, "carrier_error", "", false, false},
		{"a person", "+15005550006", call.StatusCompleted, "", "human", true, true},
		{"declined", "+15005550007", call.StatusBusy, "declined", "", false, false},
		{"call screening", "+15005550008", call.StatusCompleted, "", "", true, true},
		{"a person who hangs up in mid-sentence", "+15005550009", call.StatusCompleted, "customer_hangup", "human", true, true},
		{"any other number", "+15551234567", call.StatusCompleted, "", "human", true, true},
	}
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{WelcomeMsg: ptr("Hello {{var.name}}, this is Nora.")})
		r.run(r.config(fast))
		ids := make([]uuid.UUID, len(cases))
		for i, c := range cases {
			ids[i] = r.request(call.Request{To: c.number, Variables: map[string]string{"name": "Ada"}}).ID
		}
		for i, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				r := *r
				r.t = t
				got := r.ended(ids[i])
				require.Equal(t, string(c.status), got.Status, "%v", got)
				require.NotEmpty(t, *got.EndedReason)
				require.NotEmpty(t, *got.EndedMessage)
				if c.reason != "" {
					require.Equal(t, c.reason, *got.EndedReason)
				}
				if c.answeredBy != "" {
					require.Equal(t, c.answeredBy, *got.AnsweredBy)
				}
				require.False(t, got.InFlight)
				require.NotNil(t, got.EndedAt)
				require.NotNil(t, got.DialedAt)
				if c.status != call.StatusCompleted {
					require.Nil(t, got.AnsweredAt)
					require.Nil(t, got.Duration)
					require.Nil(t, got.AnsweredBy)
					require.Nil(t, got.RecordingSize)
					require.Empty(t, r.turns(got.ID))
					return
				}
				requireTalk(t, &r, got, c.agentSpeaks, c.callerSpeaks)
			})
		}
		r.requireNothingSpooled()
		numbers := r.dialed()
		slices.Sort(numbers)
		require.Len(t, slices.Compact(numbers), len(cases), "each number is dialed once")
	})
}

// requireTalk looks at what is kept of a call that was answered.
func requireTalk(t *testing.T, r *rig, got *ent.Call, agentSpeaks, callerSpeaks bool) {
	t.Helper()
	require.NotNil(t, got.AnsweredAt)
	require.NotNil(t, got.Duration)
	turns := r.turns(got.ID)
	spoke := map[string]int{}
	for i, turn := range turns {
		require.Equal(t, i, turn.Seq)
		require.LessOrEqual(t, turn.StartMs, turn.EndMs)
		require.LessOrEqual(t, turn.EndMs, (*got.Duration+1)*1000)
		spoke[turn.Role]++
	}
	wav := r.wav(got)
	require.InDelta(t, *got.Duration, float64(len(wav.Channels[0]))/audio.Rate, 1, "the recording is as long as the call")
	for channel, speaks := range []bool{agentSpeaks, callerSpeaks} {
		if speaks {
			require.Greater(t, audio.Power(wav.Channels[channel]), 1000.0, "channel %d has sound", channel)
			require.NotZero(t, spoke[[]string{"agent", "user"}[channel]], turns)
		}
	}
	if agentSpeaks {
		require.Contains(t, string(got.Latency), "greeting_ms")
	}
}

func TestTheGreetingIsRenderedWithTheVariablesOfTheCall(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{WelcomeMsg: ptr("Good day {{var.name}}, about {{var.nothing}}order {{ var.ORDER }}.")})
		r.run(r.config(fast))
		id := r.request(call.Request{To: "+15005550006", Variables: map[string]string{"name": "Ada {{var.order}}", "order": "17"}}).ID
		r.ended(id)
		said := ""
		for _, turn := range r.turns(id) {
			if turn.Role == "agent" {
				said = turn.Content
				break
			}
		}
		require.Contains(t, strings.Join(strings.Fields(said), " "), "Good day Ada {{var.order}}, about order 17.")
	})
}

func TestWhatIsNotToBeKeptIsNotKept(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		settings     agent.Settings
		turns, sound bool
	}{
		"recording turned off":  {agent.Settings{EnableRecording: ptr(false)}, true, false},
		"transcript turned off": {agent.Settings{IsTranscriptEnabled: ptr(false)}, false, true},
		"kept for no day":       {agent.Settings{RetentionPeriod: ptr(0)}, false, false},
		"HIPAA agent":           {agent.Settings{IsHIPAACompliant: ptr(true)}, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, db *store.DB) {
				r := newRig(t, db, 20, c.settings)
				r.run(r.config(fast))
				got := r.ended(r.place("+15005550009"))
				require.Equal(t, string(call.StatusCompleted), got.Status)
				require.Equal(t, c.turns, len(r.turns(got.ID)) > 0)
				require.Equal(t, c.sound, got.RecordingSize != nil)
				r.requireNothingSpooled()
			})
		})
	}
}

func TestACallEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	silent := map[string]sandbox.Callee{"+15551234567": {Steps: []sandbox.Step{{Wait: time.Hour, Say: "Hello?"}}}}
	cases := map[string]struct {
		agent   agent.Settings
		minutes float64
	}{
		"the agent's call_duration":     {agent.Settings{CallDuration: ptr(1), SilenceTimeout: ptr(600)}, 1},
		"the plan's max_call_minutes":   {agent.Settings{CallDuration: ptr(240), SilenceTimeout: ptr(600)}, 3},
		"the agent's alone says enough": {agent.Settings{SilenceTimeout: ptr(600)}, 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, db *store.DB) {
				r := newRig(t, db, 20, c.agent)
				require.NoError(t, identity.New(identity.Config{DB: db}).SetPlan(t.Context(), r.workspace,
					identity.Plan{ConcurrentCalls: 5, MaxCallMinutes: 3}))
				config := r.config(200)
				config.Carrier = sandbox.New(sandbox.Config{Speed: 200, DialLog: r.dials, Callees: silent})
				r.run(config)
				got := r.ended(r.place("+15551234567"))
				require.Equal(t, string(call.StatusCompleted), got.Status)
				require.Equal(t, "max_duration", *got.EndedReason)
				require.InDelta(t, c.minutes*60, *got.Duration, 2)
			})
		})
	}
}

func TestACallWhoseAgentIsGoneFailsAndRingsNobody(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{})
		id := r.place("+15005550006")
		require.NoError(t, agent.Delete(r.ctx, db, r.agent))
		r.run(r.config(fast))
		got := r.ended(id)
		require.Equal(t, string(call.StatusFailed), got.Status)
		require.Equal(t, "agent_not_found", *got.EndedReason)
		require.Empty(t, r.dialed())
	})
}

func TestNoMoreCallsAtOnceThanThePlanAllows(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		const limit, calls = 5, 50
		r := newRig(t, db, limit, agent.Settings{})
		ids := make([]uuid.UUID, calls)
		for i := range ids {
			ids[i] = r.place("+15005550009")
		}
		r.run(r.config(fast)) // two processes want them
		r.run(r.config(fast))
		type change struct {
			at time.Time
			by int
		}
		var changes []change
		for _, id := range ids {
			got := r.ended(id)
			require.Equal(t, string(call.StatusCompleted), got.Status)
			changes = append(changes, change{*got.DialedAt, 1}, change{*got.EndedAt, -1})
		}
		slices.SortFunc(changes, func(a, b change) int {
			if c := a.at.Compare(b.at); c != 0 {
				return c
			}
			return a.by - b.by
		})
		now, most := 0, 0
		for _, c := range changes {
			now += c.by
			most = max(most, now)
		}
		require.LessOrEqual(t, most, limit)
		require.Greater(t, most, 1, "calls run beside each other")
		require.Len(t, r.dialed(), calls, "each is dialed once")
	})
}

func TestAProcessTakesNoMoreCallsThanItHasRoomFor(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{})
		c := r.config(fast)
		c.MaxCalls = 1
		r.run(c)
		first, second := r.place("+15005550009"), r.place("+15005550009")
		a, b := r.ended(first), r.ended(second)
		if a.DialedAt.After(*b.DialedAt) {
			a, b = b, a
		}
		require.False(t, b.DialedAt.Before(*a.EndedAt), "the second is dialed after the first has ended")
	})
}

// A process with one place serves two workspaces in turn, although one of them came first and has many calls.
func TestWorkspacesShareAProcessThatIsShortOfRoom(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		many, few := newRig(t, db, 20, agent.Settings{}), newRig(t, db, 20, agent.Settings{})
		var first, second []uuid.UUID
		for range 12 {
			first = append(first, many.place("+15005550009"))
		}
		for range 3 {
			second = append(second, few.place("+15005550009"))
		}
		c := many.config(fast)
		c.MaxCalls = 1
		many.run(c)
		var before int
		last := few.ended(second[2])
		for _, id := range first {
			if many.ended(id).DialedAt.Before(*last.DialedAt) {
				before++
			}
		}
		require.LessOrEqual(t, before, 7, "three of the one have their turn while a handful of the other have theirs")
	})
}
