// Package carrier is the telephone line as the call engine sees it: a [Carrier] places and takes calls, a [Leg] is one
// answered call, its [Media] is the sound. carrier/sandbox implements it in memory, carrier/sip on real trunks.
//
// # Time
//
// A leg counts its own time, media time: the number of 20 ms frames since the answer. [Frame.At], [Event.At] and
// [Tick.At] are media time, and whoever holds a conversation sets timers in it, never by the wall clock. So a sandbox at
// a hundred times the speed, a test in virtual time and a real line behave alike.
//
// # Goroutines
//
// Of one leg: one goroutine reads frames, one goroutine (it may be the same) receives events; Enqueue, Mark and Clear
// are called by one goroutine at a time; SendDigits, Transfer and Hangup by any, at any time, also after the end. A tap
// is called by the line's pacer. Every queue is bounded: a reader that is late loses the oldest frames of a real line
// ([Frame.At] jumps), while an elastic line ([Info.Elastic]) waits for it.
//
// # Endings
//
// Every leg and every attempt ends with one [Ended]. [Leg.Events] delivers it exactly once as the last event, whoever
// hung up, and is closed after it; [Media.ReadFrame] returns it from then on. Whoever got a Leg must see to its Hangup.
package carrier

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/callwright/callwright/internal/audio"
)

// Carrier is a way to the telephone network. Its methods may be called by any goroutine.
type Carrier interface {
	// Dial places a call and returns its leg when it is answered. Everything else is an error holding an *[Ended]:
	// busy, no answer within r.RingTimeout, refused, failed; [ReasonCanceled] when ctx ended first (the attempt is
	// taken back, or hung up when the answer crossed it). on, which may be nil, is told of ringing and early sound; it
	// must not block. After Dial returns, ctx means nothing to the leg.
	Dial(ctx context.Context, r Request, on func(Progress)) (Leg, error)
	// Serve takes inbound calls until ctx ends and then waits for those that are running. accept decides about each; it
	// may take its time (the caller hears ringing) and several offers may be with it at once. A carrier without inbound
	// calls just waits for ctx.
	Serve(ctx context.Context, accept func(context.Context, Offer) Decision) error
	// Drain refuses new calls in both directions from now on and returns when the last leg has ended, or with ctx's
	// error.
	Drain(ctx context.Context) error
	// Reap ends a call that a dead process left on the line, from the State that was stored at its answer. It is no
	// error if the call is gone.
	Reap(ctx context.Context, state json.RawMessage) error
}

// Request is a call to place.
type Request struct {
	// CallID is the id of the call's record; the line's own ids are derived from it.
	CallID string
	// From and To are E.164.
	From, To string
	// RingTimeout is how long it may ring. Defaults to 30 s.
	RingTimeout time.Duration
}

// Progress is how far a call that is not answered yet has come.
type Progress string

// What Dial tells while it waits. Early media never counts as an answer.
const (
	ProgressRinging    Progress = "ringing"
	ProgressEarlyMedia Progress = "early_media"
)

// Offer is an inbound call that nobody has answered yet.
type Offer struct {
	// ID becomes Info.ID.
	ID string
	// From and To are E.164 where the line told them so.
	From, To string
}

// Decision is what becomes of an offer.
type Decision struct {
	// Run holds the call. It is called in a goroutine of its own once the call is answered and must return after the
	// leg's end. ctx ends with Serve's. nil refuses the call.
	Run func(ctx context.Context, leg Leg)
	// Missed is told instead of Run when the caller gave up, or the line failed, before the answer; may be nil.
	Missed func(*Ended)
	// Ring is how long it rings before the answer.
	Ring time.Duration
	// Refuse is what the line is told when Run is nil. Defaults to CauseBusy.
	Refuse Cause
}

// Direction of a call, seen from us.
type Direction string

// The directions.
const (
	Outbound Direction = "outbound"
	Inbound  Direction = "inbound"
)

// Leg is one answered call.
type Leg interface {
	Info() Info
	Media() Media
	// Events must be received until it is closed, or until Hangup was called. When its bound is reached the line drops
	// what can be missed (captions that are not final), never digits, marks or the end.
	Events() <-chan Event
	// SendDigits sends 0-9 * # A-D and w (half a second's pause) and returns when they are on the line.
	SendDigits(ctx context.Context, digits string) error
	// Transfer hands the other party to target (E.164 or a URI that the line understands). When it returns nil the leg
	// ends with ReasonTransferred.
	Transfer(ctx context.Context, target string) error
	// Hangup ends the leg; later calls and calls after the end do nothing. Sound still queued is not played.
	Hangup(ctx context.Context, cause Cause) error
}

