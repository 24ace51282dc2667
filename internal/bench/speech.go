package bench

import (
	"context"
	"time"

	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/scripted"
)

// speech is a cascade of providers that take so long and not a moment more: they know what to say, and sound is made
// before it is asked for.
func speech(transcription, model, sound time.Duration) conversation.Cascade {
	return conversation.Cascade{
		Ears:  ears{transcription},
		Brain: brain{after: model, lines: []string{"All right.", "I see.", "Very well."}},
		Voice: &mouth{after: sound, studio: voice.New(voice.Config{Placeholder: true})},
	}
}

// ears transcribe as a streaming recogniser does: texts come that much later than they are said.
type ears struct{ after time.Duration }

func (e ears) Listen(ctx context.Context, s conversation.Script) (conversation.Listening, error) {
	inner, err := scripted.Ears{}.Listen(ctx, s)
	return &listening{Listening: inner, after: e.after, heard: make(chan conversation.Utterance, 64)}, err
}

type listening struct {
	conversation.Listening
	after time.Duration
	heard chan conversation.Utterance
}

func (l *listening) Hear(h conversation.Heard)            { l.Listening.Hear(h); l.pass() }
func (l *listening) Commit(utterance uint64)              { l.Listening.Commit(utterance); l.pass() }
func (l *listening) Heard() <-chan conversation.Utterance { return l.heard }

func (l *listening) pass() {
	for {
		select {
		case u := <-l.Listening.Heard():
			u.Stable = !u.Final
			if l.after == 0 {
				l.tell(u)
			} else {
				time.AfterFunc(l.after, func() { l.tell(u) })
			}
		default:
			return
		}
	}
}

func (l *listening) tell(u conversation.Utterance) {
	select {
	case l.heard <- u:
	default: // a call that is over
	}
}

// brain says one line after the other.
type brain struct {
	after time.Duration
	lines []string
}

func (b brain) Think(ctx context.Context, t conversation.Thought, emit func(conversation.Part) error) error {
	if !wait(ctx, b.after) {
		return ctx.Err()
	}
	return emit(conversation.Part{Sentence: b.lines[len(t.History)%len(b.lines)]})
}

// mouth has its sound ready.
type mouth struct {
	after  time.Duration
	studio *voice.Studio
}

func (m *mouth) Speak(ctx context.Context, l conversation.Line, emit func([]int16) error) error {
	if !wait(ctx, m.after) {
		return ctx.Err()
	}
	return emit(m.studio.Say(ctx, voice.Speaker{Name: l.VoiceID}, l.Text))
}

func (m *mouth) Warm(_ context.Context, l conversation.Line) {
	m.studio.Warm(voice.Speaker{Name: l.VoiceID}, l.Text)
}

func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
