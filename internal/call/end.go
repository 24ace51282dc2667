package call

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// ReasonCanceled is the ended_reason of a call that was called off before it was dialed.
const ReasonCanceled = "canceled"

// Cancel ends a call of the workspace in ctx (CONTRACT.md §3, cancel): one that has not been dialed is canceled at once;
// one that is dialing or in progress is asked to end, and its holder hangs up. A call that has ended is returned as it
// is: what was wanted is so.
func Cancel(ctx context.Context, db *store.DB, id uuid.UUID) (*ent.Call, error) {
	return locked(ctx, db, id, func(ctx context.Context, tx *store.Tx, c *ent.Call) (*ent.Call, error) {
		switch s := Status(c.Status); {
		case s.Terminal() || s.Active() && c.CancelRequested:
			return c, nil
		case s.Active():
			return tx.Call.UpdateOne(c).SetCancelRequested(true).SetUpdatedAt(store.Now()).Save(ctx)
		}
		return end(ctx, tx, c, Outcome{
			Status: StatusCanceled, Reason: ReasonCanceled, Message: "The call was canceled before it was dialed.",
		})
	})
}

// Delete removes a call of the workspace in ctx with everything known of it: turns and analysis go with the row, the
// recording before it (spec: Calls, DELETE). A call that has not been dialed can not be dialed any more after it; one
// that is dialing or in progress is refused with call_active.
func Delete(ctx context.Context, db *store.DB, recordings *Recordings, id uuid.UUID) error {
	c, err := Get(ctx, db.Ent(), id)
	if err != nil {
		return err
	}
	if Status(c.Status).Active() {
		return errActive()
	}
	// First the object: if it can not be deleted the record stays, and the caller can try again.
	if err := recordings.Delete(ctx, RecordingKey(c)); err != nil {
		return err
	}
	_, err = locked(ctx, db, id, func(ctx context.Context, tx *store.Tx, c *ent.Call) (*ent.Call, error) {
		if Status(c.Status).Active() {
			return nil, errActive()
		}
		if err := tx.Call.DeleteOne(c).Exec(ctx); err != nil {
			return nil, fmt.Errorf("delete call %s: %w", id, err)
		}
		return nil, count(ctx, tx, c.WorkspaceID, -1, c.Test)
	})
	return err
}

func errActive() error {
	return fault.New(fault.Conflict, "call_active", "The call is being dialed or in progress. Cancel it first.")
}

// locked gives f the call with the workspace's lock taken.
func locked(ctx context.Context, db *store.DB, id uuid.UUID, f func(context.Context, *store.Tx, *ent.Call) (*ent.Call, error)) (*ent.Call, error) {
	c, err := Get(ctx, db.Ent(), id)
	if err != nil {
		return nil, err
	}
	var out *ent.Call
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := lock(ctx, tx, c.WorkspaceID); err != nil {
			return err
		}
		row, err := found(tx.Call.Query().Where(call.ID(id), store.ForUpdate).Only(ctx))
		if err != nil {
			return err
		}
		out, err = f(ctx, tx, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
