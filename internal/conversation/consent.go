package conversation

import (
	"context"
	"time"
)

// Consent to a recording is asked for in place of the greeting, which comes after it, once a person is on the line.
// stay_on_line: who has heard the notice to its end and stays has agreed. verbal: only a clear yes is one; an unclear
// answer and silence are asked once more. Machines are not asked, so nothing of a voicemail is recorded. The recording
// begins with the consent, see Hooks.Consented: before it there is nothing to throw away.
const consentWait = 6 * time.Second // for an answer

// What Result.Consent says.
const (
	ConsentGiven   = "given"
	ConsentRefused = "refused"
)

// consent is how far the question has come.
type consent struct {
	asked   int
	since   time.Duration // of waiting for an answer; 0 when nobody waits
	settled bool
}

// askConsent asks in place of the greeting if that has to be done; heard and voice are the greeting's.
func (t *talk) askConsent(ctx context.Context, heard string, voice time.Duration) bool {
	if t.script.Consent == "" || t.consent.settled {
		return false
	}
	t.consent.asked++
	t.ask(ctx, Reply{Say: t.script.ConsentPrompt, Heard: heard}, purpose{name: "consent", fixed: true, then: func() { t.consentAsked(ctx) }})
	t.mouth.turn.voice = voice
	return true
}

// consentAsked is the prompt heard to its end.
func (t *talk) consentAsked(ctx context.Context) {
	if t.script.Consent == ConsentStayOnLine {
		t.settleConsent(true)
		t.greet(ctx, "", 0)
		return
	}
	t.consent.since = t.now
	if answer := t.mouth.owed; answer != "" { // said into the prompt
		t.mouth.owed = ""
		t.consentAnswered(ctx, answer, 0)
	}
}

// consentAnswered takes an utterance as the answer if one is awaited.
func (t *talk) consentAnswered(ctx context.Context, text string, voice time.Duration) bool {
	if t.consent.since == 0 {
		return false
	}
	t.consent.since = 0
	given, clear := phrasesIn(t.script.Language).consent(text)
	if !clear && t.consent.asked < 2 {
		return t.askConsent(ctx, text, voice)
	}
	t.settleConsent(given && clear)
	t.greet(ctx, text, voice)
	return true
}

// awaitConsent deals with silence after the question.
func (t *talk) awaitConsent(ctx context.Context) {
	if t.consent.since == 0 || t.mouth.turn != nil || t.ear.current != nil || t.ear.waiting != nil ||
		t.now-max(t.consent.since, t.lastCaller) < consentWait {
		return
	}
	t.consentAnswered(ctx, "", 0)
}

func (t *talk) settleConsent(given bool) {
	t.consent.settled = true
	t.result.Consent = ConsentRefused
	if given {
		t.result.Consent = ConsentGiven
		if t.hooks.Consented != nil {
			t.hooks.Consented()
		}
	}
}
