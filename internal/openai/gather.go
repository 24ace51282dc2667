package openai

import (
	"strings"

	goopenai "github.com/sashabaranov/go-openai"
)

// calls puts tool calls together. Documented is: each piece has the call's index, only the first has id and name. Seen
// are: no index, the same index for different calls, whole calls in one piece.
type calls struct {
	list []*ToolCall
	at   map[int]*ToolCall
}

func (c *calls) add(pieces []goopenai.ToolCall) {
	for _, piece := range pieces {
		call := c.find(piece)
		if call == nil {
			call = &ToolCall{ID: piece.ID}
			c.list = append(c.list, call)
		}
		if piece.Index != nil {
			if c.at == nil {
				c.at = map[int]*ToolCall{}
			}
			c.at[*piece.Index] = call
		}
		if call.Name == "" {
			call.Name = piece.Function.Name
		}
		call.Arguments = append(call.Arguments, piece.Function.Arguments...)
	}
}

// find gives the call that a piece belongs to, nil for a new one.
func (c *calls) find(piece goopenai.ToolCall) *ToolCall {
	var call *ToolCall
	switch {
	case piece.Index != nil:
		call = c.at[*piece.Index]
	case len(c.list) > 0:
		call = c.list[len(c.list)-1]
	}
	if call != nil && piece.ID != "" && piece.ID != call.ID {
		return nil
	}
	return call
}

// thoughts drops what reasoning models of local servers think aloud before they answer; it must not be spoken.
type thoughts struct {
	held  string
	state thinking
}

type thinking int

const (
	undecided thinking = iota // the beginning may still become the opening mark
	thought
	spoken
)

const opening, closing = "<think>", "</think>"

// drop returns the part of the next piece that is meant to be heard.
func (t *thoughts) drop(piece string) string {
	if t.state == spoken {
		return piece
	}
	t.held += piece
	if start := strings.TrimLeft(t.held, " \n"); t.state == undecided && strings.HasPrefix(start, opening) {
		t.state = thought
	} else if t.state == undecided && !strings.HasPrefix(opening, start) {
		t.state = spoken
		return t.rest()
	}
	if t.state == undecided {
		return ""
	}
	if _, after, ok := strings.Cut(t.held, closing); ok {
		t.state, t.held = spoken, strings.TrimLeft(after, " \n")
		return t.rest()
	}
	// Only the last bytes can be the beginning of the closing mark.
	t.held = t.held[max(0, len(t.held)-len(closing)):]
	return ""
}

// rest returns what was held back and is text after all.
func (t *thoughts) rest() string {
	text := t.held
	t.held = ""
	if t.state == thought {
		return ""
	}
	return text
}
