package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/store"
)

const (
	// reapEvery is how often calls of dead processes are looked for. With the lease it bounds how long such a call stays
	// in progress: 12 s with the defaults.
	reapEvery = 2 * time.Second
	// reapBatch is how many are buried at a time.
	reapBatch = 200
	// lineTimeout bounds the attempt to end a lost call on the line.
	lineTimeout = 5 * time.Second
	// linesAtOnce bounds how many are ended at a time.
	linesAtOnce = 50
)

// reapLoop buries calls whose process died. Every engine does it; a call is buried once, since only the first Finish of a
// call counts.
//
// After the database was away nobody has been able to renew, and a lease that ran out proves nothing: then the reaper
// waits for one lease before it looks again.
func (e *Engine) reapLoop(ctx context.Context) {
	var blindUntil time.Time
	every(ctx, reapEvery, func(ctx context.Context) {
		if time.Now().Before(blindUntil) {
			return
		}
		if err := e.reap(ctx); err != nil && ctx.Err() == nil {
			e.Log.WarnContext(ctx, "could not look for lost calls", "error", err)
			blindUntil = time.Now().Add(e.Lease)
		}
	})
}

func (e *Engine) reap(ctx context.Context) error {
	orphans, err := call.Orphans(ctx, e.DB, store.Now(), reapBatch)
	if err != nil {
		return err
	}
	// ours: only the renewal was late
	orphans = slices.DeleteFunc(orphans, func(row *ent.Call) bool { return e.held.get(row.ID) != nil })
	e.endLines(ctx, orphans)
	for _, row := range orphans {
		if err := e.bury(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// endLines tells the lines of lost calls that are still open to end: many at a time, since those whose other side is gone
// too take lineTimeout each.
func (e *Engine) endLines(ctx context.Context, orphans []*ent.Call) {
	var ending sync.WaitGroup
	defer ending.Wait()
	places := make(chan struct{}, linesAtOnce)
	for _, row := range orphans {
		if len(row.Leg) == 0 {
			continue
		}
		places <- struct{}{}
		ending.Go(func() {
			defer func() { <-places }()
			line, cancel := context.WithTimeout(ctx, lineTimeout)
			defer cancel()
			if err := e.carrier(row.Test).Reap(line, row.Leg); err != nil {
				e.Log.WarnContext(ctx, "could not end a lost call on its line", "call", row.ID, "error", err)
			}
		})
	}
}

// bury writes the truth about a call whose process died: failed, worker_lost, its time counted to the last sign of life,
// what was recorded and said kept.
func (e *Engine) bury(ctx context.Context, row *ent.Call) error {
	recorded, length, err := e.recover(ctx, row)
	if err != nil {
		e.Log.ErrorContext(ctx, "recording of a lost call not stored yet", "call", row.ID, "error", err)
	}
	o := failed(carrier.ReasonWorkerLost)
	o.Recording = recorded
	o.EndedAt = e.lastSeen(row)
	if row.AnsweredAt != nil {
		// The recording may know better: it is written each second, and in the time of the call.
		seconds := int(max(o.EndedAt.Sub(*row.AnsweredAt), length).Round(time.Second) / time.Second)
		o.Duration = &seconds
	}
	// Ending the line and storing the sound took a while, in which a slow holder may have come back.
	if now, err := call.Get(ctx, e.DB.Ent(), row.ID); err != nil || now.LeaseUntil == nil || now.LeaseUntil.After(store.Now()) {
		return ignoreSettled(err)
	}
	if err := call.Finish(ctx, e.DB, row.ID, o); err != nil {
		return ignoreSettled(err) // another reaper was first
	}
	e.Log.WarnContext(ctx, "call of a dead process ended", "call", row.ID, "answered", row.AnsweredAt != nil)
	if recorded != nil {
		e.unspool(row.ID)
	}
	return nil
}

func ignoreSettled(err error) error {
	if settled(err) {
		return nil
	}
	return err
}

// lastSeen is when the holder of a call gave its last sign of life.
func (e *Engine) lastSeen(row *ent.Call) time.Time {
	seen := row.CreatedAt
	if row.LeaseUntil != nil {
		seen = row.LeaseUntil.Add(-e.Lease)
	}
	if row.AnsweredAt != nil && row.AnsweredAt.After(seen) {
		seen = *row.AnsweredAt
	}
	return seen
}
