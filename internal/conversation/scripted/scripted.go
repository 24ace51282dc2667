// Package scripted is speech without any account: ears that read the sandbox's captions, a brain that follows the
// agent's settings line by line, and the built-in voices of audio/voice.
package scripted

import (
	"context"

	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/conversation"
)

// New is the built-in speech, for any number of calls.
func New(v *voice.Studio) conversation.Cascade {
	return conversation.Cascade{Ears: Ears{}, Brain: Brain{}, Voice: Voice{v}}
}

// Voice speaks with the built-in voices.
type Voice struct{ Studio *voice.Studio }

func speaker(l conversation.Line) voice.Speaker {
	name := l.VoiceID
	if name == "" {
		name = "rms"
	}
	return voice.Speaker{Name: name, Language: l.Language, Rate: l.Rate}
}

// Speak is that of conversation.Voice.
func (v Voice) Speak(ctx context.Context, l conversation.Line, emit func([]int16) error) error {
	return emit(v.Studio.Say(ctx, speaker(l), l.Text))
}

// Warm is that of conversation.Voice.
func (v Voice) Warm(_ context.Context, l conversation.Line) { v.Studio.Warm(speaker(l), l.Text) }
