package conversation

import (
	"context"
	"time"

	"github.com/callwright/callwright/internal/carrier"
)

// When a message is left: right after the beep, or when the machine has been quiet for so long, or so late after the
// answer.
const (
	messageAfterBeep    = 200 * time.Millisecond
	messageAfterSilence = 2500 * time.Millisecond
	messageLatest       = 30 * time.Second
	// pickup is how much speech with words into the message means that somebody took the call.
	pickup = 600 * time.Millisecond
)

// leaveMessage speaks at the right moment, begins again when the beep comes late, and talks when somebody picks up.
func (t *talk) leaveMessage(ctx context.Context) {
	if t.phase != phaseMessage {
		return
	}
	a, u := &t.answer, t.ear.current
	if message := t.mouth.turn; message != nil {
		switch {
		case a.beeping && message.audible():
			t.cutTurn()
		case u != nil && message.started && u.start > message.start && u.voice >= pickup && u.text != "" && classify(u.text, true) == "":
			t.cutTurn()
			t.phase = phaseTalk
			t.human("somebody picked up during the message")
		}
		return
	}
	quiet := u == nil && t.ear.waiting == nil && t.now-t.lastCaller >= messageAfterSilence && t.lastCaller > 0
	beeped := a.beepAt > 0 && !a.beeping && t.now-a.beepAt >= messageAfterBeep
	if !beeped && !quiet && t.now < messageLatest {
		return
	}
	a.beepAt = 0
	t.ask(ctx, Reply{Say: t.script.VoicemailMessage}, purpose{name: "message", fixed: true, then: func() {
		t.hangUp(ReasonVoicemail, "A message was left on a voicemail.", carrier.ClassSuccess)
	}})
}
