package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/callwright/callwright/internal/carrier"
)

// What a model may do in one call: it can be talked into things, or be caught in a loop with a menu.
const (
	maxActions  = 30 // tool calls in sum
	maxTransfer = 3  // transfers that fail
)

var digitString = regexp.MustCompile(`^[0-9*#A-Dw]{1,32}$`)

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
	if t.acted++; t.acted > maxActions {
		t.settle(u.id, call.ID, errors.New("no more tools in this call; talk, or end it"))
		return
	}
	var args struct{ Digits, To string }
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		t.settle(u.id, call.ID, fmt.Errorf("the arguments are not JSON: %w", err))
		return
	}
	do, err := t.action(ctx, call.Name, args.Digits, args.To)
	if err != nil {
		t.settle(u.id, call.ID, err)
		return
	}
	t.calls++
	go func() { t.tools <- toolDone{u.id, call.ID, outcome(do())} }()
}

// action is what a tool does, or why it may not.
func (t *talk) action(ctx context.Context, name, digits, to string) (func() error, error) {
	switch name {
	case ToolPressDigits:
		switch {
		case t.script.Direction == carrier.Inbound:
			return nil, errors.New("keys are pressed in calls that we made only")
		case !digitString.MatchString(digits):
			return nil, fmt.Errorf("%q are no digits", digits)
		}
		return func() error { return t.leg.SendDigits(ctx, digits) }, nil
	case ToolTransfer:
		target, ok := t.script.Transfers[to]
		switch {
		case !ok:
			return nil, fmt.Errorf("there is no place %q to transfer to", to)
		case t.result.AnsweredBy == AnsweredByVoicemail:
			return nil, errors.New("an answering machine is not transferred")
		case t.transfers >= maxTransfer || t.transferring:
			return nil, errors.New("the transfer does not work; go on without it")
		}
		t.transfers, t.transferring = t.transfers+1, true
		return func() error { return t.leg.Transfer(ctx, target) }, nil
	}
	return nil, fmt.Errorf("there is no tool %q", name)
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
	t.transferring = t.transferring && t.calls > 0
	t.answerTool(r)
}

func (t *talk) answerTool(r toolDone) {
	t.record(Turn{Role: RoleFunctionResult, Content: string(r.result), Start: t.now, End: t.now})
	if u := t.mouth.turn; u != nil && u.id == r.turn && t.dialogue != nil {
		u.asked = t.now
		t.dialogue.ToolResult(r.turn, r.id, r.result)
	}
}
