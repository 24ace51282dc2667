package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

// maxKeys of the other side are kept until it pauses.
const maxKeys = 64

// phase is how far the talk has come.
type phase int

const (
	phaseAnswer  phase = iota // outbound: finding out who answered (answer.go)
	phaseTalk                 // turns
	phaseMessage              // leaving a message on a machine (voicemail.go)
)

// talk is the state of one conversation. The loop's goroutine owns all of it.
type talk struct {
	leg    carrier.Leg
	media  carrier.Media
	script Script
	speech Speech
	hooks  Hooks
	outbox *outbox

	now time.Duration // media time
	// framed is that of the last frame; now may be a little ahead of it.
	framed time.Duration
	phase  phase
	held   bool // the other side put us on hold
	end    *ending
	fault  error // of providers, for the log

	fast     bool        // time may stand still (standstill.go)
	still    bool        // it does
	patience *time.Timer // bounds that by the wall clock

	dialogue Dialogue // nil until opened
	heard    <-chan Utterance
	spoken   <-chan Spoken
	early    []Heard // what came before it was opened
	opened   chan opening
	opening  bool
	captions []carrier.Caption // of the current frame
	done     <-chan struct{}   // of Run's context; nil when it was seen
	deadline time.Duration     // of a last line, 0 for none

	ear     ear
	mouth   mouth
	answer  answer
	consent consent
	tools   chan toolDone
	calls   int // tool calls still running
	acted   int // tool calls in sum
	// transfers were tried, and one is under way.
	transfers    int
	transferring bool

	greeted    bool
	warned     bool
	reminded   bool
	lastCaller time.Duration // end of the other side's last voice
	lastAgent  time.Duration // end of the agent's last turn that counts against silence
	digits     string        // pressed by the other side and not answered yet
	digitsAt   time.Duration

	result Result
}

// ending is why the loop stops.
type ending struct {
	reason, message string
	class           carrier.Class
	cause           carrier.Cause
	remote          bool // the leg is over already
}

// opening is what became of Speech.Open.
type opening struct {
	dialogue Dialogue
	err      error
}

func newTalk(leg carrier.Leg, s Script, h Hooks) *talk {
	info := leg.Info()
	s.Direction = info.Direction
	if h.Fallback == nil {
		h.Fallback = placeholder{}
	}
	t := &talk{
		leg: leg, media: leg.Media(), script: s, hooks: h,
		opened: make(chan opening, 1), tools: make(chan toolDone, 4),
	}
	t.fast = info.Elastic && info.Speed > 1
	t.patience = time.NewTimer(time.Hour)
	t.patience.Stop()
	t.ear.vad = audio.NewVAD(audio.VADConfig{})
	t.mouth.local = make(chan Spoken, 16)
	return t
}

// run is the conversation from the answer to the hang-up.
func (t *talk) run(ctx context.Context, speech Speech) (Result, error) {
	// What the conversation starts outlives ctx, so that a stop can still be said, and ends with Run.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	t.speech, t.done = speech, ctx.Done()
	t.outbox = openOutbox(t.hooks.Turn)
	frames, reading := make(chan carrier.Frame), make(chan struct{})
	go func() {
		defer close(reading)
		read(life, t.media, frames)
	}()
	if bg, ok := t.media.(carrier.Backdrop); ok && t.script.Background != nil {
		bg.SetBackground(t.script.Background)
	}
	t.opening = true
	go t.open(life)
	t.begin(life)
	for t.end == nil {
		spoken, line := t.spoken, frames
		if t.mouth.full() {
			spoken = nil // back-pressure: the provider has to wait
		}
		if t.standstill() {
			line = nil
		}
		select {
		case f := <-line:
			t.frame(life, f)
		case e, ok := <-t.leg.Events():
			t.event(life, e, ok)
		case u := <-t.heard:
			t.understood(life, u)
		case s := <-spoken:
			t.say(life, s)
		case s := <-t.mouth.local:
			t.say(life, s)
		case o := <-t.opened:
			t.openedDialogue(life, o)
		case r := <-t.tools:
			t.toolDone(r)
		case o := <-t.answer.opinions:
			t.opined(life, o)
		case <-t.patience.C:
			t.late(life)
		case <-t.done:
			t.done = nil
			t.stop(life, context.Cause(ctx))
		}
	}
	t.finish(life, cancel)
	<-reading
	t.outbox.close(t.result.Turns)
	return t.result, t.fault
}

// read hands the line's frames to the loop, one at a time: an elastic line thereby runs at the loop's pace.
func read(ctx context.Context, media carrier.Media, frames chan<- carrier.Frame) {
	var f carrier.Frame
	for media.ReadFrame(&f) == nil {
		select {
		case frames <- f:
		case <-ctx.Done():
			return
		}
	}
}

// open opens the dialogue, with one more try, while frames already come in.
func (t *talk) open(ctx context.Context) {
	d, err := t.speech.Open(ctx, t.script)
	if err != nil && ctx.Err() == nil {
		d, err = t.speech.Open(ctx, t.script)
	}
	t.opened <- opening{d, err}
}

func (t *talk) openedDialogue(ctx context.Context, o opening) {
	t.opening = false
	if o.err != nil {
		t.fail(ctx, fmt.Errorf("open the speech provider: %w", o.err))
		return
	}
	t.dialogue, t.heard, t.spoken = o.dialogue, o.dialogue.Heard(), o.dialogue.Spoken()
	for _, h := range t.early {
		t.dialogue.Hear(h)
	}
	t.early = nil
	if u := t.ear.waiting; u != nil {
		t.dialogue.Commit(u.id)
	}
	if turn := t.mouth.turn; turn != nil && !turn.local {
		turn.asked = t.now
		t.dialogue.Reply(turn.reply)
	}
}

