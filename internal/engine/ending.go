package engine

import (
	"cmp"
	"time"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/store"
)

// Reasons of ended_reason that the engine adds to those of the carrier and the conversation.
const (
	reasonShutdown  = "service_shutdown"
	reasonAgentGone = "agent_not_found"
	reasonInternal  = "internal_error"
)

// messages are the sentences for people where nobody further down wrote one.
var messages = map[string]string{
	carrier.ReasonBusy:          "The line was busy.",
	carrier.ReasonDeclined:      "The call was declined.",
	carrier.ReasonNoAnswer:      "Nobody answered.",
	carrier.ReasonCanceled:      "The call was canceled before it was answered.",
	carrier.ReasonInvalidNumber: "The number does not exist or can not be reached.",
	carrier.ReasonTrunkRejected: "The telephone provider refused the call.",
	carrier.ReasonCodec:         "The other side offered no sound format that we understand.",
	carrier.ReasonCarrierError:  "The telephone network could not connect the call.",
	carrier.ReasonDraining:      "The service was being stopped.",
	carrier.ReasonWorkerLost:    "The service lost the call when one of its processes ended unexpectedly.",
	reasonShutdown:              "The service was stopped while the call was in progress.",
	reasonAgentGone:             "The agent of this call no longer exists.",
	reasonInternal:              "The call could not be carried out because of a fault on our side.",
}

// statuses of attempts that got no answer (CONTRACT.md §2, transitions); every other reason is failed.
var statuses = map[string]call.Status{
	carrier.ReasonBusy:     call.StatusBusy,
	carrier.ReasonDeclined: call.StatusBusy,
	carrier.ReasonNoAnswer: call.StatusNoAnswer,
	carrier.ReasonCanceled: call.StatusCanceled,
}

// unanswered is the end of a call that was never answered.
func unanswered(e *carrier.Ended) call.Outcome {
	o := call.Outcome{
		Status: cmp.Or(statuses[e.Reason], call.StatusFailed), Reason: e.Reason,
		Message: cmp.Or(e.Message, messages[e.Reason]), EndedAt: store.Now(),
	}
	if e.RetryAfter > 0 {
		at := o.EndedAt.Add(e.RetryAfter)
		o.RetryAfter = &at
	}
	return o
}

// failed is the end of a call for a reason of ours.
func failed(reason string) call.Outcome {
	return call.Outcome{Status: call.StatusFailed, Reason: reason, Message: messages[reason], EndedAt: store.Now()}
}

// answered is the end of a call that was answered. A call that we or a provider broke off is failed; any other is
// completed, whoever hung up.
func answered(r conversation.Result) call.Outcome {
	o := call.Outcome{
		Status: call.StatusCompleted, Reason: r.Reason, Message: cmp.Or(r.Message, messages[r.Reason]),
		AnsweredBy: r.AnsweredBy, AnsweredByReason: r.Verdict, RecordingConsent: r.Consent, EndedAt: store.Now(),
	}
	if r.Class == carrier.ClassServer || r.Class == carrier.ClassUpstream {
		o.Status = call.StatusFailed
	}
	seconds := int(r.Duration.Round(time.Second) / time.Second)
	o.Duration = &seconds
	o.Latency = latency(r.Latency)
	return o
}

// latency is what the record keeps of the conversation's measurements; nil when nothing could be measured.
func latency(l conversation.Latency) *call.Latency {
	var kept call.Latency
	if l.Greeting > 0 {
		kept.GreetingMS = milliseconds(l.Greeting)
	}
	if len(l.Turns) > 0 {
		kept.TurnP50MS, kept.TurnMaxMS = milliseconds(l.TurnP50), milliseconds(l.TurnMax)
	}
	if kept == (call.Latency{}) {
		return nil
	}
	return &kept
}

// timing is what the record keeps of how a turn came about. What is 0 did not happen, but for parts that can be ready
// before they are asked for.
func timing(d *conversation.Timing) *call.TurnTiming {
	if d == nil {
		return nil
	}
	some := func(d time.Duration) *int {
		if d <= 0 {
			return nil
		}
		return milliseconds(d)
	}
	kept := &call.TurnTiming{
		EndpointMS: some(d.Endpoint), FirstTokenMS: some(d.FirstToken), FirstSentenceMS: some(d.FirstSentence),
		FirstSoundMS: some(d.FirstSound), PlayoutMS: milliseconds(d.Playout), VoiceToVoiceMS: some(d.VoiceToVoice),
	}
	if d.Endpoint > 0 {
		kept.TranscriptionMS = milliseconds(d.Transcription)
	}
	return kept
}

func milliseconds(d time.Duration) *int {
	ms := int(d.Round(time.Millisecond) / time.Millisecond)
	return &ms
}
