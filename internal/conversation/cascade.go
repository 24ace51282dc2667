package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
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
	// error then. ctx ends with the turn. After tool calls Think is called again with their results in the history. A
	// turn without any sentence or tool call counts as a failure.
	Think(ctx context.Context, t Thought, emit func(Part) error) error
}

// Thought is what a brain thinks about.
type Thought struct {
	Script Script
	// History ends with what is to be answered. Without an entry of the other side an opening is asked for.
	History    []Message
	AnsweredBy string
	Greeted    bool
	Fresh      bool
}

// Message is one entry of the history.
type Message struct {
	Role Role
	// Text said, or a function_result.
	Text string
	// Tool of a function_call or function_result.
	Tool *ToolCall
}

// Part is a sentence or a tool call, or tells that the first token has come.
type Part struct {
	Sentence string
	Tool     *ToolCall
	Begun    bool
}

// Warmer is a part of a Cascade that can open its connections before they are needed.
type Warmer interface{ Connect(ctx context.Context) }

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

func (s Script) line(text string) Line {
	return Line{Text: text, Language: s.Language, VoiceID: s.VoiceID, Rate: s.SpeakingRate}
}

// Warm is that of Speech.
func (c Cascade) Warm(ctx context.Context, s Script) {
	s = s.withDefaults()
	var connecting sync.WaitGroup
	defer connecting.Wait()
	for _, part := range []any{c.Ears, c.Brain} {
		if w, ok := part.(Warmer); ok {
			connecting.Go(func() { w.Connect(ctx) })
		}
	}
	lines := []string{s.Greeting}
	if s.Consent != "" {
		lines = []string{s.ConsentPrompt, s.Greeting}
	}
	if s.IdleAfter > 0 {
		lines = append(lines, s.IdleReminder)
	}
	for _, text := range lines {
		for _, sentence := range sentences(text) {
			c.Voice.Warm(ctx, s.line(sentence))
		}
	}
}

// Open is that of Speech.
func (c Cascade) Open(ctx context.Context, s Script) (Dialogue, error) {
	ears, err := c.Ears.Listen(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("open the ears: %w", err)
	}
	d := &cascade{Cascade: c, Listening: ears, script: s, spoken: make(chan Spoken, 16)}
	d.ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return d, nil
}

// cascade is the Dialogue: the ears as they are, and a goroutine for the turn that is being made.
type cascade struct {
	Cascade
	Listening
	script Script
	spoken chan Spoken
	ctx    context.Context
	cancel context.CancelFunc
	turns  sync.WaitGroup

	mu      sync.Mutex
	history []entry
	turn    *making
	ahead   *thinking
	tries   int // of thinking ahead for the coming turn
}

// entry is a message of a turn; 0 for the other side's.
type entry struct {
	Message
	turn uint64
}

// making is a turn that is being made.
type making struct {
	reply   Reply
	cancel  context.CancelFunc
	ctx     context.Context
	results chan Message
	items   int
	ahead   *thinking // was begun before the turn
	resumed bool
}

// thinking is a brain at work.
type thinking struct {
	about  Reply
	cancel context.CancelFunc
	parts  chan Part
	failed chan error
}

// maxAhead bounds how often the brain thinks ahead for one turn: a caller with many pauses would cost a request each.
const maxAhead = 3

// maxThoughts bounds how often a brain may go on with another tool call in one turn.
const maxThoughts = 8

func (d *cascade) Spoken() <-chan Spoken { return d.spoken }

func (d *cascade) Reply(r Reply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turn != nil {
		d.turn.cancel()
	}
	if r.Heard != "" && !r.Fresh {
		d.history = append(d.history, entry{Message: Message{Role: RoleUser, Text: r.Heard}})
	}
	m := &making{reply: r, results: make(chan Message, maxThoughts)}
	m.ctx, m.cancel = context.WithCancel(d.ctx)
	if ahead := d.ahead; ahead != nil {
		if ahead.about.Heard == r.Heard && ahead.about.AnsweredBy == r.AnsweredBy && ahead.about.Greeted == r.Greeted && r.Say == "" && !r.Fresh {
			m.ahead = ahead
			context.AfterFunc(m.ctx, ahead.cancel)
		} else {
			ahead.cancel()
		}
	}
	d.ahead, d.tries = nil, 0
	d.turn = m
	d.turns.Go(func() {
		defer m.cancel()
		if err := d.make(m); err != nil {
			d.send(m, Spoken{Err: err})
			return
		}
		d.send(m, Spoken{Done: true})
	})
}

// Anticipate is that of Anticipator.
func (d *cascade) Anticipate(r Reply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ahead != nil {
		if d.ahead.about == r {
			return
		}
		d.ahead.cancel()
		d.ahead = nil
	}
	if d.tries++; d.tries > maxAhead {
		return
	}
	t := Thought{Script: d.script, AnsweredBy: r.AnsweredBy, Greeted: r.Greeted}
	for _, e := range d.history {
		t.History = append(t.History, e.Message)
	}
	t.History = append(t.History, Message{Role: RoleUser, Text: r.Heard})
	d.ahead = d.begin(d.ctx, t)
	d.ahead.about = r
}

