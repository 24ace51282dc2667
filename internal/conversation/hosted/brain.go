package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/openai"
)

const (
	// maxHistory is how many entries of the talk a model gets; the oldest are left out.
	maxHistory = 200
	// maxTurn is how much a model may say in one turn, in bytes: some three minutes.
	maxTurn = 3000
	// slowSentence is how long a sentence may take after the first one.
	slowSentence = 8 * time.Second
)

// Brain asks a chat model.
type Brain struct {
	servers
	late time.Duration
	// unknown are models of agents that the server does not have; toolless are servers whose model takes no tools.
	unknown, toolless sync.Map
}

var (
	errEmpty = errors.New("the model said nothing")
	errSlow  = errors.New("the model writes slower than it is heard")
)

// Think is that of conversation.Brain.
func (b *Brain) Think(ctx context.Context, t conversation.Thought, emit func(conversation.Part) error) error {
	chat := b.chat(t)
	late := b.late
	if e := chat.Effort; e == "medium" || e == "high" {
		late *= 3
	}
	var begun atomic.Bool
	resumed := false
	if n := len(t.History); n > 0 {
		resumed = t.Fresh && t.History[n-1].Role == conversation.RoleAgent
	}
	return b.relay(ctx, "answer", late, t.Fresh, func(ctx context.Context, way try, claim func() error) error {
		w := writing{claim: claim, emit: emit, begun: &begun}
		err := b.write(ctx, way, chat, &w)
		if err == nil && !w.any && !resumed {
			return errEmpty
		}
		return err
	})
}

// write has one server write the turn. An agent's own model that the server does not have is replaced by the server's,
// and a model that takes no tools has to do without: it can talk, and the other side hangs up.
func (b *Brain) write(ctx context.Context, way try, chat openai.Chat, w *writing) error {
	if _, unknown := b.unknown.Load(chat.Model); unknown || way.client != b.first {
		chat.Model = ""
	}
	if _, toolless := b.toolless.Load(way.client); toolless {
		chat.Tools = nil
	}
	for {
		err := w.run(ctx, way.client, chat)
		var e *openai.Error
		switch {
		case err == nil || w.any || !errors.As(err, &e):
			return err
		case chat.Model != "" && (e.Status == 404 || e.Code == "model_not_found"):
			b.log.WarnContext(ctx, "the language model of an agent is not there; taking the default", "model", chat.Model)
			b.unknown.Store(chat.Model, true)
			chat.Model = ""
		case chat.Tools != nil && (e.Status == 400 || e.Status == 422 || e.Status == 501) && strings.Contains(strings.ToLower(e.Detail), "tool"):
			b.log.WarnContext(ctx, "the language model takes no tools; agents can not hang up, press keys or transfer", "server", way.client)
			b.toolless.Store(way.client, true)
			chat.Tools = nil
		default:
			return err
		}
	}
}

// writing is one server's turn on its way to the mouth.
type writing struct {
	claim func() error
	emit  func(conversation.Part) error
	begun *atomic.Bool
	any   bool
	text  int
}

func (w *writing) run(ctx context.Context, client *openai.Client, chat openai.Chat) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slow := time.AfterFunc(time.Hour, func() { cancel(errSlow) })
	defer slow.Stop()
	slow.Stop() // until the first sentence: there, the relay watches
	give := func(p conversation.Part) error {
		slow.Stop()
		defer slow.Reset(slowSentence)
		if err := w.claim(); err != nil {
			return err
		}
		w.any = true
		return w.emit(p)
	}
	var cutter conversation.Cutter
	say := func(sentences []string) error {
		for _, s := range sentences {
			w.text += len(s)
			if err := give(conversation.Part{Sentence: s}); err != nil {
				return err
			}
		}
		return nil
	}
	calls := 0
	for d, err := range client.Stream(ctx, chat) {
		if err != nil {
			if errors.Is(context.Cause(ctx), errSlow) {
				err = errSlow
			}
			return err
		}
		if (d.Text != "" || d.Call != nil) && w.begun.CompareAndSwap(false, true) {
			if err := w.emit(conversation.Part{Begun: true}); err != nil {
				return err
			}
		}
		if err := say(cutter.Push(d.Text)); err != nil {
			return err
		}
		if w.text > maxTurn {
			return nil
		}
		if d.Call != nil {
			if err := say(cutter.Rest()); err != nil { // what is said before it belongs before it
				return err
			}
			if calls++; d.Call.ID == "" {
				d.Call.ID = fmt.Sprintf("call_%d", calls)
			}
			call := conversation.ToolCall{ID: d.Call.ID, Name: d.Call.Name, Arguments: d.Call.Arguments}
			if err := give(conversation.Part{Tool: &call}); err != nil {
				return err
			}
		}
		if d.Finish == "content_filter" && !w.any {
			return &openai.Error{Kind: openai.ErrRefused, Code: d.Finish}
		}
	}
	return say(cutter.Rest())
}

