package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

// Barge-in: how much voice it takes to stop the agent, and how much when the words so far only show attention.
const (
	bargeInAfter     = 160 * time.Millisecond
	bargeInAttention = 700 * time.Millisecond
)

// mouth is what the conversation knows of the agent's voice.
type mouth struct {
	number   uint64
	turn     *turn
	held     []Turn // of others, until the turn they fell into is written down
	owed     string // said by the other side and not answered yet
	last     *ending
	faults   int // since the last turn that was heard
	sorry    bool
	local    chan Spoken
	fallback sync.WaitGroup
}

// purpose is what a turn is for.
type purpose struct {
	name  string
	fixed bool   // can not be interrupted
	then  func() // when it was heard
	idle  bool   // does not count against silence
}

// turn is the agent's turn that is wanted, made or played.
type turn struct {
	id       uint64
	reply    Reply
	purpose  purpose
	asked    time.Duration // when it was asked for, or when the last piece of it came
	voice    time.Duration // end of the voice that it answers; 0 for none
	items    []item
	queued   time.Duration // sound given to the line
	started  bool
	start    time.Duration
	complete bool
	calls    int
	endCall  bool
	local    bool    // spoken by the fallback
	pending  *Spoken // did not fit
	// When it was asked for, when the model began, and when text and sound came first, for Timing.
	askedAt, begunAt, textAt, soundAt time.Time
	soundNow                          time.Duration
	timing                            *Timing
}

// item is a sentence.
type item struct {
	id, text string
	sound    time.Duration
}

func (u *turn) audible() bool { return u.started || u.queued > 0 }

// asking tells that the turn is at the end of a question.
func (u *turn) asking(now time.Duration) bool {
	return u.complete && u.started && u.start+u.queued-now < time.Second && strings.HasSuffix(u.text(), "?")
}

func (m *mouth) full() bool { return m.turn != nil && m.turn.pending != nil }

// closing tells that the agent is saying its last words.
func (m *mouth) closing() bool { return m.turn != nil && (m.turn.endCall || m.sorry) || m.last != nil }

// reply asks for the answer to what was heard.
func (t *talk) reply(ctx context.Context, text string, voice time.Duration) {
	text, t.mouth.owed = join(t.mouth.owed, text), ""
	t.ask(ctx, Reply{Heard: text}, purpose{name: "answer"})
	t.mouth.turn.voice = voice
}

// ask begins an agent's turn; one that is going on is cut.
func (t *talk) ask(ctx context.Context, r Reply, p purpose) {
	t.cutTurn()
	t.mouth.number++
	r.Turn, r.AnsweredBy, r.Greeted = t.mouth.number, t.result.AnsweredBy, t.greeted
	t.mouth.turn = &turn{id: r.Turn, reply: r, purpose: p, asked: t.now, askedAt: time.Now()}
	t.still = false // each turn has its own patience
	if t.dialogue != nil {
		t.dialogue.Reply(r)
	}
}

// say takes a piece of the agent's turn.
func (t *talk) say(ctx context.Context, s Spoken) {
	u := t.mouth.turn
	if u == nil || s.Turn != u.id {
		return // of a turn that was interrupted
	}
	u.asked = t.now
	switch {
	case s.Err != nil:
		t.turnFailed(ctx, s.Err)
	case s.Tool != nil:
		t.tool(ctx, u, *s.Tool)
	case s.Done:
		t.complete(ctx, u)
	case s.Begun:
		u.begunAt = cmp.Or(u.begunAt, time.Now())
	case s.Text != "":
		u.textAt = cmp.Or(u.textAt, time.Now())
		if n := len(u.items) - 1; n >= 0 && u.items[n].id == s.Item {
			u.items[n].text += s.Text
		} else {
			u.items = append(u.items, item{id: s.Item, text: s.Text})
		}
	case len(s.PCM) > 0:
		t.enqueue(u, s)
	}
}

