package identity

import (
	"context"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent/predicate"
	"github.com/callwright/callwright/ent/tally"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// try is something that somebody may not do too often.
type try struct {
	kind           string
	actor, address string
}

// bound is how often: at most n of the tries that it counts in any span.
type bound struct {
	n     int
	span  time.Duration
	by    func(try) []predicate.Tally
	spare bool // an actor's first try in firstSpan passes even when the bound is reached
}

// firstSpan is how long an actor is remembered for a spared bound.
const firstSpan = 15 * time.Minute

func byActor(t try) []predicate.Tally   { return []predicate.Tally{tally.Actor(t.actor)} }
func byAddress(t try) []predicate.Tally { return []predicate.Tally{tally.Address(t.address)} }
func byBoth(t try) []predicate.Tally    { return append(byActor(t), byAddress(t)...) }
func byAll(try) []predicate.Tally       { return nil }

// admit counts a try and refuses it with rate_limited when it is one too many. The row is committed before anything is
// counted, so of any number of tries at once, in any number of processes, no more than n see themselves within the
// bound. A refused try does not count: who waits as long as told gets in. forgive takes back a try that succeeded.
func (i *Identity) admit(ctx context.Context, t try, bounds []bound) (id uuid.UUID, err error) {
	ctx = store.System(ctx)
	id, now := store.NewID(), i.now()
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Tally.Create().SetID(id).SetKind(t.kind).SetActor(t.actor).SetAddress(t.address).SetAt(now).Exec(ctx)
	})
	if err != nil {
		return id, err
	}
	for _, b := range bounds {
		wait, err := i.wait(ctx, t, b, now)
		if err == nil && wait > 0 {
			err = &fault.Error{Kind: fault.TooMany, Code: "rate_limited", Message: "too many tries, wait a while", RetryAfter: wait}
		}
		if err != nil {
			i.forgive(context.WithoutCancel(ctx), id)
			return id, err
		}
	}
	return id, nil
}

// wait is how long a try has to wait; 0 when it is within the bound.
func (i *Identity) wait(ctx context.Context, t try, b bound, now time.Time) (time.Duration, error) {
	q := i.db.Ent().Tally.Query().Where(tally.Kind(t.kind), tally.AtGT(now.Add(-b.span))).Where(b.by(t)...)
	n, err := q.Clone().Count(ctx)
	if err != nil || n <= b.n {
		return 0, err
	}
	if b.spare {
		own, err := i.db.Ent().Tally.Query().
			Where(tally.Kind(t.kind), tally.AtGT(now.Add(-firstSpan)), tally.Actor(t.actor)).Count(ctx)
		if err != nil || own <= 1 {
			return 0, err
		}
	}
	// This try is taken back: without it, so many have to leave until there is room for one.
	oldest, err := q.Clone().Order(tally.ByAt(), tally.ByID(sql.OrderAsc())).Offset(max(0, n-1-b.n)).First(ctx)
	if err != nil {
		return 0, err
	}
	return max(time.Second, oldest.At.Add(b.span).Sub(now)), nil
}

// forgive takes a try back. If that fails it counts although it should not, which only makes the limit stricter.
func (i *Identity) forgive(ctx context.Context, id uuid.UUID) {
	err := i.db.InTx(store.System(ctx), func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Tally.Delete().Where(tally.ID(id)).Exec(ctx)
		return err
	})
	if err != nil {
		i.log.WarnContext(ctx, "a try could not be taken back", "error", err)
	}
}
