package realtime

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/openai"
)

// turn is the agent's turn that is being made, or was made last, or one that is made before it is asked for (early.go).
type turn struct {
	reply  conversation.Reply
	want   bool // a response is to be asked for when the server is free
	begun  bool // the model has answered
	over   bool // all of it is made
	rounds int
	items  []*spokenItem
	calls  map[string]bool // tool calls of the turn; true when settled
	quiet  bool            // the last tools want no words
	ending bool            // the model ends the call

	held      []conversation.Spoken // of an early turn
	utterance uint64                // that it answers
	heard     string                // its text, when that is known
}

// spokenItem is a message of the model.
type spokenItem struct {
	id    string
	sound time.Duration
	told  bool // the conversation has some of it
}

func (t *turn) item(id string) *spokenItem {
	for _, it := range t.items {
		if it.id == id {
			return it
		}
	}
	t.items = append(t.items, &spokenItem{id: id})
	return t.items[len(t.items)-1]
}

// unsettled is how many tool calls wait for their results.
func (t *turn) unsettled() (n int) {
	for _, settled := range t.calls {
		if !settled {
			n++
		}
	}
	return n
}

// response is what the server is making.
type response struct {
	turn      *turn
	id        string
	event     string // of our request
	cancelled bool
	names     map[string]string // of tool calls, by call id
}

// reply begins a turn.
func (d *dialogue) reply(r conversation.Reply) {
	if d.adopt(r) {
		return
	}
	d.dropEarly()
	d.stopTurn()
	d.turn = &turn{reply: r, want: true, calls: map[string]bool{}}
	rest := ""
	if !r.Fresh {
		rest = d.memory.answer(r.Heard)
	}
	if r.Fresh {
		d.hangUp()
	}
	if d.conn == nil {
		d.dial()
		return
	}
	if rest != "" {
		d.send(message(conversation.RoleUser, rest))
	}
	d.request()
}

// request asks for the next response that is wanted as soon as the server is free.
func (d *dialogue) request() {
	if d.conn == nil || d.active != nil {
		return
	}
	t := d.turn
	if t == nil || !t.want {
		t = d.early
	}
	if t == nil || !t.want {
		return
	}
	t.want = false
	if by := t.reply.AnsweredBy; by != d.told && by != conversation.AnsweredByHuman {
		d.told = by
		d.send(answered(d.script, by))
	}
	t.rounds++
	d.requests++
	event := fmt.Sprintf("response-%d", d.requests)
	wanted := object{"metadata": object{"turn": fmt.Sprint(t.reply.Turn)}}
	switch {
	case t.reply.Say != "":
		wanted["instructions"], wanted["tool_choice"] = sayExactly(t.reply.Say), "none"
	case len(d.memory.entries) == 0 && t != d.early:
		wanted["instructions"] = d.script.Instructions(t.reply.AnsweredBy) + openCall
	}
	d.active = &response{turn: t, event: event, names: map[string]string{}}
	d.send(object{"type": "response.create", "event_id": event, "response": wanted})
}

// stopTurn has the server make no more of the newest turn.
func (d *dialogue) stopTurn() {
	d.pending, d.ahead = nil, 0
	if t := d.turn; t != nil {
		t.want, t.over = false, true
		for id, settled := range t.calls {
			if !settled {
				t.calls[id] = true
				d.memory.result(t.reply.Turn, id, interrupted)
				d.send(result(id, interrupted))
			}
		}
	}
	if d.active != nil && d.active.turn != d.early {
		d.stopResponse()
	}
}

// stopResponse cancels what the server is making.
func (d *dialogue) stopResponse() {
	a := d.active
	if a == nil || a.cancelled {
		return
	}
	a.cancelled = true
	cancel := object{"type": "response.cancel"}
	if a.id != "" {
		cancel["response_id"] = a.id
	}
	d.send(cancel)
	d.giveUpOn(a)
}

const interrupted = `{"error":"interrupted"}`

// giveUpOn waits no longer than cancelTime for the end of a response.
func (d *dialogue) giveUpOn(a *response) {
	d.after(cancelTime, func() {
		if d.active == a {
			d.active = nil
			d.request()
		}
	})
}

// interrupt stops a turn and has the server forget what was not heard of it.
func (d *dialogue) interrupt(c conversation.Cut) {
	t := d.turn
	if t == nil || t.reply.Turn != c.Turn {
		return
	}
	d.dropEarly()
	d.stopTurn()
	d.memory.cut(c.Turn, c.Text)
	cut := c.Text == "" // everything
	for _, it := range t.items {
		played := it.sound
		if it.id == c.Item {
			played, cut = min(c.Played, it.sound), true
		} else if cut || !it.told {
			played = 0
		}
		switch {
		case played == 0:
			d.send(object{"type": "conversation.item.delete", "item_id": it.id})
		case played < it.sound || it.id == c.Item:
			d.send(object{"type": "conversation.item.truncate", "item_id": it.id, "content_index": 0, "audio_end_ms": played.Milliseconds()})
		}
	}
}

