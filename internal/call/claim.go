package call

import (
	"context"
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
)

// queued are the calls that wait for a slot. The status is written into the statement so that the partial index serves.
func queued(s *sql.Selector) { s.Where(sql.ExprP(s.C(call.FieldStatus) + " = 'queued'")) }

// refusals bounds the refused calls of one claim.
const refusals = 20

// Claim takes the oldest queued call of a workspace for owner, if the plan has a free slot and the policy still lets it:
// it is dialing and in flight with a lease when Claim returns, and only then may anybody be rung. Calls refused on the way
// end blocked, or wait for their hour when they are a campaign's. nil when there is nothing to do. ctx is store.System's.
func (l Line) Claim(ctx context.Context, db *store.DB, workspace uuid.UUID, owner string, lease time.Duration) (*ent.Call, error) {
	mine := call.WorkspaceID(workspace)
	waits, err := db.Ent().Call.Query().Where(mine, queued).Exist(ctx)
	if err != nil || !waits {
		return nil, err
	}
	var c *ent.Call
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		c = nil
		if err := lock(ctx, tx, workspace); err != nil {
			return err
		}
		now := store.Now()
		if free, err := freeSlots(ctx, tx.Client, workspace, now); err != nil || free <= 0 {
			return err
		}
		for range refusals {
			next, err := tx.Call.Query().Where(mine, queued).Order(call.ByQueuedAt(), call.ByID()).First(ctx)
			if ent.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("find the oldest queued call: %w", err)
			}
			d, err := l.decide(ctx, tx.Client, next, now, true)
			if err != nil || d.Reason == policy.ReasonPerSecond { // that one only waits a moment
				return err
			}
			if err := policy.Record(store.WithWorkspace(ctx, workspace), tx, next.ID, d); err != nil {
				return err
			}
			if d.Allowed {
				c, err = tx.Call.UpdateOne(next).SetStatus(string(StatusDialing)).SetDialedAt(now).
					SetInFlight(true).SetLeaseOwner(owner).SetLeaseUntil(now.Add(lease)).SetUpdatedAt(now).Save(ctx)
				return err
			}
			if _, err := refused(ctx, tx, next, d); err != nil {
				return err
			}
		}
		return enqueueDial(ctx, tx, workspace)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Claim is that of the sandbox line.
func Claim(ctx context.Context, db *store.DB, workspace uuid.UUID, owner string, lease time.Duration) (*ent.Call, error) {
	return Line{}.Claim(ctx, db, workspace, owner, lease)
}

// freeSlots is how many more calls may be in flight; inbound ones, which are never refused, can make it negative.
func freeSlots(ctx context.Context, c *ent.Client, workspace uuid.UUID, now time.Time) (int, error) {
	plan, err := identity.PlanOf(ctx, c, workspace)
	if err != nil {
		return 0, err
	}
	n, err := c.Call.Query().Where(call.WorkspaceID(workspace), call.InFlight(true), call.LeaseUntilGT(now)).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count the calls in flight: %w", err)
	}
	return plan.ConcurrentCalls - n, nil
}

// Waiting lists the workspaces that have queued calls and a free slot: the net under Dial jobs that got lost and slots
// whose lease ran out. ctx is store.System's.
func Waiting(ctx context.Context, c *ent.Client) ([]uuid.UUID, error) {
	var rows []struct {
		WorkspaceID uuid.UUID `json:"workspace_id"`
	}
	err := c.Call.Query().Where(queued).GroupBy(call.FieldWorkspaceID).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("find workspaces with queued calls: %w", err)
	}
	var out []uuid.UUID
	for _, r := range rows {
		free, err := freeSlots(ctx, c, r.WorkspaceID, store.Now())
		if err != nil {
			return nil, err
		}
		if free > 0 {
			out = append(out, r.WorkspaceID)
		}
	}
	return out, nil
}

// renewBatch bounds the ids in one statement.
const renewBatch = 5000

// Renew extends the leases of owner's calls, also of those that ran out and nobody has buried yet. canceled are those
// that somebody wants ended; lost are those that are not owner's calls in flight any more and must be let go. ctx is
// store.System's.
func Renew(ctx context.Context, db *store.DB, owner string, ids []uuid.UUID, lease time.Duration) (canceled, lost []uuid.UUID, err error) {
	for batch := range slices.Chunk(ids, renewBatch) {
		held := call.And(call.IDIn(batch...), call.LeaseOwner(owner), call.InFlight(true))
		err := db.Ent().Call.Update().Where(held).SetLeaseUntil(store.Now().Add(lease)).Exec(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("renew leases: %w", err)
		}
		rows, err := db.Ent().Call.Query().Where(held).Select(call.FieldID, call.FieldCancelRequested).All(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("read renewed leases: %w", err)
		}
		still := make(map[uuid.UUID]bool, len(rows))
		for _, r := range rows {
			still[r.ID] = true
			if r.CancelRequested {
				canceled = append(canceled, r.ID)
			}
		}
		for _, id := range batch {
			if !still[id] {
				lost = append(lost, id)
			}
		}
	}
	return canceled, lost, nil
}

// CancelRequested lists owner's calls in flight that somebody wants ended. ctx is store.System's.
func CancelRequested(ctx context.Context, c *ent.Client, owner string) ([]uuid.UUID, error) {
	ids, err := c.Call.Query().Where(call.InFlight(true), call.LeaseOwner(owner), call.CancelRequested(true)).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("find calls to end: %w", err)
	}
	return ids, nil
}

// Orphans lists at most limit calls in flight whose lease ran out before now, longest first: nobody holds them. ctx is
// store.System's.
func Orphans(ctx context.Context, db *store.DB, now time.Time, limit int) ([]*ent.Call, error) {
	rows, err := db.Ent().Call.Query().Where(call.InFlight(true), call.LeaseUntilLTE(now)).
		Order(call.ByLeaseUntil(), call.ByID()).Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("find calls that nobody holds: %w", err)
	}
	return rows, nil
}