var verdict = openai.Schema{Name: "verdict", JSON: json.RawMessage(`{"type":"object","additionalProperties":false,
	"required":["who"],"properties":{"who":{"type":"string","enum":["` + strings.Join(conversation.Classes, `","`) + `"]}}}`)}

// Classify is that of conversation.Classifier.
func (b *Brain) Classify(ctx context.Context, _ conversation.Script, heard string) (string, error) {
	answer, err := b.first.Complete(ctx, openai.Prompt{System: conversation.ClassifyPrompt, User: "Who is speaking?", Data: heard}, verdict)
	if err != nil {
		return "", err
	}
	var said struct{ Who string }
	err = json.Unmarshal(answer, &said)
	return said.Who, err
}

// What is said to the model in place of the other side.
const (
	openNow = "(The call has just been answered. You speak first.)"
	goOnNow = "(Your last words above broke off. Go on exactly where they stop, without repeating any of them.)"
)

// chat is the request.
func (b *Brain) chat(t conversation.Thought) openai.Chat {
	s := t.Script
	system := s.Instructions(t.AnsweredBy)
	if !t.Greeted && s.Greeting != "" {
		system += "\nYou have not greeted yet. As soon as a person is on the line, say: " + s.Greeting
	}
	c := openai.Chat{Model: s.Model, Effort: s.ReasoningEffort, Messages: []openai.Message{{Role: openai.RoleSystem, Text: system}}}
	if s.Creativity != nil {
		c.Temperature = max(float32(*s.Creativity), 1e-3) // 0 would be left out of the request
	}
	for _, tool := range s.Tools(t.AnsweredBy) {
		c.Tools = append(c.Tools, openai.Tool(tool))
	}
	history := t.History[max(0, len(t.History)-maxHistory):]
	c.Messages = append(c.Messages, messages(history)...)
	switch last := c.Messages[len(c.Messages)-1].Role; {
	case len(history) == 0:
		c.Messages = append(c.Messages, openai.Message{Role: openai.RoleUser, Text: openNow})
	case last == openai.RoleAssistant && t.Fresh:
		c.Messages = append(c.Messages, openai.Message{Role: openai.RoleUser, Text: goOnNow})
	case last == openai.RoleAssistant:
		c.Messages = append(c.Messages, openai.Message{Role: openai.RoleUser, Text: "(They say nothing.)"})
	}
	return c
}

// messages are the talk as servers take it: the calls of a turn in one message with its words, each followed by its
// result. A result that never came, since the turn was interrupted, is told so; one whose call was left out is left out.
func messages(history []conversation.Message) []openai.Message {
	results := map[string]string{}
	for _, m := range history {
		if m.Role == conversation.RoleFunctionResult && m.Tool != nil {
			results[m.Tool.ID] = m.Text
		}
	}
	var all []openai.Message
	var open []openai.Message // results of the calls of the last message
	settle := func() {
		all = append(all, open...)
		open = nil
	}
	for _, m := range history {
		switch m.Role {
		case conversation.RoleUser:
			settle()
			all = append(all, openai.Message{Role: openai.RoleUser, Text: m.Text})
		case conversation.RoleAgent:
			settle()
			all = append(all, openai.Message{Role: openai.RoleAssistant, Text: m.Text})
		case conversation.RoleFunctionCall:
			call := openai.ToolCall{ID: m.Tool.ID, Name: m.Tool.Name, Arguments: m.Tool.Arguments}
			if !json.Valid(call.Arguments) {
				call.Arguments = json.RawMessage("{}")
			}
			if n := len(all) - 1; n < 0 || all[n].Role != openai.RoleAssistant {
				settle()
				all = append(all, openai.Message{Role: openai.RoleAssistant})
			}
			all[len(all)-1].Calls = append(all[len(all)-1].Calls, call)
			result, ok := results[call.ID]
			if !ok {
				result = `{"error":"interrupted"}`
			}
			open = append(open, openai.Message{Role: openai.RoleTool, CallID: call.ID, Text: result})
		}
	}
	settle()
	return all
}
