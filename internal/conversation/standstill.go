package conversation

import (
	"context"
	"fmt"
)

// standstill tells whether time has to wait for the speech provider. On a line that runs faster than the wall clock
// (a sandbox) a provider's milliseconds would be seconds of media time: the other side would lose its patience and no
// two runs would be the same. Such a line is elastic, so the loop just does not take the next frame until the answer is
// complete. On a line at real time this never happens: there, being late is the truth.
func (t *talk) standstill() bool {
	u := t.mouth.turn
	still := t.fast && (t.opening || t.answer.doubt != nil || t.ear.waiting != nil || u != nil && !u.complete && u.pending == nil)
	switch {
	case still && !t.still:
		t.patience.Reset(t.script.ReplyTimeout)
	case !still && t.still:
		t.patience.Stop()
	}
	t.still = still
	return still
}

// late is the end of standing still: the provider's fault, as it would be on a slow line.
func (t *talk) late(ctx context.Context) {
	t.still = false
	err := fmt.Errorf("nothing came from the speech provider for %v", t.script.ReplyTimeout)
	switch u := t.ear.waiting; {
	case u != nil:
		t.understood(ctx, lateText(u))
	case t.mouth.turn != nil && !t.opening:
		t.turnFailed(ctx, err)
	default:
		t.fail(ctx, err)
		t.fast = false // the opening goes on; the apology does not wait for it
	}
}
