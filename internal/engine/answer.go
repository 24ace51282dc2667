package engine

import (
	"context"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// serve takes the inbound calls of a line until ctx ends and waits for those that are running.
func (e *Engine) serve(ctx context.Context, line carrier.Carrier) {
	for ctx.Err() == nil {
		err := line.Serve(ctx, e.accept)
		if err == nil || ctx.Err() != nil {
			return
		}
		e.Log.ErrorContext(ctx, "inbound calls stopped, starting again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// accept decides about an inbound call: the number's workspace and agent take it. It is never refused for limits of the
// plan (spec: Plan usage), only when this process has no room or is being stopped.
func (e *Engine) accept(ctx context.Context, o carrier.Offer) carrier.Decision {
	if !e.held.take() {
		return carrier.Decision{Refuse: carrier.CauseUnavailable}
	}
	row, agent, err := call.Receive(store.System(ctx), e.DB, e.owner, e.Lease, call.Inbound{To: o.To, From: o.From})
	if err != nil {
		e.held.give(nil)
		switch {
		case fault.Is(err, "phone_number_not_found"):
			return carrier.Decision{Refuse: carrier.CauseUnknown}
		case fault.Is(err, "agent_inactive"):
			return carrier.Decision{Refuse: carrier.CauseUnavailable}
		}
		e.Log.ErrorContext(ctx, "inbound call not taken", "error", err)
		return carrier.Decision{Refuse: carrier.CauseUnavailable}
	}
	return e.taken(e.held.fill(row), agent)
}

// taken answers an inbound call that has its record.
func (e *Engine) taken(h *held, a *ent.Agent) carrier.Decision {
	s, err := e.script(h.live, h.row, a)
	if err != nil {
		e.Log.ErrorContext(h.live, "no script for the call", "call", h.id, "error", err)
		e.hold(h, func(*held) call.Outcome { return failed(reasonInternal) })
		return carrier.Decision{Refuse: carrier.CauseUnavailable}
	}
	h.warming.Go(func() { e.Speech.Warm(h.ctx, s.Script) }) // while it rings
	return carrier.Decision{
		Ring: s.answerAfter,
		Run: func(_ context.Context, leg carrier.Leg) {
			e.hold(h, func(h *held) call.Outcome { return e.talk(h, leg, s) })
		},
		Missed: func(ended *carrier.Ended) {
			e.hold(h, func(*held) call.Outcome { return missed(ended) })
		},
	}
}

// missed is the end of an inbound call that rang until the caller gave up.
func missed(ended *carrier.Ended) call.Outcome {
	o := unanswered(ended)
	if ended.Class == carrier.ClassClient {
		o.Status, o.Reason, o.Message = call.StatusNoAnswer, carrier.ReasonNoAnswer, "The caller hung up before the answer."
	}
	return o
}
