package conversation

import (
	"context"
	"time"

	"github.com/callwright/callwright/internal/carrier"
)

// Warning of the limit: said so long before it, no later than warnLatest, and not in calls shorter than twice that.
const (
	warnBefore = 30 * time.Second
	warnLatest = 10 * time.Second
)

// checkSilence reminds a silent caller and ends a silent call. Silence is the caller's: it begins when both are quiet and
// the agent's reminder does not end it.
func (t *talk) checkSilence(ctx context.Context) {
	if t.held || t.mouth.closing() || t.ear.current != nil || t.ear.waiting != nil || t.phase != phaseTalk {
		return
	}
	if t.mouth.turn != nil {
		return
	}
	silence := t.now - max(t.lastCaller, t.lastAgent)
	if t.script.SilenceTimeout > 0 && silence >= t.script.SilenceTimeout {
		t.hangUp(ReasonSilence, "Nobody spoke for "+t.script.SilenceTimeout.String()+".", carrier.ClassSuccess)
		return
	}
	if t.script.IdleReminder != "" && t.script.IdleAfter > 0 && silence >= t.script.IdleAfter && !t.reminded {
		t.reminded = true
		t.ask(ctx, Reply{Say: t.script.IdleReminder}, purpose{name: "reminder", idle: true})
	}
}

// checkLimits ends a call that is as long as it may be.
func (t *talk) checkLimits(ctx context.Context) {
	limit := t.script.limit()
	if limit == 0 {
		return
	}
	left := limit - t.now
	switch {
	case left <= 0:
		t.hangUp(ReasonMaxDuration, "The call reached its limit of "+limit.String()+".", carrier.ClassSuccess)
	case t.warned || limit < 2*warnBefore || left > warnBefore || left < warnLatest:
	case t.phase == phaseTalk && t.mouth.turn == nil && t.ear.current == nil && t.ear.waiting == nil && !t.held:
		t.warned = true
		t.ask(ctx, Reply{Say: t.script.Warning}, purpose{name: "warning"})
	}
}
