package engine

import (
	"context"
	"sync"
	"time"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/store"
)

// talk is the line that calls of both directions go once there is a leg: the conversation, with its recording and its
// turns on the way to where they are kept.
func (e *Engine) talk(h *held, leg carrier.Leg, s script) call.Outcome {
	// The conversation hangs up; this is for a defect on the way there.
	defer func() { _ = leg.Hangup(context.WithoutCancel(h.live), carrier.CauseNormal) }()

	// The greeting does not wait for the database, but the record's end waits for its beginning.
	var noting sync.WaitGroup
	var recording *tape
	record := func() {
		recording = e.recorder.start(h.id, leg.Info().Elastic)
		leg.Media().Tap(recording.tick)
	}
	defer func() {
		if recording != nil {
			_, _ = recording.close() // keep has done it, unless it was never reached
		}
	}()
	hooks := conversation.Hooks{Fallback: e.Fallback, Turn: func(t conversation.Turn) {
		e.Metrics.turn(t)
		if s.keepTurns {
			e.scribe.add(h, t)
		}
	}}
	switch {
	case s.record && s.Consent == "":
		record()
	case s.record:
		hooks.Consented = func() { // called by the conversation, which is over before recording is looked at
			record()
			noting.Go(func() {
				e.insist(h, "consent of a call", func(ctx context.Context) error {
					return call.SaveConsent(ctx, e.DB, h.id, conversation.ConsentGiven)
				})
			})
		}
	}
	noting.Go(func() { e.noteAnswer(h, store.Now(), leg.Info().State) })
	defer noting.Wait()

	result, err := conversation.Run(h.ctx, leg, s.Script, e.Speech, hooks)
	leg.Media().Tap(nil)
	e.Metrics.missed.Add(result.Missed.Seconds())
	if err != nil {
		e.Log.WarnContext(h.live, "conversation failed", "call", h.id, "reason", result.Reason, "error", err)
	}
	outcome := answered(result)
	if recording != nil {
		outcome.Recording = e.keep(h, recording)
	}
	return outcome
}

// noteAnswer writes that the call is in progress and what the carrier needs to end it after a crash.
func (e *Engine) noteAnswer(h *held, at time.Time, state []byte) {
	e.insist(h, "answer of a call", func(ctx context.Context) error { return call.Answered(ctx, e.DB, h.id, at) })
	if len(state) > 0 {
		e.insist(h, "leg of a call", func(ctx context.Context) error { return call.SaveLeg(ctx, e.DB, h.id, state) })
	}
}