// enqueue gives sound to the line.
func (t *talk) enqueue(u *turn, s Spoken) {
	if u.queued == 0 {
		u.soundAt, u.soundNow = time.Now(), t.now
		_ = t.media.Mark(u.id, "start") // fails only with Enqueue
	}
	err := t.media.Enqueue(u.id, s.PCM)
	if errors.Is(err, carrier.ErrFull) {
		u.pending = &s
		return
	}
	u.pending = nil
	if err != nil {
		return // the leg is over; its event says so
	}
	d := audio.Duration(len(s.PCM))
	u.queued += d
	n := len(u.items) - 1
	if s.Item != "" && (n < 0 || u.items[n].id != s.Item) { // a realtime model's sound can be ahead of its text
		u.items = append(u.items, item{id: s.Item})
		n++
	}
	if n >= 0 {
		u.items[n].sound += d
	}
}

// payOwed answers what was said when it could not be answered.
func (t *talk) payOwed(ctx context.Context) {
	if t.mouth.owed != "" && t.mouth.turn == nil && t.ear.current == nil && t.ear.waiting == nil && t.phase == phaseTalk {
		t.reply(ctx, "", 0)
	}
}

// flush offers the sound that did not fit again.
func (t *talk) flush(context.Context) {
	if u := t.mouth.turn; u != nil && u.pending != nil {
		u.asked = t.now
		t.enqueue(u, *u.pending)
	}
}

// complete is the end of what there is to play.
func (t *talk) complete(ctx context.Context, u *turn) {
	u.complete = true
	switch {
	case u.queued > 0:
		_ = t.media.Mark(u.id, "end")
	case u.endCall && !t.spokeUp():
		// No call ends without a word: the model wants to hang up and has said nothing at all.
		t.ask(ctx, Reply{Say: phrasesIn(t.script.Language).goodbye}, purpose{name: "goodbye", fixed: true, then: func() {
			t.hangUp(carrier.ReasonAgentHangup, "The agent ended the call.", carrier.ClassSuccess)
		}})
	case u.endCall || u.calls > 0:
		t.over(u)
	default:
		t.turnFailed(ctx, errors.New("the reply was empty"))
	}
}

// spokeUp reports whether the agent has said anything in the call.
func (t *talk) spokeUp() bool {
	return slices.ContainsFunc(t.result.Turns, func(turn Turn) bool { return turn.Role == RoleAgent })
}

// marked is playing that reached a turn's start or end.
func (t *talk) marked(ctx context.Context, e carrier.Event) {
	u := t.mouth.turn
	if u == nil || e.Turn != u.id {
		return
	}
	if e.Mark == "end" {
		t.now = max(t.now, e.At)
		t.over(u)
		return
	}
	// The mark's frame has the first sound, so it began with that frame.
	u.started, u.start = true, e.At-audio.FrameTime
	if u.purpose.name == "greeting" || u.purpose.name == "answer" {
		t.greeted = true // even if it is cut, it is not said again
	}
	if t.result.Latency.Greeting == 0 {
		t.result.Latency.Greeting = max(u.start, 1)
	}
	if u.voice > 0 && u.start >= u.voice {
		t.result.Latency.Turns = append(t.result.Latency.Turns, u.start-u.voice)
	}
	u.timing = t.timing(u)
}

// timing sums up how a turn came about whose first sound is on the line.
func (t *talk) timing(u *turn) *Timing {
	d := &Timing{Playout: max(u.start-u.soundNow, 0)}
	if heard := t.ear.latest; heard != nil && u.voice > 0 && heard.last == u.voice {
		d.Endpoint, d.Transcription = max(heard.asked-heard.last, 0), max(heard.understood.Sub(heard.committed), 0)
	}
	if u.voice > 0 {
		d.VoiceToVoice = max(u.start-u.voice, 0)
	}
	from := u.askedAt
	for _, step := range []struct {
		at   time.Time
		took *time.Duration
	}{{u.begunAt, &d.FirstToken}, {u.textAt, &d.FirstSentence}, {u.soundAt, &d.FirstSound}} {
		if step.at.After(from) {
			*step.took, from = step.at.Sub(from), step.at
		}
	}
	return d
}

// over is a turn that was heard to its end.
func (t *talk) over(u *turn) {
	t.mouth.turn, t.mouth.faults = nil, 0
	if u.started {
		t.put(Turn{Role: RoleAgent, Content: u.text(), Start: u.start, End: t.now, Timing: u.timing})
	}
	t.releaseHeld(false)
	if !u.purpose.idle {
		t.lastAgent = t.now
		t.reminded = false
	}
	if u.purpose.then != nil {
		u.purpose.then()
	}
	if u.endCall {
		t.hangUp(carrier.ReasonAgentHangup, "The agent ended the call.", carrier.ClassSuccess)
	}
}