// Info is what is known of a leg at its answer; it does not change.
type Info struct {
	ID        string
	Direction Direction
	From, To  string
	// Codec on the wire, such as "PCMU"; "" in memory.
	Codec string
	// Elastic lines wait for their reader and their tap instead of dropping what comes too late: a recorder may block
	// there, and must drop on other lines.
	Elastic bool
	// Speed is media time per wall time: 1 on a real line, more on a sandbox that runs fast.
	Speed float64
	// State is what Reap needs after a crash; the engine stores it at the answer.
	State json.RawMessage
}

// Media is the sound of a leg, 8 kHz PCM; codecs, jitter and loss stay inside the line.
type Media interface {
	// ReadFrame waits for the next 20 ms from the other side and fills f. After the end of the leg it returns the *Ended.
	ReadFrame(f *Frame) error
	// Enqueue puts sound of an agent's turn behind what is queued. The line keeps pcm without copying it: it must not be
	// changed afterwards. It never blocks: ErrFull is back-pressure (nothing was taken, offer it again after the next
	// frame), ErrCleared tells that the turn was cleared.
	Enqueue(turn uint64, pcm []int16) error
	// Mark asks for an EventMark when playing reaches what is queued now; with nothing queued, at the next frame.
	// ErrCleared as above.
	Mark(turn uint64, id string) error
	// Clear drops all queued sound and marks of turns up to and including upTo, and refuses more of them: barge-in.
	// It returns how much of turn upTo was played. It works after the leg's end too.
	Clear(upTo uint64) (heard time.Duration)
	// Tap has f called for every 20 ms with both directions as they were on the line, until the leg's end; nil stops it.
	// f runs on the pacer: it must copy what it keeps and, unless the line is elastic, not block. Frames before the tap
	// are not delivered; Tick.At tells where the first belongs.
	Tap(f func(Tick))
}

// Backdrop is Media that can play a background under the agent's voice and in its pauses; [Playout] has it.
type Backdrop interface {
	// SetBackground plays a loop from now on, mixed into everything; nil is none. It is kept without copying.
	SetBackground(loop []int16)
}

// What Enqueue and Mark may return besides the *Ended of a leg that is over.
var (
	// ErrFull means that the playout queue ([PlayoutLimit]) has no room.
	ErrFull = errors.New("playout queue is full")
	// ErrCleared means that the turn was interrupted.
	ErrCleared = errors.New("turn was cleared")
)

// PlayoutLimit bounds the sound waiting to be played on a leg.
const PlayoutLimit = 30 * time.Second

// Frame is 20 ms from the other side.
type Frame struct {
	PCM audio.Frame
	// At is the media time at the frame's end: 20 ms for the first one after the answer.
	At time.Duration
	// Concealed frames were lost on the way and made up.
	Concealed bool
}

// Tick is 20 ms of both directions.
type Tick struct {
	// At is the media time at the tick's end, as in Frame.
	At time.Duration
	// Agent is what was sent, Caller what was received. They belong to the line after the tap returned.
	Agent, Caller *audio.Frame
}

// EventKind names what happened on a leg.
type EventKind string

// The events.
const (
	EventDigits         EventKind = "digits"          // Event.Digits were pressed by the other side
	EventHold           EventKind = "hold"            // the other side put us on hold
	EventResume         EventKind = "resume"          // and took us back
	EventCaption        EventKind = "caption"         // Event.Caption: what a scripted callee says (sandbox only)
	EventMark           EventKind = "mark"            // playing reached Event.Mark of Event.Turn
	EventMediaStalled   EventKind = "media_stalled"   // no sound has come for some seconds
	EventMediaRecovered EventKind = "media_recovered" // it comes again
	EventEnded          EventKind = "ended"           // Event.Ended; always the last
)

// Event is something that happened on a leg.
type Event struct {
	Kind    EventKind
	At      time.Duration
	Digits  string
	Caption Caption
	Turn    uint64
	Mark    string
	Ended   *Ended
}

// Caption is the text of an utterance as far as it is spoken. Text grows until Final.
type Caption struct {
	Text  string
	Final bool
}
