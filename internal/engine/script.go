package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// What an agent does when its settings are silent.
const (
	defaultRing      = 30 * time.Second // outbound_ring_duration
	defaultIdleAfter = 10 * time.Second // idle_reminder_duration
	defaultNoise     = 0.3              // background_noise_level
)

// script is what the agent's settings, the workspace's plan and the call's variables make of a call.
type script struct {
	conversation.Script
	// ring is how long an outbound call may ring, answerAfter how long an inbound one does.
	ring, answerAfter time.Duration
	// record and keepTurns say what is kept.
	record, keepTurns bool
}

// script reads what the call needs. a is its agent, if that is known already. An agent that is gone is agent_not_found.
func (e *Engine) script(ctx context.Context, row *ent.Call, a *ent.Agent) (script, error) {
	ctx = store.WithWorkspace(ctx, row.WorkspaceID)
	c := e.DB.Ent()
	if a == nil && row.AgentID == nil {
		return script{}, fault.Missing("agent")
	}
	if a == nil {
		var err error
		if a, err = agent.Get(ctx, c, *row.AgentID); err != nil {
			return script{}, err
		}
	}
	settings, err := agent.SettingsOf(a)
	if err != nil {
		return script{}, err
	}
	redacted, err := call.Redaction(ctx, c, row)
	if err != nil {
		return script{}, err
	}
	plan, err := identity.PlanOf(ctx, c, row.WorkspaceID)
	if err != nil {
		return script{}, fmt.Errorf("read the plan: %w", err)
	}
	person, err := personOf(ctx, c, row)
	if err != nil {
		return script{}, err
	}
	s := scriptOf(settings, row.Variables, person)
	s.CallID = row.ID.String()
	if s.Transfers, err = e.Line.Transfers(ctx, c, row, settings.TransferNumbers); err != nil {
		return script{}, fmt.Errorf("ask the policy about transfers: %w", err)
	}
	s.PlanLimit = time.Duration(plan.MaxCallMinutes) * time.Minute
	if redacted != "" {
		s.record, s.Consent = false, "" // CONTRACT.md §2, HIPAA workspaces; what was said is kept for the analysis, which erases it
	}
	return s, nil
}

// person is what is known of the other side.
type person struct {
	row    *ent.Contact // nil for a stranger
	custom map[string]any
}

// personOf is the contact the call is for, else the newest one with the number (spec: Contact, custom_fields: "on every
// call with the contact").
func personOf(ctx context.Context, c *ent.Client, row *ent.Call) (p person, err error) {
	number := row.ToNumber
	if row.Direction == call.DirectionInbound {
		number = row.FromNumber
	}
	if p.row, err = contact.For(ctx, c, row.ContactID, number); err != nil || p.row == nil {
		return p, err
	}
	p.custom, err = contact.Values(p.row)
	return p, err
}

// facts are the contact's fields as the model is told them when the agent has contact_access.
func (p person) facts() string {
	if p.row == nil {
		return ""
	}
	var b strings.Builder
	add := func(name, value string) {
		if value = strings.Join(strings.Fields(value), " "); value != "" {
			b.WriteString("- " + name + ": " + value + "\n")
		}
	}
	add("First name", or(p.row.FirstName, ""))
	add("Last name", or(p.row.LastName, ""))
	add("Phone", p.row.Phone)
	add("Email", or(p.row.Email, ""))
	add("Notes", or(p.row.AdditionalNotes, ""))
	for _, key := range slices.Sorted(maps.Keys(p.custom)) {
		add(strings.ReplaceAll(key, "_", " "), agent.Render("{{custom."+key+"}}", nil, p.custom))
	}
	return "# What is known of the other person\n" + b.String()
}

// scriptOf is what the settings alone say, with the call's variables and the contact's values in all
// texts that are spoken or given to a model.
func scriptOf(a agent.Settings, vars map[string]string, other person) script {
	custom := other.custom
	text := func(p *string) string { return agent.Render(or(p, ""), vars, custom) }
	texts := func(list []string) []string {
		out := make([]string, len(list))
		for i, t := range list {
			out[i] = agent.Render(t, vars, custom)
		}
		return out
	}
	s := script{
		Script: conversation.Script{
			AgentName: or(a.Name, ""), Company: or(a.CompanyName, ""),
			Prompt: agent.Render(agent.CallPrompt(a), vars, custom), Objective: text(a.Objective), Goals: texts(a.Goals),
			Language: or(a.Language, ""), Languages: a.Languages, Model: or(a.Model, ""),
			VoiceID: or(a.VoiceID, ""), SpeakingRate: or(a.SpeakingRate, 1),
			ResponseLength: or(a.LenResp, ""), Creativity: a.Creativity, ReasoningEffort: or(a.ReasoningEffort, ""),
			Greeting: text(a.WelcomeMsg), GreetingFixed: !or(a.GreetingInterrupt, true),
			Patience:       or(a.PatienceLevel, ""),
			SilenceTimeout: seconds(a.SilenceTimeout),
			Limit:          time.Duration(or(a.CallDuration, 0)) * time.Minute,
			Voicemail:      or(a.VoicemailBehavior, ""), VoicemailMessage: text(a.VoicemailMessage),
			ScreeningMessage: text(a.CallScreeningMessage),
			Transfers:        a.TransferNumbers,
		},
		ring: defaultRing, answerAfter: seconds(a.RingDuration),
		record: or(a.EnableRecording, true), keepTurns: or(a.IsTranscriptEnabled, true),
	}
	if a.OutboundRingDuration != nil {
		s.ring = seconds(a.OutboundRingDuration)
	}
	if or(a.IdleReminder, false) {
		s.IdleReminder, s.IdleAfter = text(a.IdleReminderMessage), defaultIdleAfter
		if a.IdleReminderDuration != nil {
			s.IdleAfter = seconds(a.IdleReminderDuration)
		}
	}
	if or(a.ContactAccess, false) {
		s.Prompt += "\n\n" + other.facts()
	}
	if or(a.AddBackgroundNoise, false) {
		s.Background = audio.Noise(or(a.BackgroundNoiseType, ""), or(a.BackgroundNoiseLevel, defaultNoise))
	}
	if or(a.RetentionPeriod, 1) == 0 {
		s.record, s.keepTurns = false, false // CONTRACT.md §3: retention 0 keeps nothing
	}
	if s.record && or(a.RecordingConsent, false) {
		s.Consent, s.ConsentPrompt = or(a.ConsentType, conversation.ConsentStayOnLine), text(a.ConsentPrompt)
	}
	return s
}

func seconds(p *int) time.Duration { return time.Duration(or(p, 0)) * time.Second }

func or[T any](p *T, absent T) T {
	if p == nil {
		return absent
	}
	return *p
}