// spokenEvent takes what the server says of its responses.
func (d *dialogue) spokenEvent(e openai.RealtimeEvent) {
	a, id := d.active, e.ResponseID
	if e.Response != nil {
		id = e.Response.ID
	}
	if a == nil || a.id != "" && id != "" && a.id != id {
		return // of a response that was given up
	}
	if e.Type == openai.RealtimeResponseCreated {
		a.id = id
		return
	}
	if e.Type == openai.RealtimeResponseDone {
		d.active = nil
		switch {
		case a.turn == nil:
		case a.cancelled || a.turn.over:
			d.forgetLate(a.turn, e.Response)
		default:
			d.responseDone(a, e.Response)
		}
		d.request()
		return
	}
	t := a.turn
	if a.cancelled || t == nil || t.over {
		return
	}
	switch e.Type {
	case openai.RealtimeAudio:
		if len(e.Delta) > 0 {
			pcm := audio.DecodeUlaw(make([]int16, 0, len(e.Delta)), e.Delta)
			t.item(e.ItemID).sound += audio.Duration(len(pcm))
			d.emit(t, conversation.Spoken{Item: e.ItemID, PCM: pcm})
		}
	case openai.RealtimeSaid, openai.RealtimeSaidText:
		if e.Text != "" {
			t.item(e.ItemID)
			d.emit(t, conversation.Spoken{Item: e.ItemID, Text: e.Text})
		}
	case openai.RealtimeItemAdded, openai.RealtimeItemDone:
		if e.Type == openai.RealtimeItemAdded && !t.begun {
			t.begun = true
			d.emit(t, conversation.Spoken{Begun: true})
		}
		if e.Item != nil && e.Item.Type == "function_call" {
			a.names[e.Item.CallID] = e.Item.Name
			if e.Type == openai.RealtimeItemDone {
				d.called(a, *e.Item)
			}
		}
	case openai.RealtimeCalled:
		d.called(a, openai.RealtimeItem{CallID: e.CallID, Name: e.Name, Arguments: e.Arguments})
	}
}

// forgetLate has the server forget items that were begun when their turn was over already.
func (d *dialogue) forgetLate(t *turn, r *openai.RealtimeResponse) {
	if r == nil {
		return
	}
	for _, it := range r.Output {
		known := slices.ContainsFunc(t.items, func(s *spokenItem) bool { return s.id == it.ID })
		if it.Type == "message" && it.ID != "" && !known {
			d.send(object{"type": "conversation.item.delete", "item_id": it.ID})
		}
	}
}

// called takes a tool call, which servers tell up to three times; once with everything in it is enough.
func (d *dialogue) called(a *response, it openai.RealtimeItem) {
	t := a.turn
	if it.Name == "" {
		it.Name = a.names[it.CallID]
	}
	if _, known := t.calls[it.CallID]; known || it.Name == "" || it.CallID == "" {
		return
	}
	call := conversation.ToolCall{ID: it.CallID, Name: it.Name, Arguments: arguments(it.Arguments)}
	t.quiet = (t.quiet || len(t.calls) == 0) && it.Name == conversation.ToolPressDigits
	if it.Name == conversation.ToolEndCall {
		t.ending, t.calls[it.CallID] = true, true
	} else {
		t.calls[it.CallID] = false
	}
	d.emit(t, conversation.Spoken{Tool: &call})
}

// responseDone is the end of a response that counts.
func (d *dialogue) responseDone(a *response, r *openai.RealtimeResponse) {
	t := a.turn
	if r == nil {
		r = &openai.RealtimeResponse{}
	}
	for _, it := range r.Output {
		if it.Type == "function_call" {
			d.called(a, it)
		}
	}
	switch r.Status {
	case "failed":
		d.failTurn(t, (&openai.RealtimeError{Type: r.Details.Error.Type, Code: r.Details.Error.Code}).AsError())
		return
	case "cancelled", "incomplete":
		if len(t.items) == 0 && len(t.calls) == 0 {
			d.failTurn(t, fmt.Errorf("the model's response was %s (%s)", r.Status, r.Details.Reason))
			return
		}
	}
	d.goOn(t)
}

// goOn ends a turn, or has the model continue it when its tools have their results.
func (d *dialogue) goOn(t *turn) {
	switch {
	case t.over || d.active != nil || t.want || t.unsettled() > 0 && !t.ending:
	case len(t.calls) > 0 && !t.ending && !t.quiet:
		if t.rounds >= maxRounds {
			d.failTurn(t, fmt.Errorf("the model called tools %d times in one turn", maxRounds))
			return
		}
		t.calls = map[string]bool{} // the next response may call others
		t.want = true
		d.request()
	default:
		t.over = true
		d.redials = 0
		d.emit(t, conversation.Spoken{Done: true})
	}
}

// toolResult gives the model the result of a call.
func (d *dialogue) toolResult(number uint64, id, text string) {
	t := d.turn
	if t == nil || t.reply.Turn != number {
		return
	}
	if settled, known := t.calls[id]; !known || settled {
		return
	}
	t.calls[id] = true
	d.memory.result(number, id, text)
	d.send(result(id, text))
	if failed(text) {
		t.quiet = false // the model should know that no key was pressed
	}
	d.goOn(t)
}

func (d *dialogue) failTurn(t *turn, err error) {
	switch {
	case t == nil || t.over:
	case t == d.early:
		d.dropEarly() // it is asked for again when it is wanted
	default:
		t.over, t.want = true, false
		d.emit(t, conversation.Spoken{Err: errors.Join(errors.New("realtime model"), err)})
	}
}
