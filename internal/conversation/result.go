package conversation

import (
	"time"

	"github.com/callwright/callwright/internal/carrier"
)

// Role says whose turn it was; the values of transcript_object.
type Role string

// The roles.
const (
	RoleAgent          Role = "agent"
	RoleUser           Role = "user"
	RoleFunctionCall   Role = "function_call"
	RoleFunctionResult Role = "function_result"
)

// Turn is something said or done. Times count from the answer.
type Turn struct {
	// Seq counts from 0 without gaps, in the order of Start as far as talk did not overlap.
	Seq        int
	Role       Role
	Content    string
	Start, End time.Duration
	// Interrupted turns hold only what was heard.
	Interrupted bool
	// Timing of an agent's turn; nil for others.
	Timing *Timing
}

// Timing is how long the parts of an agent's turn took, one after the other. What did not happen is 0: a greeting
// answers nothing, and a line that is spoken as it is needs no model.
type Timing struct {
	// Endpoint is from the end of the caller's voice to the decision that the caller has finished, in media time.
	Endpoint time.Duration
	// Transcription is from that decision to the final text; 0 when the text was there already.
	Transcription time.Duration
	// FirstToken is from the question to the model until it began to answer, FirstSentence from there until there was
	// something to speak, FirstSound from there until there was sound of it.
	FirstToken, FirstSentence, FirstSound time.Duration
	// Playout is from the first sound until it was on the line, in media time.
	Playout time.Duration
	// VoiceToVoice is from the end of the caller's voice to the agent's first sound on the line, in media time.
	VoiceToVoice time.Duration
}

// Who answered.
const (
	AnsweredByHuman     = "human"
	AnsweredByVoicemail = "voicemail"
	AnsweredByIVR       = "ivr"
)

// Reasons that a conversation ends a call with, besides those of package carrier. The set is CONTRACT.md §2's
// ended_reason.
const (
	ReasonSilence     = "silence_timeout"
	ReasonMaxDuration = "max_duration"
	ReasonVoicemail   = "voicemail"
	ReasonProvider    = "provider_error"
)

// Hooks are what a conversation needs from whoever runs it. The zero value is fine.
type Hooks struct {
	// Turn is called for each finished turn, one at a time and in order, by a goroutine of its own: it may take its time
	// (write to a database) without touching the sound. Run returns after the last one.
	Turn func(Turn)
	// Consented is called when the other side agreed to a recording (Script.Consent), by the conversation's own goroutine:
	// it must not block. What it begins to record is recorded with consent.
	Consented func()
	// Fallback speaks the apology when the speech provider can not even do that. Defaults to the placeholder of
	// audio/voice.
	Fallback Voice
}

// Result is what became of a conversation.
type Result struct {
	Turns []Turn
	// AnsweredBy is human, voicemail or ivr; empty when nobody made a sound. Inbound calls come from humans.
	AnsweredBy string
	// Verdict says what AnsweredBy was concluded from.
	Verdict string
	// Consent is given or refused when Script.Consent had it asked for; nobody's answer is a refusal. Empty when nobody was
	// asked.
	Consent string
	// Reason is CONTRACT.md §2's ended_reason, Message a sentence for people, Class on whose account it ended.
	Reason  string
	Message string
	Class   carrier.Class
	// Duration is media time from the answer to the end.
	Duration time.Duration
	// Missed is how much of the other side's sound was lost because the conversation was late to take it; on a line that
	// waits (carrier.Info.Elastic) always 0. Sound waits for nobody: this is what an overloaded machine shows first.
	Missed  time.Duration
	Latency Latency
}

// Latency is how fast the agent was, in media time.
type Latency struct {
	// Greeting is from the answer to the first sound of the agent; 0 when there was none.
	Greeting time.Duration
	// Turns are the voice-to-voice times: from the last voiced frame of the caller to the first frame of the answer.
	Turns []time.Duration
	// TurnP50 and TurnMax sum Turns up.
	TurnP50, TurnMax time.Duration
}

// Stop as the cause of Run's context ([context.CancelCauseFunc]) says why it is to end. Without one the reason is
// "canceled".
type Stop struct {
	// Reason and Message become the Result's. Defaults to carrier.ReasonCanceled.
	Reason, Message string
	Class           carrier.Class
	// Say is a line for the other side before hanging up; it takes at most ten seconds.
	Say string
	// Sorry says instead, in the script's language, that the call has to end now.
	Sorry bool
}

func (s *Stop) Error() string { return "conversation stopped: " + s.Reason }
