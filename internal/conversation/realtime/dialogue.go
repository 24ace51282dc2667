package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/scripted"
	"github.com/callwright/callwright/internal/openai"
)

// Bounds of a dialogue.
const (
	maxOrders = 1024            // of the conversation, waiting for the loop; sound is dropped from there on
	maxAhead  = 2 * time.Minute // sound that the model may be ahead of the line; then the server has to wait
	maxRounds = 8               // responses of one turn, with tool calls between them
	maxRedial = 2               // new connections without a whole turn between them
	batchSize = 480             // bytes of sound in one event: 60 ms
	// cancelTime is how long a cancelled response may take to end.
	cancelTime = 2 * time.Second
	// transcriptTime is how long a transcript may take before the utterance goes on without one.
	transcriptTime = 3 * time.Second
	// unheard stands for speech that the model heard and nobody wrote down.
	unheard = "(not transcribed)"
)

// dialogue is one call. A loop owns everything below the channels; the methods only give it orders.
type dialogue struct {
	speech *Speech
	script conversation.Script
	heard  chan conversation.Utterance
	spoken chan conversation.Spoken
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	orders []func()
	wake   chan struct{}

	conn      *openai.RealtimeConn
	connected chan connection
	dialing   bool
	redials   int // since the last whole turn
	told      string
	memory    memory
	ear       ear
	turn      *turn // the newest one
	early     *turn // made before it is asked for; nil mostly
	requests  int
	active    *response // of the server
	pending   []conversation.Spoken
	ahead     time.Duration // sound in pending
}

// ear is the way of the other side's words.
type ear struct {
	captions  conversation.Listening
	captioned bool
	utterance uint64 // whose sound is in the server's buffer
	wire      []byte // not sent yet
	asked     []uint64
	items     map[string]uint64 // the server's item → utterance
	texts     map[uint64]string // as far as they have come
}

// connection is what became of dialing.
type connection struct {
	conn *openai.RealtimeConn
	err  error
}

// open begins a dialogue on a connection that is set up.
func open(ctx context.Context, s *Speech, script conversation.Script, conn *openai.RealtimeConn) *dialogue {
	d := &dialogue{
		speech: s, script: script, conn: conn,
		heard: make(chan conversation.Utterance, 32), spoken: make(chan conversation.Spoken, 16), wake: make(chan struct{}, 1),
		connected: make(chan connection),
		ear:       ear{items: map[string]uint64{}, texts: map[uint64]string{}},
	}
	d.ear.captions, _ = scripted.Ears{}.Listen(ctx, script) // never fails
	d.ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	d.work.Go(d.run)
	return d
}

func (d *dialogue) Heard() <-chan conversation.Utterance { return d.heard }
func (d *dialogue) Spoken() <-chan conversation.Spoken   { return d.spoken }

func (d *dialogue) Close() error {
	d.cancel()
	d.work.Wait()
	return d.ear.captions.Close()
}

