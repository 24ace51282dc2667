// Package scripted is speech without any account: ears that read the sandbox's captions, a brain that follows the
// agent's settings line by line, and the built-in voices of audio/voice.
package scripted

import (
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/conversation"
)

// New is the built-in speech, for any number of calls.
func New(v *voice.Studio) conversation.Speech { panic("under construction") }
