package conversation

import (
	"time"

	"github.com/callwright/callwright/internal/carrier"
)

// Script is what the agent is to do in one call: plain values of the agent's settings, all variables already rendered.
// The zero value is a conversation with every default.
type Script struct {
	// CallID goes to speech providers as a trace id.
	CallID string
	// Direction is set by Run.
	Direction carrier.Direction

	// AgentName and Company are used in lines that nobody wrote.
	AgentName, Company string
	// Prompt is what a model is given. Objective and Goals are what the built-in brain makes its lines of.
	Prompt    string
	Objective string
	Goals     []string
	// Language is BCP 47. Defaults to "en". Lines that nobody wrote are said in it (phrases.go).
	Language string
	// Languages are further ones that the other side may speak.
	Languages []string
	// Model is the language model's name where the agent wants another than the server's default.
	Model string
	// VoiceID names the voice in the speech provider's terms; the built-in voices take any text.
	VoiceID string
	// SpeakingRate is 0.5 to 2. Defaults to 1.
	SpeakingRate float64
	// ResponseLength is short, medium or long; Creativity 0 to 1, nil is the model's default; ReasoningEffort none, low,
	// medium or high. They are for models.
	ResponseLength  string
	Creativity      *float64
	ReasoningEffort string

	// Greeting is the agent's first line. Empty: the brain makes one.
	Greeting string
	// GreetingFixed keeps the greeting from being interrupted (the agent's greeting_interrupt = false).
	GreetingFixed bool
	// Patience is low, medium or high: how long a pause may be before the caller counts as done. Defaults to medium.
	Patience string

	// SilenceTimeout ends the call when the caller has said nothing for so long while the agent did not speak.
	// Defaults to 30 s; negative turns it off.
	SilenceTimeout time.Duration
	// IdleReminder is said after IdleAfter of the caller's silence, once for each silence. IdleAfter 0: no reminder.
	// Defaults to a question in Language.
	IdleReminder string
	IdleAfter    time.Duration
	// Limit is the agent's call_duration, PlanLimit the plan's max_call_minutes; 0 is none. The smaller one ends the
	// call, and Warning is said 30 s before. Warning defaults to a sentence in Language.
	Limit, PlanLimit time.Duration
	Warning          string

	// Voicemail is hang_up, leave_message or continue. Defaults to hang_up.
	Voicemail string
	// VoicemailMessage is left after the beep. Defaults to the greeting.
	VoicemailMessage string
	// ScreeningMessage answers a call-screening service. Defaults to who is calling and why.
	ScreeningMessage string
	// Apology is said before hanging up when speech fails. Defaults to a sentence in Language.
	Apology string
	// Consent is how the other side is asked whether the call may be recorded: stay_on_line, verbal, or empty for not at
	// all. ConsentPrompt is what is said; it defaults to a sentence in Language. See consent.go.
	Consent       string
	ConsentPrompt string
	// Background is sound under the agent's voice, played in a loop for the whole call, as loud as it is. nil is none.
	Background []int16
	// Transfers are the places that the agent may hand a call to, by name.
	Transfers map[string]string
	// ReplyTimeout is how late the first sound of a reply may be before the provider counts as failed. Defaults to 8 s,
	// and to 15 s for a model that is to think much (ReasoningEffort medium or high).
	ReplyTimeout time.Duration
}

// Values of Script.Voicemail.
const (
	VoicemailHangUp       = "hang_up"
	VoicemailLeaveMessage = "leave_message"
	VoicemailContinue     = "continue"
)

// Values of Script.Consent.
const (
	// ConsentStayOnLine tells of the recording; who stays on the line agrees.
	ConsentStayOnLine = "stay_on_line"
	// ConsentVerbal asks, and records only after a yes.
	ConsentVerbal = "verbal"
)

// withDefaults fills what was left empty.
func (s Script) withDefaults() Script {
	or := func(p *string, text string) {
		if *p == "" {
			*p = text
		}
	}
	or(&s.Language, "en")
	or(&s.Patience, "medium")
	or(&s.Voicemail, VoicemailHangUp)
	lines := phrasesIn(s.Language)
	or(&s.Warning, lines.warning)
	or(&s.Apology, lines.apology)
	or(&s.IdleReminder, lines.reminder)
	switch s.Consent {
	case ConsentStayOnLine:
		or(&s.ConsentPrompt, lines.notice)
	case ConsentVerbal:
		or(&s.ConsentPrompt, lines.question)
	}
	or(&s.ScreeningMessage, s.introduction())
	or(&s.VoicemailMessage, s.Greeting)
	or(&s.VoicemailMessage, s.introduction())
	if s.SpeakingRate <= 0 {
		s.SpeakingRate = 1
	}
	if s.SilenceTimeout == 0 {
		s.SilenceTimeout = 30 * time.Second
	}
	if s.ReplyTimeout <= 0 {
		s.ReplyTimeout = 8 * time.Second
		if s.ReasoningEffort == "medium" || s.ReasoningEffort == "high" {
			s.ReplyTimeout = 15 * time.Second
		}
	}
	return s
}

// introduction says who calls and why, for lines that nobody wrote.
func (s Script) introduction() string {
	lines := phrasesIn(s.Language)
	text := lines.hello
	if s.AgentName == "" {
		text += lines.assistant
	} else {
		text += s.AgentName
	}
	if s.Company != "" {
		text += lines.from + s.Company
	}
	if s.Objective != "" {
		text += lines.about + s.Objective
	}
	return endSentence(text)
}

// limit is the shorter of the two limits, 0 for none.
func (s Script) limit() time.Duration {
	if s.Limit > 0 && (s.PlanLimit <= 0 || s.Limit < s.PlanLimit) {
		return s.Limit
	}
	return max(s.PlanLimit, 0)
}
