package conversation

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/callwright/callwright/internal/carrier"
)

// Who answered, on outbound calls: judged by the length of what is said first, by its words and by a beep, while the
// greeting waits; a verdict for a human may still be revised by the words of the first two utterances.
const (
	answerSilence = 2500 * time.Millisecond // of nobody saying anything: greet
	answerPause   = 500 * time.Millisecond  // ends what is said first
	answerShort   = 2500 * time.Millisecond // what a person says first is no longer
	answerText    = 200 * time.Millisecond  // how long a short answer's text is waited for
	answerLong    = 4 * time.Second         // without text, this is an announcement
	answerMost    = 20 * time.Second        // and this one with any text
	judgingTime   = 30 * time.Second
)

// answer is what is known of who answered.
type answer struct {
	judging   bool // the verdict may change
	beeping   bool
	beepAt    time.Duration // end of the last beep; 0 for none
	screening bool          // a screening service
	screened  bool          // was told who calls
}

// begin is the answer of the call.
func (t *talk) begin(ctx context.Context) {
	if t.script.Direction == carrier.Inbound {
		t.result.AnsweredBy, t.result.Verdict = AnsweredByHuman, "inbound call"
		t.greet(ctx, "", 0)
		return
	}
	t.answer.judging = true
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

// listenForBeep is done while a beep would mean something. A beep is no speech.
func (t *talk) listenForBeep(f *carrier.Frame) {
	if !t.answer.judging && t.phase != phaseMessage {
		return
	}
	if _, t.answer.beeping = t.ear.beep.Push(&f.PCM); !t.answer.beeping {
		return
	}
	t.answer.beepAt = f.At
	t.ear.muted = true
	if u := t.ear.current; u != nil {
		if u.done = true; u.text == "" && f.At-u.start < 500*time.Millisecond {
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
	if a.beeping {
		t.verdict(ctx, AnsweredByVoicemail, "a beep")
		return
	}
	if t.now > judgingTime && t.phase == phaseTalk {
		a.judging = false
		return
	}
	if t.phase != phaseAnswer {
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
		length := waiting.last - waiting.start
		switch late := t.now - waiting.asked; {
		case length <= answerShort && late >= answerText:
			t.human("a short answer")
			t.greet(ctx, "", waiting.last)
		case length > answerLong && late >= time.Second:
			t.verdict(ctx, AnsweredByVoicemail, "a long announcement")
		case late >= time.Second:
			t.human("an answer of some seconds")
			t.greet(ctx, "", waiting.last)
		}
	case t.now >= answerSilence && t.ear.next == 0, t.ear.next > 0 && t.now-t.lastCaller >= answerSilence:
		t.greet(ctx, "", 0)
	}
}

func (t *talk) human(why string) {
	t.result.AnsweredBy, t.result.Verdict = AnsweredByHuman, why
}

// verdict is the conclusion that a machine answered: voicemail, ivr or a screening service, which counts as ivr.
func (t *talk) verdict(ctx context.Context, who, why string) {
	t.answer.judging = false
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
	if t.answer.judging && u.text != "" {
		if who := classify(u.text, false); who != "" {
			t.verdict(ctx, who, "the words of an announcement")
		} else if t.judgedHuman(ctx, u) {
			return true
		}
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

// judgedHuman takes an utterance without a machine's words; true when the greeting is its answer.
func (t *talk) judgedHuman(ctx context.Context, u *utterance) bool {
	first := t.phase == phaseAnswer
	if t.result.AnsweredBy == "" {
		t.human("the words of a person")
		if first && u.last-u.start <= answerShort {
			t.human("a short answer")
		}
	}
	if t.ear.count >= 2 {
		t.answer.judging = false
	}
	if first {
		t.greet(ctx, u.text, u.last)
		return true
	}
	// Its text came when the greeting had begun already.
	greeting := t.mouth.turn
	return greeting != nil && (greeting.purpose.name == "greeting" || greeting.purpose.name == "consent") && t.ear.count == 1 && greeting.voice == u.last && u.last > 0
}

// screening is classify's word for a call-screening service.
const screening = "screening"

// The words of machines, folded. A partial text needs the certain ones: "to leave a message, press 1" is a menu.
var (
	screeningWords = []string{
		"state your name", "say your name", "record your name", "your name and why", "reason for your call",
		"reason for calling", "screening service", "call assist",
	}
	voicemailCertain = []string{
		"voicemail", "voice mail", "mailbox", "after the tone", "after the beep", "at the tone", "anrufbeantworter",
		"nach dem signalton", "nach dem ton", "buzón de voz", "después de la señal", "después del tono", "après le bip",
		"après le signal", "messagerie vocale", "segreteria telefonica", "dopo il segnale",
	}
	voicemailWords = []string{
		"leave a message", "leave your message", "leave me a message", "take your call", "record your message",
		"hinterlassen sie", "nachricht hinterlassen", "deje su mensaje", "deja tu mensaje", "laissez un message",
		"laissez votre message", "lasciate un messaggio",
	}
	menuWords = regexp.MustCompile(`\b(press|dial|enter|push|drücken sie|wählen sie|pulse|oprima|marque|appuyez sur|tapez|premere|digiti)\s+(the\s+|die\s+|el\s+|la\s+|le\s+)?([0-9*#]|one|two|three|four|five|six|seven|eight|nine|zero|star|pound|eins|zwei|drei|uno|dos|tres|un|deux|trois|due|tre)\b|main menu|following options`)
	holdWords = []string{
		"please hold", "stay on the line", "hold the line", "please wait", "one moment", "connecting you", "bitte warten",
		"bleiben sie dran", "no cuelgue", "un momento", "ne quittez pas", "attenda in linea",
	}
)

// classify tells a machine by its words: voicemail, ivr, screening or "". partial texts may still grow.
func classify(text string, partial bool) string {
	text = strings.ToLower(text)
	certain := containsAny(text, voicemailCertain)
	switch {
	case text == "":
		return ""
	case containsAny(text, screeningWords):
		return screening
	case certain:
		return AnsweredByVoicemail
	case menuWords.MatchString(text):
		return AnsweredByIVR
	case !partial && containsAny(text, voicemailWords):
		return AnsweredByVoicemail
	}
	return ""
}

// holdOn tells a request to wait, which wants no answer.
func holdOn(text string) bool { return containsAny(strings.ToLower(text), holdWords) }

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
