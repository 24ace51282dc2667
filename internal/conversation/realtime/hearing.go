package realtime

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/openai"
)

// commitEvent is the id of the events that end an utterance, for errors about them.
const commitEvent = "commit"

// listen takes a frame of an utterance.
func (d *dialogue) listen(h conversation.Heard, wire []byte) {
	e := &d.ear
	e.captioned = e.captioned || len(h.Captions) > 0
	e.captions.Hear(h)
	if e.captioned {
		d.readCaptions()
		return
	}
	if h.Utterance == 0 || d.conn == nil {
		return
	}
	if e.utterance != h.Utterance {
		if e.utterance != 0 { // it was dropped without a Commit
			d.send(object{"type": "input_audio_buffer.clear"})
		}
		e.utterance, e.wire = h.Utterance, nil
	}
	if e.wire = append(e.wire, wire...); len(e.wire) >= batchSize {
		d.flush()
	}
}

// flush sends the sound that was collected; as []byte it becomes base64.
func (d *dialogue) flush() {
	if wire := d.ear.wire; len(wire) > 0 {
		d.ear.wire = nil
		d.send(object{"type": "input_audio_buffer.append", "audio": wire})
	}
}

// commit ends an utterance.
func (d *dialogue) commit(utterance uint64) {
	e := &d.ear
	if e.captioned {
		e.captions.Commit(utterance)
		d.readCaptions()
		return
	}
	if d.conn == nil || e.utterance != utterance {
		d.tell(conversation.Utterance{ID: utterance, Err: errNoConnection})
		return
	}
	d.flush()
	e.utterance = 0
	if d.conn == nil {
		return
	}
	e.asked = append(e.asked, utterance)
	d.send(object{"type": "input_audio_buffer.commit", "event_id": commitEvent})
	d.anticipate(utterance)
	d.after(transcriptTime, func() {
		if slices.Contains(slices.Collect(d.openUtterances()), utterance) {
			d.understood(utterance, unheard)
		}
	})
}

// transcript takes the words of an utterance. A server that names no item means the oldest one.
func (d *dialogue) transcript(e openai.RealtimeEvent) {
	u, known := d.ear.items[e.ItemID]
	if !known && len(d.ear.asked) > 0 {
		u, known = d.ear.asked[0], true
	}
	if !known {
		return
	}
	switch e.Type {
	case openai.RealtimeHeardDelta:
		d.ear.texts[u] += e.Text
		d.tell(conversation.Utterance{ID: u, Text: strings.TrimSpace(d.ear.texts[u])})
	case openai.RealtimeHeardFailed:
		d.understood(u, unheard) // the model has heard it all the same
	default:
		text := strings.TrimSpace(e.Text)
		if text == "" && e.ItemID != "" {
			d.send(object{"type": "conversation.item.delete", "item_id": e.ItemID}) // noise
		}
		d.understood(u, text)
	}
}

// understood is the end of an utterance that the model has as sound.
func (d *dialogue) understood(u uint64, text string) {
	d.forgetUtterance(u)
	if text != "" {
		d.memory.hear(text)
	}
	d.anticipated(u, text)
	d.tell(conversation.Utterance{ID: u, Text: text, Final: true})
}

// openUtterances are those whose words are awaited.
func (d *dialogue) openUtterances() iter.Seq[uint64] {
	return slices.Values(slices.Concat(d.ear.asked, slices.Collect(maps.Values(d.ear.items))))
}

func (d *dialogue) forgetUtterance(u uint64) {
	d.ear.asked = slices.DeleteFunc(d.ear.asked, func(o uint64) bool { return o == u })
	maps.DeleteFunc(d.ear.items, func(_ string, o uint64) bool { return o == u })
	delete(d.ear.texts, u)
}

// readCaptions passes on what the captions say. Their text reaches the model with the reply.
func (d *dialogue) readCaptions() {
	for {
		select {
		case u := <-d.ear.captions.Heard():
			d.tell(u)
		default:
			return
		}
	}
}

// tell never blocks: what is not final may be lost, and a full channel gives up its oldest entry for a final one.
func (d *dialogue) tell(u conversation.Utterance) {
	for {
		select {
		case d.heard <- u:
			return
		default:
		}
		if !u.Final && u.Err == nil {
			return
		}
		select {
		case <-d.heard:
		default:
		}
	}
}
