package identity

import (
	"context"
	"time"

	"github.com/callwright/callwright/ent/link"
	"github.com/callwright/callwright/ent/pairing"
	"github.com/callwright/callwright/ent/session"
	"github.com/callwright/callwright/ent/tally"
	"github.com/callwright/callwright/internal/store"
)

const (
	sweepEvery = 10 * time.Minute
	// tallyKept is longer than any span that is counted over.
	tallyKept = 2 * time.Hour
)

// sweep deletes what has ended. Nothing depends on it: what has ended is refused with or without its row.
func (i *Identity) sweep(ctx context.Context) {
	now := i.now()
	err := i.db.InTx(store.System(ctx), func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Tally.Delete().Where(tally.AtLT(now.Add(-tallyKept))).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.Pairing.Delete().Where(pairing.ExpiresAtLT(now.Add(-pairingKept))).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.Link.Delete().Where(link.ExpiresAtLTE(now)).Exec(ctx); err != nil {
			return err
		}
		_, err := tx.Session.Delete().Where(session.Or(session.ExpiresAtLTE(now), session.UsedAtLT(now.Add(-sessionIdle-sessionUseEvery)))).Exec(ctx)
		return err
	})
	if err != nil && ctx.Err() == nil {
		i.log.WarnContext(ctx, "what has ended could not be swept", "error", err)
	}
}