// cutTurn stops the agent's turn where it is and writes down what was heard of it. It returns what was not.
func (t *talk) cutTurn() (unheard string) {
	u := t.mouth.turn
	if u == nil {
		return ""
	}
	t.mouth.turn = nil
	played := t.media.Clear(u.id)
	heard, cut := u.heard(played)
	cut.Turn, cut.Text = u.id, heard
	if t.dialogue != nil && !u.local {
		t.dialogue.Interrupt(cut)
	}
	if u.started && heard != "" {
		t.put(Turn{Role: RoleAgent, Content: heard, Start: u.start, End: max(u.start+played, u.start), Interrupted: true, Timing: u.timing})
		t.lastAgent = t.now
	}
	t.releaseHeld(false)
	return strings.TrimSpace(strings.TrimPrefix(u.text(), heard))
}

// bargeIn stops the agent when the other side speaks into its turn, or goes on before it began.
func (t *talk) bargeIn(ctx context.Context) {
	u, heard := t.mouth.turn, t.ear.current
	if u == nil || heard == nil || t.phase != phaseTalk || u.purpose.fixed || t.mouth.closing() {
		return
	}
	needed := bargeInAfter
	if u.audible() && backchannel(heard.text) {
		needed = bargeInAttention
	}
	if heard.vain && heard.text == "" || heard.voice < needed || t.now-heard.last > 100*time.Millisecond {
		return
	}
	unheard := t.cutTurn()
	if u.started {
		heard.cutOff, heard.cutAt = unheard, t.now
	}
}

// text is all that the turn says.
func (u *turn) text() string {
	var texts []string
	for _, it := range u.items {
		if it.text != "" {
			texts = append(texts, strings.TrimSpace(it.text))
		}
	}
	return strings.Join(texts, " ")
}

// heard is the text of the first d of the turn's sound, and where it was cut. How long a sentence will be that is not
// made yet is guessed at three words a second.
func (u *turn) heard(d time.Duration) (string, Cut) {
	var texts []string
	for i, it := range u.items {
		total := it.sound
		if i == len(u.items)-1 && !u.complete {
			total = max(total, time.Duration(len(strings.Fields(it.text)))*time.Second/3)
		}
		if d < total || total == 0 {
			if part := wordsIn(it.text, d, max(total, 1)); part != "" && d > 0 {
				texts = append(texts, part)
			}
			return strings.Join(texts, " "), Cut{Item: it.id, Played: d}
		}
		texts = append(texts, it.text)
		d -= it.sound
	}
	return strings.Join(texts, " "), Cut{}
}

// record writes a turn down that is not the agent's speech: after the agent's turn that it fell into.
func (t *talk) record(turn Turn) {
	action := turn.Role == RoleFunctionCall || turn.Role == RoleFunctionResult
	if u := t.mouth.turn; u != nil && (u.started && u.start < turn.Start || action && u.audible()) {
		t.mouth.held = append(t.mouth.held, turn)
		return
	}
	t.put(turn)
}

func (t *talk) releaseHeld(all bool) {
	if t.mouth.turn != nil && !all {
		return
	}
	for _, turn := range t.mouth.held {
		t.put(turn)
	}
	t.mouth.held = nil
}

func (t *talk) put(turn Turn) {
	turn.Seq = len(t.result.Turns)
	t.result.Turns = append(t.result.Turns, turn)
}

func (t *talk) addFault(err error) { t.fault = errors.Join(t.fault, err) }

// checkReply gives up on a provider that is late.
func (t *talk) checkReply(ctx context.Context) {
	u := t.mouth.turn
	if t.mouth.last != nil && t.deadline > 0 && t.now >= t.deadline {
		t.end = t.mouth.last
		return
	}
	if u == nil || u.complete || u.pending != nil || t.calls > 0 || t.now-u.asked <= t.script.ReplyTimeout {
		return
	}
	if u.started && t.now < u.start+u.queued {
		return // there is still something to hear
	}
	t.turnFailed(ctx, fmt.Errorf("nothing of the reply came for %v", t.script.ReplyTimeout))
}
