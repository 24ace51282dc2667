package conversation

import (
	"context"
	"encoding/json"
	"fmt"
)

// toolDone is a tool call that has ended.
type toolDone struct {
	turn   uint64
	id     string
	result json.RawMessage
}

// tool carries out what the model wants to do. Waiting for the line happens beside the loop.
func (t *talk) tool(ctx context.Context, u *turn, call ToolCall) {
	u.calls++
	var arguments any = call.Arguments
	if !json.Valid(call.Arguments) {
		arguments = string(call.Arguments)
	}
	content, _ := json.Marshal(map[string]any{"name": call.Name, "arguments": arguments})
	t.record(Turn{Role: RoleFunctionCall, Content: string(content), Start: t.now, End: t.now})
	if call.Name == ToolEndCall {
		u.endCall = true
		return
	}
	var args struct{ Digits, To string }
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		t.settle(u.id, call.ID, fmt.Errorf("the arguments are not JSON: %w", err))
		return
	}
	var do func() error
	switch call.Name {
	case ToolPressDigits:
		do = func() error { return t.leg.SendDigits(ctx, args.Digits) }
	case ToolTransfer:
		target, ok := t.script.Transfers[args.To]
		if !ok {
			t.settle(u.id, call.ID, fmt.Errorf("there is no place %q to transfer to", args.To))
			return
		}
		do = func() error { return t.leg.Transfer(ctx, target) }
	default:
		t.settle(u.id, call.ID, fmt.Errorf("there is no tool %q", call.Name))
		return
	}
	t.calls++
	go func() { t.tools <- toolDone{u.id, call.ID, outcome(do())} }()
}

func outcome(err error) json.RawMessage {
	if err != nil {
		text, _ := json.Marshal(map[string]string{"error": err.Error()})
		return text
	}
	return json.RawMessage(`{"ok":true}`)
}

// settle answers a call that was not carried out.
func (t *talk) settle(turn uint64, id string, err error) {
	t.answerTool(toolDone{turn, id, outcome(err)})
}

func (t *talk) toolDone(r toolDone) {
	t.calls--
	t.answerTool(r)
}

func (t *talk) answerTool(r toolDone) {
	t.record(Turn{Role: RoleFunctionResult, Content: string(r.result), Start: t.now, End: t.now})
	if u := t.mouth.turn; u != nil && u.id == r.turn && t.dialogue != nil {
		u.asked = t.now
		t.dialogue.ToolResult(r.turn, r.id, r.result)
	}
}
