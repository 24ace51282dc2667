package openai

import (
	"encoding/json"

	goopenai "github.com/sashabaranov/go-openai"
)

// Role says who a message is from.
type Role string

// The roles.
const (
	RoleSystem    Role = goopenai.ChatMessageRoleSystem
	RoleUser      Role = goopenai.ChatMessageRoleUser
	RoleAssistant Role = goopenai.ChatMessageRoleAssistant
	RoleTool      Role = goopenai.ChatMessageRoleTool // the result of a tool call
)

// Message is one entry of a chat.
type Message struct {
	Role Role
	Text string
	// Calls are what the assistant asked for in this message.
	Calls []ToolCall
	// CallID is the call that a RoleTool message answers.
	CallID string
}

// Tool is what the model may ask for. Parameters is a JSON schema.
type Tool struct {
	Name, Description string
	Parameters        json.RawMessage
}

// ToolCall is what the model asks for. Arguments is a JSON value, not checked against the tool's schema.
type ToolCall struct {
	ID, Name  string
	Arguments json.RawMessage
}

// Chat is a conversation to continue.
type Chat struct {
	Messages []Message
	Tools    []Tool
	// Model is another model of the server. Defaults to Config.Model.
	Model string
	// Temperature and Effort are left out where the model does not know them. Default to the model's own.
	Temperature float32
	Effort      string
	// MaxTokens bounds the answer. Defaults to no bound but Config.MaxAnswer.
	MaxTokens int
}

func (c Chat) request(model string) goopenai.ChatCompletionRequest {
	r := goopenai.ChatCompletionRequest{
		Model: or(c.Model, model), Stream: true, Temperature: c.Temperature, ReasoningEffort: c.Effort, MaxCompletionTokens: c.MaxTokens,
	}
	for _, t := range c.Tools {
		r.Tools = append(r.Tools, goopenai.Tool{Type: goopenai.ToolTypeFunction, Function: &goopenai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Parameters,
		}})
	}
	for _, m := range c.Messages {
		out := goopenai.ChatCompletionMessage{Role: string(m.Role), Content: m.Text, ToolCallID: m.CallID}
		for _, call := range m.Calls {
			out.ToolCalls = append(out.ToolCalls, goopenai.ToolCall{ID: call.ID, Type: goopenai.ToolTypeFunction,
				Function: goopenai.FunctionCall{Name: call.Name, Arguments: string(call.Arguments)}})
		}
		switch {
		case out.Content != "" || len(out.ToolCalls) > 0:
		case m.Role == RoleTool:
			out.Content = "{}" // the library leaves an empty text out, and servers refuse a result without one
		default:
			continue
		}
		r.Messages = append(r.Messages, out)
	}
	return r
}
