package engine

import (
	"context"
	"time"

	"github.com/callwright/callwright/internal/call"
)

// cancelEvery is how soon a wish to end a call is heard.
const cancelEvery = 500 * time.Millisecond

// every calls f at once and then in intervals, until ctx ends.
func every(ctx context.Context, d time.Duration, f func(context.Context)) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for ctx.Err() == nil {
		f(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// renewLoop keeps the leases of all calls of this process, in one statement.
func (e *Engine) renewLoop(ctx context.Context) { every(ctx, e.Lease/3, e.renew) }

func (e *Engine) renew(ctx context.Context) {
	ids := e.held.ids()
	if len(ids) == 0 {
		return
	}
	canceled, lost, err := call.Renew(ctx, e.DB, e.owner, ids, e.Lease)
	if err != nil {
		// The calls go on. Whether they are still ours is learned when the database is back.
		e.Log.WarnContext(ctx, "leases not renewed", "calls", len(ids), "error", err)
		return
	}
	for _, id := range lost {
		if h := e.held.get(id); h != nil && !h.finishing.Load() {
			e.Log.ErrorContext(ctx, "lease lost, ending the call", "call", id)
			h.stop(stopLost)
		}
	}
	for _, id := range canceled {
		if h := e.held.get(id); h != nil {
			h.stop(stopCanceled)
		}
	}
}

// cancelLoop looks for calls of this process that somebody wants to end. It is quicker than the leases and only reads.
func (e *Engine) cancelLoop(ctx context.Context) {
	every(ctx, cancelEvery, func(ctx context.Context) {
		if e.held.count() == 0 {
			return
		}
		ids, err := call.CancelRequested(ctx, e.DB.Ent(), e.owner)
		if err != nil {
			e.Log.WarnContext(ctx, "could not look for calls to end", "error", err)
			return
		}
		for _, id := range ids {
			if h := e.held.get(id); h != nil {
				h.stop(stopCanceled)
			}
		}
	})
}