// frame is a step of time: everything that happens at a time happens here.
func (t *talk) frame(ctx context.Context, f carrier.Frame) {
	if !t.drainEvents(ctx) {
		return
	}
	if gap := f.At - t.framed - audio.FrameTime; gap > 0 && t.framed > 0 {
		t.result.Missed += gap
	}
	t.now, t.framed = f.At, f.At
	t.listen(ctx, &f)
	t.captions = nil
	for _, step := range []func(context.Context){
		t.drainHeard, t.flush, t.detectAnswer, t.leaveMessage, t.bargeIn, t.goOn, t.anticipate, t.endUtterance, t.awaitConsent, t.payOwed,
		t.answerDigits, t.checkReply, t.checkSilence, t.checkLimits,
	} {
		if step(ctx); t.end != nil {
			return
		}
	}
	t.outbox.offer(t.result.Turns)
}

// drainEvents takes the events that belong before a frame; false when the talk is over.
func (t *talk) drainEvents(ctx context.Context) bool {
	for t.end == nil {
		select {
		case e, ok := <-t.leg.Events():
			t.event(ctx, e, ok)
		default:
			return true
		}
	}
	return false
}

// drainHeard takes what the ears made of the frame at once, so that it counts before the frame's other steps.
func (t *talk) drainHeard(ctx context.Context) {
	for t.end == nil {
		select {
		case u := <-t.heard:
			t.understood(ctx, u)
		default:
			return
		}
	}
}

func (t *talk) event(ctx context.Context, e carrier.Event, ok bool) {
	if !ok {
		e = carrier.Event{Kind: carrier.EventEnded, Ended: carrier.EndedOf(nil)}
	}
	switch e.Kind {
	case carrier.EventCaption:
		t.captions = append(t.captions, e.Caption)
	case carrier.EventMark:
		t.marked(ctx, e)
	case carrier.EventDigits:
		if len(t.digits) < maxKeys {
			t.digits += e.Digits
		}
		t.digitsAt = t.now
	case carrier.EventHold, carrier.EventResume:
		t.held = e.Kind == carrier.EventHold
		t.lastCaller = t.now
	case carrier.EventEnded:
		t.now = max(t.now, e.At)
		t.end = &ending{reason: e.Ended.Reason, message: e.Ended.Message, class: e.Ended.Class, remote: true}
	}
}

// hangUp ends the loop.
func (t *talk) hangUp(reason, message string, class carrier.Class) {
	if t.end == nil {
		t.end = &ending{reason: reason, message: message, class: class, cause: carrier.CauseNormal}
	}
}

// stop is the end of Run's context.
func (t *talk) stop(ctx context.Context, cause error) {
	stop := &Stop{}
	errors.As(cause, &stop)
	if stop.Reason == "" {
		stop = &Stop{Reason: carrier.ReasonCanceled, Message: "The call was ended on request.", Class: carrier.ClassClient, Say: stop.Say}
	}
	if stop.Class == "" {
		stop.Class = carrier.ClassSuccess
	}
	say := stop.Say
	if stop.Sorry {
		say = phrasesIn(t.script.Language).shutdown
	}
	if say == "" || t.held {
		t.hangUp(stop.Reason, stop.Message, stop.Class)
		return
	}
	t.phase = phaseTalk
	t.deadline = t.now + 10*time.Second
	t.ask(ctx, Reply{Say: say}, purpose{name: "farewell", fixed: true, then: func() {
		t.hangUp(stop.Reason, stop.Message, stop.Class)
	}})
	t.mouth.last = &ending{reason: stop.Reason, message: stop.Message, class: stop.Class, cause: carrier.CauseNormal}
}

// finish writes down what was going on, hangs up and closes everything.
func (t *talk) finish(ctx context.Context, cancel context.CancelFunc) {
	t.cutTurn()
	t.keepUtterance()
	t.releaseHeld(true)
	if !t.end.remote {
		hangUp, stop := context.WithTimeout(ctx, 5*time.Second)
		if err := t.leg.Hangup(hangUp, t.end.cause); err != nil {
			t.fault = errors.Join(t.fault, fmt.Errorf("hang up: %w", err))
		}
		stop()
	}
	cancel()
	t.closeDialogue()
	for t.calls > 0 { // tools end with their context
		<-t.tools
		t.calls--
	}
	t.mouth.fallback.Wait()
	r := &t.result
	for _, turn := range r.Turns { // the line may be a frame ahead of the loop
		t.now = max(t.now, turn.End)
	}
	r.Reason, r.Message, r.Class, r.Duration = t.end.reason, t.end.message, t.end.class, t.now
	r.Latency.sum()
	if t.consent.asked > 0 && r.Consent == "" {
		r.Consent = ConsentRefused
	}
}

// closeDialogue closes what was opened, waiting for an opening that is under way: it ends with its context.
func (t *talk) closeDialogue() {
	if t.opening {
		t.dialogue = (<-t.opened).dialogue
	}
	if t.dialogue == nil {
		return
	}
	if err := t.dialogue.Close(); err != nil {
		t.addFault(fmt.Errorf("close the speech provider: %w", err))
	}
}

// sum fills the sums of Latency.
func (l *Latency) sum() {
	if len(l.Turns) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(l.Turns))
	l.TurnP50, l.TurnMax = sorted[(len(sorted)-1)/2], sorted[len(sorted)-1]
}
