package conversation

import (
	"context"
	"encoding/json"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

// Speech is how an agent hears, thinks and speaks: a [Cascade] of three parts, or one realtime model. It serves many
// calls at once.
type Speech interface {
	// Open begins the agent's side of one call. ctx bounds the opening only; the Dialogue lives until Close.
	Open(ctx context.Context, s Script) (Dialogue, error)
	// Warm prepares for a call that is being dialed: connections, the greeting's sound. It is a hint, its failure is
	// nobody's business; Open will find out.
	Warm(ctx context.Context, s Script)
}

// Dialogue is the agent's side of one call. The conversation is its only caller, from one goroutine, and none of the
// methods blocks; results come over the two channels, which are bounded: a full Spoken must hold the provider's stream
// back, a full Heard may drop partial texts. Who takes turns is decided by the conversation alone: a realtime model is
// told not to answer or to interrupt by itself.
type Dialogue interface {
	// Hear takes every frame of the other side.
	Hear(h Heard)
	// Commit tells that an utterance is over as the conversation sees it; its final text is wanted now.
	Commit(utterance uint64)
	// Reply begins an agent's turn. Turns are numbered upwards; a new one ends the one before.
	Reply(r Reply)
	// Interrupt stops a turn: nothing more of it may come. What of it was heard is all that the model shall remember.
	Interrupt(c Cut)
	// ToolResult answers a ToolCall; the turn that called goes on, by its number.
	ToolResult(turn uint64, id string, result json.RawMessage)
	// Heard gives what was understood.
	Heard() <-chan Utterance
	// Spoken gives what the agent says and does.
	Spoken() <-chan Spoken
	// Close ends everything and waits for its goroutines.
	Close() error
}

// Anticipator is a Dialogue that can think ahead. Anticipate tells of the Reply that will be asked for if the other side
// says no more; Turn is not set. Nothing may be heard or done of it before a Reply that asks the same; one that asks
// anything else makes it void, as does the next Anticipate.
type Anticipator interface {
	Anticipate(r Reply)
}

// Heard is 20 ms from the other side with what the line and the conversation know of it.
type Heard struct {
	// Frame is valid during the call of Hear only.
	Frame *audio.Frame
	At    time.Duration
	// Voiced is the conversation's voice detector. Utterance is the number of the utterance that is going on; 0 in
	// between. The first frame of an utterance comes with Preroll, the frames before the detector was sure.
	Voiced    bool
	Utterance uint64
	Preroll   []audio.Frame
	// Captions are the sandbox's texts of what its callee says; there is nothing to recognise then.
	Captions []carrier.Caption
}

// Utterance is what was understood of the other side.
type Utterance struct {
	// ID is the number given in Heard and Commit.
	ID uint64
	// Text so far; one that is empty and not Final tells that no words were found yet in what was said.
	Text string
	// Final text does not change any more. A Final without text was no speech.
	Final bool
	// Stable text holds all that was said so far: if nothing more is said, it is the final one. A Cascade's brain begins
	// to think about it before the pause is long enough.
	Stable bool
	// Done tells that the listener itself is sure that the speaker has finished: no need to wait for a longer pause. Its
	// text may come later.
	Done bool
	// Err is a listener that failed; the utterance is lost.
	Err error
}

// Reply asks for an agent's turn.
type Reply struct {
	Turn uint64
	// Say is a line to be spoken as it is. Empty: the model makes the turn.
	Say string
	// Heard is what the other side said last, which is to be answered; empty for an opening.
	Heard string
	// AnsweredBy is who is on the line as far as it is known: "", human, voicemail, ivr.
	AnsweredBy string
	// Greeted tells that the greeting was said.
	Greeted bool
	// Fresh asks for a new connection: the attempt before failed.
	Fresh bool
}

// Cut is an interruption.
type Cut struct {
	Turn uint64
	// Item is the sentence that was cut, and Played how much of it was on the line.
	Item   string
	Played time.Duration
	// Text is what was heard of the whole turn.
	Text string
}

// Spoken is a piece of an agent's turn, in order: Begun if that is known, for each item its text and then its sound,
// ToolCalls, at last Done or Err. Exactly one of the fields besides Turn and Item is set.
type Spoken struct {
	Turn uint64
	// Item names the sentence or the model's item that Text and PCM belong to.
	Item string
	// Text of the item; several pieces of one item add up (with no space between).
	Text string
	// PCM of the item, 8 kHz. It is not changed by anybody afterwards.
	PCM  []int16
	Tool *ToolCall
	// Begun tells that the model has begun to answer; there is nothing to hear yet. It is for Timing.
	Begun bool
	Done  bool
	Err   error
}

// ToolCall is an action that the model takes.
type ToolCall struct {
	ID, Name  string
	Arguments json.RawMessage
}

// The tools that every conversation has.
const (
	// ToolEndCall hangs up when the turn has been heard. No arguments.
	ToolEndCall = "end_call"
	// ToolPressDigits sends {"digits": "1"}.
	ToolPressDigits = "press_digits"
	// ToolTransfer hands the call to {"to": name} of Script.Transfers.
	ToolTransfer = "transfer_call"
)
