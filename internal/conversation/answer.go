package conversation

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/callwright/callwright/internal/carrier"
)

// Who answered, on outbound calls, is judged while the greeting waits: by tones (a beep is a voicemail, a fax machine has
// its own), by the words of what is said first (words.go), by its length where no words are known, and by a model where
// the words say nothing and there are many of them (classify.go). A short answer is a person's, who is not kept waiting;
// that may still be revised by a tone or by the words of the first utterances.
const (
	answerSilence  = 2500 * time.Millisecond // of nobody saying anything: greet
	answerShort    = 2500 * time.Millisecond // what a person says first is mostly no longer
	answerBrief    = 1200 * time.Millisecond // "Hello?": a shorter pause ends it
	pauseOfBrief   = 450 * time.Millisecond
	pauseOfAnswer  = 700 * time.Millisecond
	answerText     = 200 * time.Millisecond  // how long a short answer's text is waited for
	answerTextLong = 1200 * time.Millisecond // and a longer one's, or one with a beep behind it
	answerLong     = 4 * time.Second         // without text, this is an announcement
	answerTalk     = 5500 * time.Millisecond // and this one with a text that asks nothing
	answerMost     = 20 * time.Second        // and this one in any case
	answerWords    = 9                       // or so many words leave doubt
	judgingTime    = 30 * time.Second
	judgedTurns    = 6 // of the other side, or two when it let the agent finish: machines go on
)

// ReasonFax ends a call that a fax machine or a modem answered, or made.
const ReasonFax = "fax"

// answer is what is known of who answered.
type answer struct {
	judging   bool // the verdict may change
	beeping   bool
	beepAt    time.Duration // end of the last beep; 0 for none
	beeped    time.Duration // a beep came when the words before it were not known yet; 0 for none
	promised  bool          // a tone was promised
	screening bool          // a screening service
	screened  bool          // was told who calls
	doubt     *utterance    // the model is asked about
	certain   bool          // it is sure of a person and is not asked again
	opinions  chan opinion
}

// begin is the answer of the call.
func (t *talk) begin(ctx context.Context) {
	t.answer.opinions = make(chan opinion, judgedTurns)
	if t.script.Direction == carrier.Inbound {
		t.result.AnsweredBy, t.result.Verdict = AnsweredByHuman, "inbound call"
		t.greet(ctx, "", 0)
		return
	}
	t.answer.judging = true
	t.result.Verdict = "nobody made a sound"
}

// greet says the greeting, which answers what was heard.
func (t *talk) greet(ctx context.Context, heard string, voice time.Duration) {
	t.phase = phaseTalk
	if t.askConsent(ctx, heard, voice) {
		return // it comes after it
	}
	t.ask(ctx, Reply{Say: t.script.Greeting, Heard: heard}, purpose{name: "greeting", fixed: t.script.GreetingFixed})
	t.mouth.turn.voice = voice
}

// listenForTones is done while a tone would mean something. A tone is no speech.
func (t *talk) listenForTones(f *carrier.Frame) {
	inbound := t.script.Direction == carrier.Inbound
	machine := t.phase == phaseMessage || t.result.AnsweredBy == AnsweredByVoicemail
	if inbound && t.now > judgingTime || !inbound && !t.answer.judging && !machine {
		return
	}
	tone := t.ear.tones.Push(&f.PCM)
	if tone.Fax || inbound && tone.CallingFax {
		t.result.AnsweredBy, t.result.Verdict = "", "the tone of a fax machine"
		t.hangUp(ReasonFax, "A fax machine is on the line.", carrier.ClassSuccess)
		return
	}
	t.answer.beeping = tone.Beep && !inbound
	if !tone.Beep && !tone.Answering {
		return
	}
	t.ear.muted = true
	if t.answer.beeping {
		t.answer.beepAt = f.At
	}
	if u := t.ear.current; u != nil {
		if u.done = true; wordless(u.text) && f.At-u.start < 500*time.Millisecond {
			t.ear.current = nil
		}
	}
}

// detectAnswer judges with every frame.
func (t *talk) detectAnswer(ctx context.Context) {
	a := &t.answer
	if !a.judging {
		return
	}
	unknown := t.ear.waiting != nil || t.ear.current != nil || a.doubt != nil // words that explain a beep
	switch {
	case a.beeping && unknown && a.beeped == 0:
		a.beeped = t.now
	case a.beeping && !unknown, a.beeped > 0 && a.doubt == nil && (!unknown || t.now-a.beeped >= answerTextLong):
		t.verdict(ctx, AnsweredByVoicemail, "a beep")
		return
	}
	if t.now > judgingTime && t.phase == phaseTalk {
		a.judging = false
		return
	}
	if t.phase != phaseAnswer || a.beeped > 0 || a.doubt != nil && t.ear.current == nil {
		return
	}
	switch current, waiting := t.ear.current, t.ear.waiting; {
	case current != nil:
		if who := classify(current.text, true); who != "" {
			t.verdict(ctx, who, "the words of what was said first")
		} else if t.now-current.start > answerMost {
			t.verdict(ctx, AnsweredByVoicemail, "a very long announcement")
		}
	case waiting != nil:
		switch late := t.now - waiting.asked; {
		case waiting.last-waiting.start <= answerShort && late >= answerText:
			t.human("a short answer")
			t.greet(ctx, "", waiting.last)
		case late >= answerTextLong:
			t.judgeByRules(ctx, waiting)
		}
	case t.now >= answerSilence && t.ear.next == 0, t.ear.next > 0 && t.now-t.lastCaller >= answerSilence:
		t.greet(ctx, "", 0)
	}
}

