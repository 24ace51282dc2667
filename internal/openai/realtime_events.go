package openai

import (
	"encoding/json"
	"strings"
)

// RealtimeEvent is what a server says. Of each type only some fields are set.
type RealtimeEvent struct {
	// Type is the name of the API; older names for the same are brought to the newer one.
	Type string `json:"type"`
	// ItemID and ResponseID are empty where a server leaves them out.
	ItemID     string `json:"item_id"`
	ResponseID string `json:"response_id"`
	// Delta is a piece of text, or of sound in base64.
	Delta []byte `json:"-"`
	Text  string `json:"-"`
	// CallID, Name and Arguments are a tool call's.
	CallID    string            `json:"call_id"`
	Name      string            `json:"name"`
	Arguments string            `json:"arguments"`
	Item      *RealtimeItem     `json:"item"`
	Response  *RealtimeResponse `json:"response"`
	Error     *RealtimeError    `json:"error"`
}

// RealtimeItem is an entry of the server's conversation.
type RealtimeItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"` // message, function_call, function_call_output
	Role      string `json:"role"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// RealtimeResponse is a turn of the model.
type RealtimeResponse struct {
	ID       string            `json:"id"`
	Status   string            `json:"status"` // in_progress, completed, cancelled, failed, incomplete
	Output   []RealtimeItem    `json:"output"`
	Metadata map[string]string `json:"metadata"`
	Details  struct {
		Reason string `json:"reason"`
		Error  struct {
			Type string `json:"type"`
			Code string `json:"code"`
		} `json:"error"`
	} `json:"status_details"`
}

// RealtimeError is what went wrong; the connection stays open. EventID is the client's event that it is about.
type RealtimeError struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param"`
	EventID string `json:"event_id"`
}

// AsError is the Error that a RealtimeError means.
func (e RealtimeError) AsError() *Error {
	kind := ErrUnavailable
	if e.Type == "invalid_request_error" || hopeless[e.Code] {
		kind = ErrRefused
	}
	return &Error{Kind: kind, Code: identifier(e.Code, e.Type), Detail: strings.ToValidUTF8(e.Message[:min(len(e.Message), 500)], "")}
}

// The events that a conversation needs.
const (
	RealtimeSessionCreated  = "session.created"
	RealtimeSessionUpdated  = "session.updated"
	RealtimeCommitted       = "input_audio_buffer.committed"
	RealtimeHeardDelta      = "conversation.item.input_audio_transcription.delta"
	RealtimeHeard           = "conversation.item.input_audio_transcription.completed"
	RealtimeHeardFailed     = "conversation.item.input_audio_transcription.failed"
	RealtimeResponseCreated = "response.created"
	RealtimeResponseDone    = "response.done"
	RealtimeItemAdded       = "response.output_item.added"
	RealtimeItemDone        = "response.output_item.done"
	RealtimeAudio           = "response.output_audio.delta"
	RealtimeSaid            = "response.output_audio_transcript.delta"
	RealtimeSaidText        = "response.output_text.delta"
	RealtimeCalled          = "response.function_call_arguments.done"
	RealtimeFailed          = "error"
)

// realtimeNames are the types that are let through, by all their names.
var realtimeNames = func() map[string]string {
	names := map[string]string{
		"response.audio.delta":            RealtimeAudio,
		"response.audio_transcript.delta": RealtimeSaid,
		"response.text.delta":             RealtimeSaidText,
	}
	for _, name := range []string{
		RealtimeSessionCreated, RealtimeSessionUpdated, RealtimeCommitted, RealtimeHeardDelta, RealtimeHeard, RealtimeHeardFailed,
		RealtimeResponseCreated, RealtimeResponseDone, RealtimeItemAdded, RealtimeItemDone, RealtimeAudio, RealtimeSaid,
		RealtimeSaidText, RealtimeCalled, RealtimeFailed,
	} {
		names[name] = name
	}
	return names
}()

// decodeRealtime reads an event; false for one that is not known, or not as it should be.
func decodeRealtime(text []byte) (e RealtimeEvent, known bool) {
	var of struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(text, &of) != nil || realtimeNames[of.Type] == "" {
		return e, false
	}
	if of.Type == RealtimeFailed {
		return RealtimeEvent{Type: RealtimeFailed, Error: decodeRealtimeError(text)}, true
	}
	if json.Unmarshal(text, &e) != nil {
		return e, false
	}
	e.Type = realtimeNames[of.Type]
	if e.Type == RealtimeAudio {
		var sound struct{ Delta []byte } // base64
		if json.Unmarshal(text, &sound) != nil {
			return e, false
		}
		e.Delta = sound.Delta
		return e, true
	}
	var words struct{ Delta, Transcript string }
	if json.Unmarshal(text, &words) != nil {
		return e, false
	}
	e.Text = words.Delta + words.Transcript // an event has one of them
	return e, true
}

// decodeRealtimeError takes an error in any shape: an object with odd fields, or a sentence.
func decodeRealtimeError(text []byte) *RealtimeError {
	var in struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	_ = json.Unmarshal(text, &in)
	e, fields := new(RealtimeError), map[string]any{}
	_ = json.Unmarshal(in.Error, &fields)
	for name, into := range map[string]*string{"type": &e.Type, "code": &e.Code, "message": &e.Message, "param": &e.Param, "event_id": &e.EventID} {
		*into, _ = fields[name].(string)
	}
	if e.Message == "" && json.Unmarshal(in.Error, &e.Message) != nil {
		e.Message = in.Message
	}
	return e
}
