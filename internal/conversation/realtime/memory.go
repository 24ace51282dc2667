package realtime

import (
	"slices"
	"strings"

	"github.com/callwright/callwright/internal/conversation"
)

// memory is the talk as text, for a connection that takes over from one that broke.
type memory struct {
	entries []entry
	// sounds are texts that the server has as sound and that were not answered yet.
	sounds []string
}

// entry is something said or done. turn and item are the agent's.
type entry struct {
	role conversation.Role
	text string
	turn uint64
	item string
	tool conversation.ToolCall
}

// hear takes an utterance that the server has as sound.
func (m *memory) hear(text string) {
	m.entries = append(m.entries, entry{role: conversation.RoleUser, text: text})
	m.sounds = append(m.sounds, text)
}

// answer is what of a text the server does not have yet; that is kept now.
func (m *memory) answer(text string) (rest string) {
	for _, sound := range m.sounds {
		text = strings.Replace(text, sound, "", 1)
	}
	m.sounds = nil
	if rest = strings.TrimSpace(text); rest != "" {
		m.entries = append(m.entries, entry{role: conversation.RoleUser, text: rest})
	}
	return rest
}

// say adds to an item of an agent's turn.
func (m *memory) say(turn uint64, item, text string) {
	for i := range slices.Backward(m.entries) {
		if e := &m.entries[i]; e.turn == turn && e.item == item && e.role == conversation.RoleAgent {
			e.text += text
			return
		}
	}
	m.entries = append(m.entries, entry{role: conversation.RoleAgent, text: text, turn: turn, item: item})
}

// cut leaves of a turn what was heard.
func (m *memory) cut(turn uint64, heard string) {
	m.entries = slices.DeleteFunc(m.entries, func(e entry) bool {
		return e.turn == turn && e.role == conversation.RoleAgent
	})
	if heard != "" {
		m.entries = append(m.entries, entry{role: conversation.RoleAgent, text: heard, turn: turn})
	}
}

func (m *memory) call(turn uint64, c conversation.ToolCall) {
	m.entries = append(m.entries, entry{role: conversation.RoleFunctionCall, turn: turn, tool: c})
}

func (m *memory) result(turn uint64, id, text string) {
	m.entries = append(m.entries, entry{role: conversation.RoleFunctionResult, turn: turn, text: text, tool: conversation.ToolCall{ID: id}})
}

// items are the events that tell a new connection. A call without its result would be refused.
func (m *memory) items() (events []object) {
	answered := map[string]bool{}
	for _, e := range m.entries {
		if e.role == conversation.RoleFunctionResult {
			answered[e.tool.ID] = true
		}
	}
	for _, e := range m.entries {
		switch {
		case e.role == conversation.RoleFunctionCall && answered[e.tool.ID]:
			events = append(events, called(e.tool))
		case e.role == conversation.RoleFunctionResult:
			events = append(events, result(e.tool.ID, e.text))
		case e.role == conversation.RoleUser, e.role == conversation.RoleAgent:
			events = append(events, message(e.role, strings.TrimSpace(e.text)))
		}
	}
	m.sounds = nil
	return events
}
