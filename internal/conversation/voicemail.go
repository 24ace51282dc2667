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
	messageAfterSilence = 1500 * time.Millisecond
	messageForTone      = 4 * time.Second // the silence, when the announcement promised a tone
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
		case u != nil:
			t.pickedUp(u)
		}
		return
	}
	silence := messageAfterSilence
	if a.promised {
		silence = messageForTone
	}
	quiet := u == nil && t.ear.waiting == nil && t.now-t.lastCaller >= silence && t.lastCaller > 0
	beeped := a.beepAt > 0 && !a.beeping && t.now-a.beepAt >= messageAfterBeep
	if !beeped && !quiet && t.now < messageLatest {
		return
	}
	a.beepAt = 0
	t.ask(ctx, Reply{Say: t.script.VoicemailMessage}, purpose{name: "message", fixed: true, then: func() {
		t.hangUp(ReasonVoicemail, "A message was left on a voicemail.", carrier.ClassSuccess)
	}})
}

// pickedUp tells whether an utterance into the message is somebody who took the call; then they are talked to.
func (t *talk) pickedUp(u *utterance) bool {
	message := t.mouth.turn
	if message == nil || !message.started || u.start <= message.start || u.voice < pickup || wordless(u.text) || classify(u.text, true) != "" {
		return false
	}
	t.cutTurn()
	t.phase = phaseTalk
	t.human("somebody picked up during the message")
	return true
}