// order has the loop do something, in the order of the orders.
func (d *dialogue) order(do func()) {
	d.mu.Lock()
	d.orders = append(d.orders, do)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Hear passes on what belongs to utterances only; silence costs nothing.
func (d *dialogue) Hear(h conversation.Heard) {
	d.mu.Lock()
	full := len(d.orders) >= maxOrders
	d.mu.Unlock()
	if full || h.Utterance == 0 && len(h.Captions) == 0 {
		return
	}
	var wire []byte
	if h.Utterance != 0 && len(h.Preroll) > 0 {
		for i := range h.Preroll {
			wire = audio.EncodeUlaw(wire, h.Preroll[i][:])
		}
	} else if h.Utterance != 0 {
		wire = audio.EncodeUlaw(nil, h.Frame[:])
	}
	h.Frame, h.Preroll = nil, nil
	d.order(func() { d.listen(h, wire) })
}

func (d *dialogue) Commit(utterance uint64) { d.order(func() { d.commit(utterance) }) }

func (d *dialogue) Reply(r conversation.Reply) { d.order(func() { d.reply(r) }) }

func (d *dialogue) Interrupt(c conversation.Cut) { d.order(func() { d.interrupt(c) }) }

func (d *dialogue) ToolResult(turn uint64, id string, result json.RawMessage) {
	d.order(func() { d.toolResult(turn, id, string(result)) })
}

// run is the loop.
func (d *dialogue) run() {
	defer func() {
		if d.conn != nil {
			_ = d.conn.Close()
		}
	}()
	for {
		var events <-chan openai.RealtimeEvent
		if d.conn != nil && d.ahead < maxAhead {
			events = d.conn.Events()
		}
		var out chan<- conversation.Spoken
		var next conversation.Spoken
		if len(d.pending) > 0 {
			out, next = d.spoken, d.pending[0]
		}
		select {
		case <-d.ctx.Done():
			return
		case <-d.wake:
			d.mu.Lock()
			orders := d.orders
			d.orders = nil
			d.mu.Unlock()
			for _, do := range orders {
				do()
			}
		case c := <-d.connected:
			d.dialed(c.conn, c.err)
		case e, ok := <-events:
			if !ok {
				d.lost(d.conn.Err())
				continue
			}
			d.event(e)
		case out <- next:
			d.pending = d.pending[1:]
			d.ahead -= audio.Duration(len(next.PCM))
			if t := d.turn; t != nil && t.reply.Turn == next.Turn && next.Item != "" {
				t.item(next.Item).told = true
			}
		}
	}
}

// emit queues a piece of a turn and remembers it, or holds it back until it is wanted.
func (d *dialogue) emit(t *turn, s conversation.Spoken) {
	if t == d.early {
		t.held = append(t.held, s)
		return
	}
	s.Turn = t.reply.Turn
	switch {
	case s.Text != "":
		d.memory.say(s.Turn, s.Item, s.Text)
	case s.Tool != nil && s.Tool.Name != conversation.ToolEndCall:
		d.memory.call(s.Turn, *s.Tool)
	}
	d.pending = append(d.pending, s)
	d.ahead += audio.Duration(len(s.PCM))
}

// send queues an event for the server. A server that does not read is as good as gone.
func (d *dialogue) send(events ...object) {
	for _, e := range events {
		if d.conn == nil {
			return
		}
		if err := d.conn.Send(e); err != nil {
			d.lost(err)
		}
	}
}

// after has the loop do something later unless the dialogue is over by then.
func (d *dialogue) after(t time.Duration, do func()) {
	time.AfterFunc(t, func() { d.order(do) })
}

// lost is the end of the connection. What was under way on it fails; nothing else is noticed.
func (d *dialogue) lost(err error) {
	d.early = nil
	d.hangUp()
	for u := range d.openUtterances() {
		d.forgetUtterance(u)
		d.tell(conversation.Utterance{ID: u, Err: err})
	}
	if d.turn != nil && !d.turn.over {
		d.failTurn(d.turn, err)
		return // asking again brings a fresh connection
	}
	if d.redials < maxRedial {
		d.dial()
	}
}

// hangUp leaves a connection; its goroutines end beside the loop.
func (d *dialogue) hangUp() {
	if conn := d.conn; conn != nil {
		d.work.Go(func() { _ = conn.Close() })
	}
	d.conn, d.active, d.told = nil, nil, ""
	d.ear.utterance, d.ear.wire = 0, nil
}

// dial gets a new connection and tells it what was said so far.
func (d *dialogue) dial() {
	if d.dialing {
		return
	}
	d.dialing = true
	d.redials++
	d.work.Go(func() {
		conn, err := d.speech.connect(d.ctx, d.script)
		select {
		case d.connected <- connection{conn, err}:
		case <-d.ctx.Done():
			if conn != nil {
				_ = conn.Close()
			}
		}
	})
}

func (d *dialogue) dialed(conn *openai.RealtimeConn, err error) {
	d.dialing = false
	if err != nil {
		d.failTurn(d.turn, err)
		return
	}
	d.conn = conn
	d.send(d.memory.items()...)
	d.request()
}

// event takes what the server says.
func (d *dialogue) event(e openai.RealtimeEvent) {
	switch e.Type {
	case openai.RealtimeCommitted:
		if len(d.ear.asked) > 0 && e.ItemID != "" {
			d.ear.items[e.ItemID] = d.ear.asked[0]
			d.ear.asked = d.ear.asked[1:]
		}
	case openai.RealtimeHeardDelta, openai.RealtimeHeard, openai.RealtimeHeardFailed:
		d.transcript(e)
	case openai.RealtimeFailed:
		d.refused(e.Error)
	default:
		d.spokenEvent(e)
	}
}

// refused takes an error event. Most are about something that is over already.
func (d *dialogue) refused(e *openai.RealtimeError) {
	err := e.AsError()
	d.speech.c.Log.Debug("the realtime server reports an error", "call", d.script.CallID, "code", err.Code, "event", e.EventID)
	switch {
	case e.Code == "conversation_already_has_active_response":
		if d.active != nil && d.active.id == "" {
			if d.active.turn != nil {
				d.active.turn.want = true // ours is asked for again when that of somebody else ends
			}
			d.active = &response{cancelled: true}
			d.giveUpOn(d.active)
		}
	case e.Code == "response_cancel_not_active":
		if d.active != nil && d.active.cancelled {
			d.active = nil
			d.request()
		}
	case e.EventID == commitEvent || e.Code == "input_audio_buffer_commit_empty":
		if len(d.ear.asked) > 0 {
			u := d.ear.asked[0]
			d.forgetUtterance(u)
			d.tell(conversation.Utterance{ID: u, Final: true})
		}
	case d.active != nil && !d.active.cancelled && (e.EventID == d.active.event || e.EventID == "" && d.active.id == "" || e.Type == "server_error"):
		t := d.active.turn
		d.active = nil
		d.failTurn(t, err)
		d.request()
	}
}

var errNoConnection = errors.New("there is no realtime connection")
