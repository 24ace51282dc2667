package realtime

import "github.com/callwright/callwright/internal/conversation"

// A turn may be made early: when an utterance is over, the model is asked for its answer while the transcript is still
// being made, which saves the time of the transcript. What it says is held back, and its tools are not called, until the
// conversation asks for just that answer; if it wants anything else, or the utterance was noise, the early turn is taken
// back and the server forgets it.

// anticipate asks for the answer to an utterance that was just committed.
func (d *dialogue) anticipate(utterance uint64) {
	d.dropEarly()
	t := d.turn
	if d.conn == nil || d.active != nil || t == nil || !t.over || t.ending ||
		t.reply.AnsweredBy == conversation.AnsweredByIVR || t.reply.AnsweredBy == conversation.AnsweredByVoicemail {
		return
	}
	d.early = &turn{want: true, calls: map[string]bool{}, utterance: utterance, reply: conversation.Reply{AnsweredBy: t.reply.AnsweredBy}}
	d.request()
}

// anticipated takes the text of an utterance.
func (d *dialogue) anticipated(utterance uint64, text string) {
	switch e := d.early; {
	case e == nil || e.utterance != utterance:
	case text == "":
		d.dropEarly()
	default:
		e.heard = text
	}
}

// adopt makes the early turn the one that is asked for; false when it is another.
func (d *dialogue) adopt(r conversation.Reply) bool {
	e := d.early
	if e == nil || r.Say != "" || r.Fresh || e.heard == "" || r.Heard != e.heard {
		return false
	}
	if r.AnsweredBy != e.reply.AnsweredBy && r.AnsweredBy != conversation.AnsweredByHuman {
		return false
	}
	d.stopTurn()
	d.memory.answer(r.Heard)
	held := e.held
	e.held, e.reply = nil, r
	d.turn, d.early = e, nil
	for _, s := range held {
		d.emit(e, s)
	}
	return true
}

// dropEarly takes the early turn back.
func (d *dialogue) dropEarly() {
	e := d.early
	if e == nil {
		return
	}
	e.over, e.want = true, false
	if d.active != nil && d.active.turn == e {
		d.stopResponse()
	}
	d.early = nil
	for _, it := range e.items {
		d.send(object{"type": "conversation.item.delete", "item_id": it.id})
	}
	for id := range e.calls {
		d.send(result(id, interrupted))
	}
}