// pauseOfFirst is how long a silence ends what is said first: announcements have pauses between their sentences, and who
// says "Hello?" wants to hear something.
func pauseOfFirst(u *utterance) time.Duration {
	if u.last-u.start <= answerBrief {
		return pauseOfBrief
	}
	return pauseOfAnswer
}

// judgeByRules decides about what was said first when its words name no machine, or are not known.
func (t *talk) judgeByRules(ctx context.Context, u *utterance) {
	length := u.last - u.start
	if wordless(u.text) && length > answerLong || length > answerTalk && !strings.ContainsAny(u.text, "?？؟") {
		t.verdict(ctx, AnsweredByVoicemail, "a long announcement")
		t.answered(ctx, u)
		return
	}
	switch {
	case length <= answerShort:
		t.human("a short answer")
	case wordless(u.text):
		t.human("an answer of some seconds")
	default:
		t.human("the words of a person")
	}
	t.greet(ctx, u.text, u.last)
}

func (t *talk) human(why string) {
	t.result.AnsweredBy, t.result.Verdict = AnsweredByHuman, why
}

// verdict is the conclusion that a machine answered: voicemail, ivr or a screening service, which counts as ivr.
func (t *talk) verdict(ctx context.Context, who, why string) {
	t.answer.judging, t.answer.beeped, t.answer.doubt = false, 0, nil
	t.cutTurn()
	t.greeted = false
	t.phase = phaseTalk
	t.result.AnsweredBy, t.result.Verdict = who, why
	switch {
	case who == screening:
		t.result.AnsweredBy, t.result.Verdict = AnsweredByIVR, "call screening: "+why
		t.answer.screening = true
	case who == AnsweredByVoicemail && t.script.Voicemail == VoicemailHangUp:
		t.hangUp(ReasonVoicemail, "A voicemail answered.", carrier.ClassSuccess)
	case who == AnsweredByVoicemail && t.script.Voicemail == VoicemailLeaveMessage:
		t.phase = phaseMessage
	}
}

// afterAnswer is the part of answering an utterance that depends on who answered; true when nothing else is to be said.
func (t *talk) afterAnswer(ctx context.Context, u *utterance) bool {
	t.answer.promised = t.answer.promised || promisesTone(u.text)
	if t.result.AnsweredBy == "" && t.answer.judging && u.text == "" {
		t.result.Verdict = "sound without words"
	}
	if t.answer.judging && u.text != "" {
		if who := classify(u.text, false); who != "" {
			t.verdict(ctx, who, "the words of an announcement")
		} else if t.answer.beeped > 0 && t.askModel(ctx, u) {
			return true // a screening service beeps too
		} else if t.answer.beeped > 0 {
			t.verdict(ctx, AnsweredByVoicemail, "a beep after an announcement")
		} else if t.judgedHuman(ctx, u) {
			return true
		}
	}
	return t.answeredBy(ctx, u)
}

// answeredBy says what an utterance of a machine wants to hear; true when nothing else is to be said.
func (t *talk) answeredBy(ctx context.Context, u *utterance) bool {
	if t.phase == phaseMessage {
		return !t.pickedUp(u)
	}
	switch {
	case u.text == "" || t.end != nil || t.phase != phaseTalk:
		return true
	case t.answer.screening && !t.answer.screened:
		t.answer.screened = true
		t.ask(ctx, Reply{Say: t.script.ScreeningMessage, Heard: u.text}, purpose{name: "screening", fixed: true})
		t.mouth.turn.voice = u.last
		return true
	}
	return t.result.AnsweredBy == AnsweredByIVR && holdOn(u.text)
}

// answered answers an utterance that a verdict came after.
func (t *talk) answered(ctx context.Context, u *utterance) {
	if !t.answeredBy(ctx, u) {
		t.reply(ctx, u.text, u.last)
	}
}

// judgedHuman takes an utterance without a machine's words; true when there is nothing else to answer.
func (t *talk) judgedHuman(ctx context.Context, u *utterance) bool {
	first := t.phase == phaseAnswer
	if t.ear.count >= judgedTurns || t.ear.count >= 2 && t.listenedTo() {
		t.answer.judging = false
	}
	asked := t.askModel(ctx, u)
	if asked && first && u.last-u.start > answerShort && len(plainWords(u.text)) >= answerWords {
		return true
	}
	if first {
		t.judgeByRules(ctx, u)
		return true
	}
	if t.result.AnsweredBy == "" {
		t.human("the words of a person")
	}
	// Its text came when the greeting had begun already.
	greeting := t.mouth.turn
	return greeting != nil && (greeting.purpose.name == "greeting" || greeting.purpose.name == "consent") && t.ear.count == 1 && greeting.voice == u.last && u.last > 0
}

// listenedTo tells that the agent has finished a turn.
func (t *talk) listenedTo() bool {
	return slices.ContainsFunc(t.result.Turns, func(turn Turn) bool { return turn.Role == RoleAgent && !turn.Interrupted })
}
