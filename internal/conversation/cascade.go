package conversation

import (
	"context"
	"encoding/json"
)

// Cascade is Speech of three parts: ears turn sound into text, a brain text into text, a voice text into sound.
type Cascade struct {
	Ears  Ears
	Brain Brain
	Voice Voice
}

// Ears open a stream of recognition for a call.
type Ears interface {
	Listen(ctx context.Context, s Script) (Listening, error)
}

// Listening is the recognition of one call. The methods have the contracts of [Dialogue].
type Listening interface {
	Hear(h Heard)
	Commit(utterance uint64)
	Heard() <-chan Utterance
	Close() error
}

// Brain makes turns. It serves many calls at once and keeps nothing of them: everything is in the Thought.
type Brain interface {
	// Think streams a turn's sentences and tool calls to emit, which fails when the turn was interrupted; return that
	// error then. ctx ends with the turn. An error before the first emit is retried with t.Fresh set.
	Think(ctx context.Context, t Thought, emit func(Part) error) error
}

// Thought is what a brain thinks about.
type Thought struct {
	Script     Script
	History    []Message
	AnsweredBy string
	Greeted    bool
	Fresh      bool
}

// Message is one entry of the history. The last one is what is to be answered; an empty history asks for an opening.
type Message struct {
	Role Role
	// Text said, or a function_result.
	Text string
	// Tool of a function_call or function_result.
	Tool *ToolCall
}

// Part is a sentence or a tool call.
type Part struct {
	Sentence string
	Tool     *ToolCall
}

// Voice speaks. It serves many calls at once.
type Voice interface {
	// Speak streams a line's sound to emit: 8 kHz, in pieces of any length that nobody changes afterwards. emit fails
	// when the turn was interrupted.
	Speak(ctx context.Context, l Line, emit func(pcm []int16) error) error
	// Warm makes a line in advance if that is worth anything.
	Warm(ctx context.Context, l Line)
}

// Line is a sentence to speak.
type Line struct {
	Text     string
	Language string
	VoiceID  string
	Rate     float64
}

var _ = json.RawMessage(nil)
