package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
)

// hold runs a call that this process has a lease on, from wherever it stands to its end, and writes that end.
func (e *Engine) hold(h *held, line func(*held) call.Outcome) {
	defer h.warming.Wait()
	defer e.held.give(h)
	e.Metrics.held.Inc()
	defer e.Metrics.held.Dec()
	outcome := e.guarded(h, line)
	e.Metrics.end(outcome)
	h.finishing.Store(true)
	if !e.insist(h, "end of a call", func(ctx context.Context) error { return e.finish(ctx, h, outcome) }) {
		e.scribe.forget(h.id)
		return
	}
	if outcome.Recording != nil {
		e.unspool(h.id)
	}
}

// guarded keeps a defect in one call from ending all of them.
func (e *Engine) guarded(h *held, line func(*held) call.Outcome) (o call.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			e.Log.ErrorContext(h.live, "panic in a call", "call", h.id, "panic", p, "stack", string(debug.Stack()))
			o = failed(reasonInternal)
		}
	}()
	return line(h)
}

// finish writes the last turns, then the end.
func (e *Engine) finish(ctx context.Context, h *held, o call.Outcome) error {
	if err := e.scribe.write(ctx, h.id); err != nil && !settled(err) {
		return err
	}
	return call.Finish(ctx, e.DB, h.id, o)
}

// insist writes what must be written: again and again while the database is away, until it is pointless (the call is
// somebody else's, was deleted, or stands elsewhere already) or the engine gives up. It reports success.
func (e *Engine) insist(h *held, what string, write func(context.Context) error) bool {
	for pause := 200 * time.Millisecond; !h.lost(); pause = min(2*pause, 5*time.Second) {
		err := write(h.live)
		if err == nil {
			return true
		}
		if settled(err) {
			e.Log.WarnContext(h.live, what+" not written", "call", h.id, "error", err)
			return false
		}
		e.Log.WarnContext(h.live, what+" not written yet", "call", h.id, "error", err)
		select {
		case <-h.live.Done():
			return false
		case <-time.After(pause):
		}
	}
	return false
}

// settled reports whether writing again is pointless.
func settled(err error) bool {
	return fault.Is(err, "call_not_found") || errors.Is(err, call.ErrEnded)
}
