package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/engine"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// overheard keeps the scripts that conversations are held by.
type overheard struct {
	conversation.Speech
	mu      sync.Mutex
	scripts []conversation.Script
}

func (o *overheard) Open(ctx context.Context, s conversation.Script) (conversation.Dialogue, error) {
	o.mu.Lock()
	o.scripts = append(o.scripts, s)
	o.mu.Unlock()
	return o.Speech.Open(ctx, s)
}

// answering is an engine whose callee says these things after the agent's.
func (r *rig) answering(lines ...string) (engine.Config, *overheard) {
	steps := []sandbox.Step{{Wait: 400 * time.Millisecond, Say: "Hello?"}}
	for _, l := range lines {
		steps = append(steps, sandbox.Step{Hear: 900 * time.Millisecond, Patience: 20 * time.Second, Say: l})
	}
	c := r.config(fast)
	c.Carrier = sandbox.New(sandbox.Config{Speed: fast, DialLog: r.dials, Callees: map[string]sandbox.Callee{
		"+15551234567": {Steps: append(steps, sandbox.Step{Wait: 3 * time.Second})},
	}})
	o := &overheard{Speech: c.Speech}
	c.Speech = o
	return c, o
}

func TestWithoutConsentThereIsNoRecording(t *testing.T) {
	t.Parallel()
	asks := func(kind string) agent.Settings {
		return agent.Settings{RecordingConsent: ptr(true), ConsentType: &kind, Language: ptr("en")}
	}
	for name, c := range map[string]struct {
		settings agent.Settings
		answer   string
		consent  string
		recorded bool
	}{
		"who stays agrees":                 {asks("stay_on_line"), "Go on please.", "given", true},
		"a yes":                            {asks("verbal"), "Yes, you may.", "given", true},
		"a no":                             {asks("verbal"), "No, please do not.", "refused", false},
		"nothing is asked when not wanted": {agent.Settings{RecordingConsent: ptr(false)}, "Go on please.", "", true},
		"nothing is asked when nothing is recorded": {
			agent.Settings{RecordingConsent: ptr(true), EnableRecording: ptr(false)}, "Go on please.", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, db *store.DB) {
				r := newRig(t, db, 20, c.settings)
				config, _ := r.answering(c.answer, "Thank you, goodbye.")
				r.run(config)
				got := r.ended(r.place("+15551234567"))
				require.Equal(t, string(call.StatusCompleted), got.Status)
				if c.consent == "" {
					require.Nil(t, got.RecordingConsent)
				} else {
					require.Equal(t, c.consent, *got.RecordingConsent)
				}
				require.NotEmpty(t, *got.AnsweredByReason)
				require.Equal(t, c.recorded, got.RecordingSize != nil)
				r.requireNothingSpooled()
				if c.consent != "given" {
					return
				}
				wav := r.wav(got)
				require.InDelta(t, *got.Duration, float64(len(wav.Channels[0]))/audio.Rate, 1, "it is as long as the call")
				require.Zero(t, audio.Power(wav.Channels[0][:2*audio.Rate]), "and silent until there was consent")
				require.Greater(t, audio.Power(wav.Channels[0]), 1000.0)
			})
		})
	}
}

func TestSettingsReachTheConversation(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{
			Prompt: ptr("Be kind to {{custom.plan}} members."), ToneOfVoice: ptr("Casual"), LenResp: ptr("short"), Creativity: ptr(0.25),
			ReasoningEffort: ptr("low"), SpeakingRate: ptr(1.5), VoiceID: ptr("alloy"), Language: ptr("de"), Languages: []string{"en"},
			Model: ptr("big"), ContactAccess: ptr(true), AddBackgroundNoise: ptr(true), BackgroundNoiseType: ptr("cafe"),
			IdleReminder: ptr(true), TransferNumbers: map[string]string{"front desk": "+15551230001"},
		})
		_, err := contact.CreateField(r.ctx, db, contact.Field{Key: ptr("plan"), Label: ptr("Plan"), Type: ptr("text")})
		require.NoError(t, err)
		_, _, err = contact.Create(r.ctx, db, contact.Input{Phone: ptr("+15551234567"), FirstName: ptr("Maria"), CustomFields: []byte(`{"plan":"gold"}`)})
		require.NoError(t, err)
		config, heard := r.answering("Thank you, goodbye.")
		r.run(config)
		got := r.ended(r.place("+15551234567"))
		require.Equal(t, string(call.StatusCompleted), got.Status)
		s := heard.scripts[0]
		for _, part := range []string{"Be kind to gold members.", "Your tone is casual.", "one short sentence", "Speak the language of tag de", "- First name: Maria", "- plan: gold"} {
			require.Contains(t, s.Prompt, part)
		}
		require.Equal(t, []any{"de", []string{"en"}, "big", "alloy", 1.5, 0.25, "low"},
			[]any{s.Language, s.Languages, s.Model, s.VoiceID, s.SpeakingRate, *s.Creativity, s.ReasoningEffort})
		require.Equal(t, map[string]string{"front desk": "+15551230001"}, s.Transfers)
		require.Equal(t, "Sind Sie noch da?", s.IdleReminder)
		require.NotEmpty(t, s.Background)
		timed := 0
		for _, turn := range r.turns(got.ID) {
			if len(turn.Timing) > 0 {
				require.Equal(t, "agent", turn.Role)
				require.Contains(t, string(turn.Timing), "voice_to_voice_ms")
				timed++
			}
		}
		require.NotZero(t, timed)
		require.Greater(t, audio.Power(r.wav(got).Channels[0][:audio.Rate/4]), 100.0, "the background is there from the start")
	})
}

func TestAContactsFieldsAreTheAgentsBusinessOnlyWhenItMay(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{})
		_, _, err := contact.Create(r.ctx, db, contact.Input{Phone: ptr("+15551234567"), FirstName: ptr("Maria")})
		require.NoError(t, err)
		config, heard := r.answering("Thank you, goodbye.")
		r.run(config)
		r.ended(r.place("+15551234567"))
		require.False(t, strings.Contains(heard.scripts[0].Prompt, "Maria"))
	})
}
