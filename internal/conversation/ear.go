package conversation

import (
	"context"
	"fmt"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

// How utterances begin and end.
const (
	vadOnset = 80 * time.Millisecond
	// Pauses that end an utterance: after a text that ends like a sentence, and after any other.
	pauseAfterSentence = 400 * time.Millisecond
	pauseInSentence    = 700 * time.Millisecond
	// pauseOfMachine ends a machine's utterance: announcements have long pauses.
	pauseOfMachine = 1200 * time.Millisecond
	// finalTimeout is how long the final text may take.
	finalTimeout = 5 * time.Second
	// falseAfter is how long after an interruption words may take to come; then it was none.
	falseAfter = 2 * time.Second
	// stableAfter is how long the other side must be quiet for the model to think ahead.
	stableAfter = 100 * time.Millisecond
	// fewWords at the end of a turn need not be heard: what was said into them is the answer to it.
	fewWords = 3
)

// ear is what the conversation knows of the other side's voice.
type ear struct {
	vad     *audio.VAD
	tones   audio.ToneDetector
	next    uint64
	current *utterance // being spoken
	waiting *utterance // over, its final text is awaited
	latest  *utterance // the last one with a final text
	muted   bool       // until the detector falls silent: a beep is no speech
	faults  int        // in a row
	count   int        // with text
}

// utterance is one stretch of the other side's speech.
type utterance struct {
	id     uint64
	start  time.Duration // of the voice
	last   time.Duration // end of the last voiced frame
	voice  time.Duration // voiced in sum
	text   string
	done   bool // the listener knows that it is over
	asked  time.Duration
	stable bool // text holds all that was said so far
	// wordless tells that the listener found no words in what came so far.
	wordless bool
	cutOff   string // text of the agent that this utterance interrupted and that was not heard
	cutAt    time.Duration
	vain     bool // it interrupted the agent, and no words came
	// committed and understood are when it was over and when its text was final, for Timing.
	committed, understood time.Time
}

// listen takes a frame of the other side.
func (t *talk) listen(ctx context.Context, f *carrier.Frame) {
	if t.held { // music and announcements of the other side's exchange are meant for nobody
		f.PCM, t.captions = audio.Frame{}, nil
	}
	t.listenForTones(f)
	voiced, speaking := t.ear.vad.Push(&f.PCM)
	if t.ear.muted && !speaking {
		t.ear.muted = false
	}
	h := Heard{Frame: &f.PCM, At: f.At, Voiced: voiced, Captions: t.captions}
	if t.ear.current == nil && speaking && !t.ear.muted {
		t.ear.next++
		t.ear.current = &utterance{id: t.ear.next, start: max(t.now-vadOnset, 0), voice: vadOnset - audio.FrameTime}
		h.Preroll = t.ear.vad.Preroll(nil)
	}
	if u := t.ear.current; u != nil {
		h.Utterance = u.id
		if voiced && !t.ear.muted {
			u.last = t.now
			u.voice += audio.FrameTime
			t.lastCaller, t.reminded = t.now, false
		}
	}
	t.hear(h)
}

// hear passes a frame on, or keeps it until the dialogue is open, three seconds at most.
func (t *talk) hear(h Heard) {
	if t.dialogue != nil {
		t.dialogue.Hear(h)
		return
	}
	frame := *h.Frame
	h.Frame = &frame
	if t.early = append(t.early, h); len(t.early) > 150 {
		t.early = t.early[1:]
	}
}

// endUtterance ends the utterance when the pause is long enough.
func (t *talk) endUtterance(ctx context.Context) {
	if u := t.ear.waiting; u != nil && t.now-u.asked > finalTimeout {
		t.understood(ctx, lateText(u))
	}
	u := t.ear.current
	if u == nil || t.ear.waiting != nil || !u.done && t.now-u.last < t.pause(u) {
		return
	}
	t.ear.current, t.ear.waiting = nil, u
	u.asked, u.committed = t.now, time.Now()
	if t.dialogue != nil {
		t.dialogue.Commit(u.id)
	}
}

// pause is how long a silence ends an utterance.
func (t *talk) pause(u *utterance) time.Duration {
	if t.phase != phaseTalk || t.result.AnsweredBy == AnsweredByIVR {
		if t.phase == phaseAnswer && t.result.AnsweredBy == "" {
			return pauseOfFirst(u)
		}
		return pauseOfMachine
	}
	d := pauseInSentence
	if endsSentence(u.text) {
		d = pauseAfterSentence
	}
	switch t.script.Patience {
	case "low":
		d = d * 3 / 4
	case "high":
		d = d * 8 / 5
	}
	return d
}

// understood takes what the listener says.
func (t *talk) understood(ctx context.Context, heard Utterance) {
	if heard.Err != nil {
		t.misheard(ctx, heard)
		return
	}
	if u := t.ear.current; u != nil && u.id == heard.ID {
		u.text, u.done, u.stable, u.wordless = heard.Text, heard.Done, heard.Stable, heard.Text == ""
		return // a final before the pause may still grow by another utterance: the pause decides
	}
	u := t.ear.waiting
	if u == nil || u.id != heard.ID {
		return
	}
	u.text = heard.Text
	if !heard.Final {
		return
	}
	u.understood = time.Now()
	t.ear.waiting, t.ear.latest, t.ear.faults = nil, u, 0
	if u.text == "" {
		t.noise(ctx, u)
		return
	}
	t.ear.count++
	t.record(Turn{Role: RoleUser, Content: u.text, Start: u.start, End: u.last})
	t.react(ctx, u)
}

// misheard is a listener's fault: two in a row are the provider's.
func (t *talk) misheard(ctx context.Context, heard Utterance) {
	if u := t.ear.waiting; u != nil && u.id == heard.ID {
		t.ear.waiting = nil
	}
	t.ear.faults++
	err := fmt.Errorf("understand an utterance: %w", heard.Err)
	if t.ear.faults < 2 && t.end == nil {
		t.addFault(err)
		if t.mouth.turn == nil && t.phase == phaseTalk {
			t.ask(ctx, Reply{Say: phrasesIn(t.script.Language).repeat}, purpose{name: "repeat"})
		}
		return
	}
	t.fail(ctx, err)
}

// noise is an utterance without words. If the agent fell silent for it, it goes on with what was not heard.
func (t *talk) noise(ctx context.Context, u *utterance) {
	t.resume(ctx, u)
	t.afterAnswer(ctx, u)
}

// resume says what an utterance kept the agent from saying; false when there is nothing.
func (t *talk) resume(ctx context.Context, u *utterance) bool {
	if u.cutOff == "" || t.mouth.turn != nil || t.phase != phaseTalk {
		return false
	}
	t.ask(ctx, Reply{Say: u.cutOff}, purpose{name: "resume"})
	u.cutOff = ""
	return true
}

// goOn resumes when an interruption brought no words for so long: a cough, a passing car. While the sound goes on that
// takes a listener who says that there are no words in it; it does not interrupt again before it has some.
func (t *talk) goOn(ctx context.Context) {
	if u := t.ear.current; u != nil && u.wordless && u.text == "" && t.now-u.cutAt >= falseAfter && t.resume(ctx, u) {
		u.vain = true
	}
	if u := t.ear.waiting; u != nil && u.text == "" && t.now-u.asked >= falseAfter {
		t.resume(ctx, u)
	}
}

// anticipate lets the model think about what was said before the pause is long enough to be the end.
func (t *talk) anticipate(context.Context) {
	u := t.ear.current
	if u == nil || !u.stable || t.now-u.last < stableAfter || t.mouth.turn != nil || t.phase != phaseTalk ||
		t.mouth.closing() || t.consent.since > 0 || t.answer.screening || t.result.AnsweredBy == AnsweredByIVR {
		return
	}
	u.stable = false // once for each text
	if ahead, ok := t.dialogue.(Anticipator); ok && (t.greeted || !t.answer.judging) {
		ahead.Anticipate(Reply{Heard: join(t.mouth.owed, u.text), AnsweredBy: t.result.AnsweredBy, Greeted: t.greeted})
	}
}

// lateText makes do with the text so far when the final one does not come; without any, the listener has failed.
func lateText(u *utterance) Utterance {
	late := Utterance{ID: u.id, Text: u.text, Final: true}
	if u.text == "" {
		late.Err = fmt.Errorf("no text came for %v", finalTimeout)
	}
	return late
}

// react answers an utterance, as far as it wants an answer.
func (t *talk) react(ctx context.Context, u *utterance) {
	switch {
	case t.afterAnswer(ctx, u): // who answered had to be settled first
	case t.phase != phaseTalk || t.mouth.closing():
	case t.consentAnswered(ctx, u.text, u.last):
	case backchannel(u.text) && len(plainWords(u.cutOff)) > fewWords && t.resume(ctx, u):
		// It stopped the agent before its text was known.
	case t.mouth.turn != nil && t.mouth.turn.audible() && backchannel(u.text):
		if t.mouth.turn.asking(t.now) { // then "yes" was an answer
			t.mouth.owed = join(t.mouth.owed, u.text)
		}
	case t.mouth.turn != nil && t.mouth.turn.purpose.fixed:
		t.mouth.owed = join(t.mouth.owed, u.text)
	case t.ear.current != nil && t.ear.current.voice >= bargeInAfter:
		t.mouth.owed = join(t.mouth.owed, u.text) // speaking again already
	default:
		t.reply(ctx, u.text, u.last)
	}
}

// keepUtterance writes down what was being said at the end.
func (t *talk) keepUtterance() {
	for _, u := range []*utterance{t.ear.waiting, t.ear.current} {
		if u != nil && u.text != "" {
			t.record(Turn{Role: RoleUser, Content: u.text, Start: u.start, End: max(u.last, u.start)})
		}
	}
}

// answerDigits answers keys that the other side pressed, a second and a half after the last one.
func (t *talk) answerDigits(ctx context.Context) {
	if t.digits == "" || t.now-t.digitsAt < 1500*time.Millisecond || t.phase != phaseTalk || t.mouth.closing() {
		return
	}
	text := "(pressed " + t.digits + ")"
	t.digits = ""
	t.record(Turn{Role: RoleUser, Content: text, Start: t.digitsAt, End: t.digitsAt})
	t.lastCaller = t.digitsAt
	t.reply(ctx, text, 0)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}
