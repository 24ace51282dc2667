package scripted

import (
	"context"
	"strings"

	"github.com/callwright/callwright/internal/conversation"
)

// Ears understand captions. On a line that has none they can only tell that something was said.
type Ears struct{}

// Listen is that of conversation.Ears.
func (Ears) Listen(context.Context, conversation.Script) (conversation.Listening, error) {
	return &listening{heard: make(chan conversation.Utterance, 32)}, nil
}

// unrecognised stands for speech on a line without captions.
const unrecognised = "(speech)"

// listening collects captions into utterances. A line's caption grows word by word; when an utterance is committed in
// the middle of a line, the rest of the line belongs to the next one.
type listening struct {
	heard     chan conversation.Utterance
	lines     []string // finished since the last commit
	line      string   // growing
	taken     int      // bytes of line that earlier utterances have
	utterance uint64   // told of last
	captioned bool
}

func (l *listening) Hear(h conversation.Heard) {
	for _, c := range h.Captions {
		l.captioned = true
		if l.line = c.Text; c.Final {
			l.lines = append(l.lines, l.rest())
			l.line, l.taken = "", 0
		}
	}
	if h.Utterance != 0 && l.captioned && (len(h.Captions) > 0 || h.Utterance != l.utterance) {
		l.utterance = h.Utterance
		l.tell(conversation.Utterance{ID: h.Utterance, Text: l.text()})
	}
}

// Commit gives the text so far.
func (l *listening) Commit(utterance uint64) {
	text := l.text()
	if !l.captioned {
		text = unrecognised
	}
	l.lines, l.taken = nil, len(l.line)
	l.tell(conversation.Utterance{ID: utterance, Text: text, Final: true})
}

func (l *listening) Heard() <-chan conversation.Utterance { return l.heard }

func (l *listening) Close() error { return nil }

func (l *listening) rest() string { return strings.TrimSpace(l.line[min(l.taken, len(l.line)):]) }

func (l *listening) text() string {
	return strings.TrimSpace(strings.Join(l.lines, " ") + " " + l.rest())
}

// tell never blocks: what is not final may be lost, and a full channel gives up its oldest entry for a final one.
func (l *listening) tell(u conversation.Utterance) {
	for {
		select {
		case l.heard <- u:
			return
		default:
		}
		if !u.Final {
			return
		}
		select {
		case <-l.heard:
		default:
		}
	}
}