// begin has the brain think in a goroutine.
func (d *cascade) begin(ctx context.Context, t Thought) *thinking {
	ctx, cancel := context.WithCancel(ctx)
	b := &thinking{cancel: cancel, parts: make(chan Part, 4), failed: make(chan error, 1)}
	d.turns.Go(func() {
		defer close(b.parts)
		b.failed <- d.Brain.Think(ctx, t, func(p Part) error {
			select {
			case b.parts <- p:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	return b
}

func (d *cascade) Interrupt(c Cut) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turn != nil && d.turn.reply.Turn == c.Turn {
		d.turn.cancel()
	}
	// What was heard replaces what was said.
	kept := d.history[:0]
	said := false
	for _, e := range d.history {
		if e.turn != c.Turn || e.Role != RoleAgent {
			kept = append(kept, e)
		} else if said = true; c.Text != "" {
			e.Text = c.Text
			kept = append(kept, e)
		}
	}
	d.history = kept
	if !said && c.Text != "" {
		d.history = append(d.history, entry{Message{Role: RoleAgent, Text: c.Text}, c.Turn})
	}
}

func (d *cascade) ToolResult(turn uint64, id string, result json.RawMessage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turn == nil || d.turn.reply.Turn != turn {
		return
	}
	select {
	case d.turn.results <- Message{Role: RoleFunctionResult, Text: string(result), Tool: &ToolCall{ID: id}}:
	default:
	}
}

// Close is that of Dialogue.
func (d *cascade) Close() error {
	d.cancel()
	err := d.Listening.Close()
	d.turns.Wait()
	return err
}

// send delivers a piece of the turn unless it was interrupted.
func (d *cascade) send(m *making, s Spoken) error {
	s.Turn = m.reply.Turn
	select {
	case <-m.ctx.Done():
		return context.Cause(m.ctx)
	default:
	}
	select {
	case d.spoken <- s:
		return nil
	case <-m.ctx.Done():
		return context.Cause(m.ctx)
	}
}

// make carries a turn out.
func (d *cascade) make(m *making) error {
	if m.reply.Say != "" {
		for _, sentence := range sentences(m.reply.Say) {
			if err := d.speak(m, sentence); err != nil {
				return err
			}
		}
		return nil
	}
	for range maxThoughts {
		called, err := d.think(m)
		var broken *brokenOff
		if errors.As(err, &broken) && m.items > 0 && !m.resumed && m.ctx.Err() == nil {
			m.resumed, m.reply.Fresh = true, true // the other side has heard half of it: let it end the sentence
			continue
		}
		if err != nil || called == 0 {
			return err
		}
		for range called {
			select {
			case result := <-m.results:
				d.remember(m, result)
			case <-m.ctx.Done():
				return context.Cause(m.ctx)
			}
		}
	}
	return fmt.Errorf("the brain called tools %d times in one turn", maxThoughts)
}

// think has the brain think once and speaks while it does; it returns the number of tool calls that have a result.
func (d *cascade) think(m *making) (called int, err error) {
	b := m.ahead
	m.ahead = nil
	if b == nil {
		b = d.begin(m.ctx, d.thought(m))
	}
	defer b.cancel()
	for p := range b.parts {
		if err != nil {
			continue
		}
		if p.Begun {
			err = d.send(m, Spoken{Begun: true})
			continue
		}
		if p.Tool == nil {
			err = d.speak(m, p.Sentence)
			continue
		}
		if err = d.send(m, Spoken{Tool: p.Tool}); err == nil && p.Tool.Name != ToolEndCall {
			d.remember(m, Message{Role: RoleFunctionCall, Text: string(p.Tool.Arguments), Tool: p.Tool})
			called++
		}
	}
	if thought := <-b.failed; err == nil && thought != nil {
		err = &brokenOff{thought}
	}
	return called, err
}

// brokenOff is a brain that failed.
type brokenOff struct{ error }

func (b *brokenOff) Unwrap() error { return b.error }

func (d *cascade) thought(m *making) Thought {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := Thought{Script: d.script, AnsweredBy: m.reply.AnsweredBy, Greeted: m.reply.Greeted, Fresh: m.reply.Fresh}
	for _, e := range d.history {
		t.History = append(t.History, e.Message)
	}
	return t
}

func (d *cascade) speak(m *making, sentence string) error {
	if sentence == "" {
		return nil
	}
	m.items++
	item := fmt.Sprintf("%d.%d", m.reply.Turn, m.items)
	if err := d.send(m, Spoken{Item: item, Text: sentence}); err != nil {
		return err
	}
	d.remember(m, Message{Role: RoleAgent, Text: sentence})
	return d.Voice.Speak(m.ctx, d.script.line(sentence), func(pcm []int16) error {
		return d.send(m, Spoken{Item: item, PCM: pcm})
	})
}

// remember adds to the history; sentences of a turn become one message.
func (d *cascade) remember(m *making, msg Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.ctx.Err() != nil {
		return
	}
	if n := len(d.history) - 1; n >= 0 && msg.Role == RoleAgent && d.history[n].Role == RoleAgent && d.history[n].turn == m.reply.Turn {
		d.history[n].Text += " " + msg.Text
		return
	}
	d.history = append(d.history, entry{msg, m.reply.Turn})
}
