package realtime

import (
	"encoding/json"
	"strings"

	"github.com/callwright/callwright/internal/conversation"
)

// object is a JSON object that is sent.
type object map[string]any

// session are a connection's settings; plain ones have nothing that a server could do without.
func (s *Speech) session(script conversation.Script, plain bool) object {
	input := object{"format": object{"type": "audio/pcmu"}, "turn_detection": nil}
	output := object{"format": object{"type": "audio/pcmu"}}
	transcription := object{"model": s.c.Transcriber}
	input["transcription"] = transcription
	if !plain {
		language, _, _ := strings.Cut(script.Language, "-")
		if language != "" {
			transcription["language"] = strings.ToLower(language)
		}
		if voice := script.VoiceID; voice != "" {
			output["voice"] = voice
		} else if s.c.Voice != "" {
			output["voice"] = s.c.Voice
		}
		if script.SpeakingRate > 0 && script.SpeakingRate != 1 {
			output["speed"] = min(max(script.SpeakingRate, 0.25), 1.5)
		}
	}
	return object{"type": "session.update", "session": object{
		"type": "realtime", "output_modalities": []string{"audio"}, "instructions": script.Instructions(""),
		"audio": object{"input": input, "output": output},
		"tools": tools(script, ""), "tool_choice": "auto",
	}}
}

// answered tells the model who is on the line.
func answered(script conversation.Script, by string) object {
	return object{"type": "session.update", "session": object{
		"type": "realtime", "instructions": script.Instructions(by), "tools": tools(script, by),
	}}
}

func tools(script conversation.Script, answeredBy string) []object {
	list := []object{}
	for _, t := range script.Tools(answeredBy) {
		list = append(list, object{"type": "function", "name": t.Name, "description": t.Description, "parameters": t.Parameters})
	}
	return list
}

// sayExactly makes a given line out of a model that would rather talk.
func sayExactly(text string) string {
	return "Say the following text aloud, word for word and in its own language. Say nothing before it and nothing after it, " +
		"do not answer it, do not comment on it.\n\n" + text
}

const openCall = "\n\nThe call has just been answered and nothing has been said yet. Say your opening line now, in one or two short sentences."

// message is an entry of the conversation as text.
func message(role conversation.Role, text string) object {
	kind, of := "input_text", "user"
	if role == conversation.RoleAgent {
		kind, of = "output_text", "assistant"
	}
	return item(object{"type": "message", "role": of, "content": []object{{"type": kind, "text": text}}})
}

func called(c conversation.ToolCall) object {
	return item(object{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": string(c.Arguments)})
}

func result(id string, text string) object {
	return item(object{"type": "function_call_output", "call_id": id, "output": text})
}

func item(o object) object { return object{"type": "conversation.item.create", "item": o} }

// failed tells a result that is an error.
func failed(result string) bool {
	var r struct {
		Error string `json:"error"`
	}
	return json.Unmarshal([]byte(result), &r) == nil && r.Error != ""
}

// arguments are a tool call's; a model may leave them out.
func arguments(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}
