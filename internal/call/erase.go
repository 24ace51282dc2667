package call

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/ent/predicate"
	"github.com/callwright/callwright/ent/turn"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// ErasedRetention is why content is gone whose agent's retention_period is over; RedactionHIPAA is the other reason.
const ErasedRetention = "retention"

// Erase deletes what was said in a call that has ended, because it is redacted, and writes that down. A recording that is
// there in spite of it goes with the next run of the [Eraser].
func Erase(ctx context.Context, tx *store.Tx, row *ent.Call, why string) error {
	if _, err := tx.Turn.Delete().Where(turn.WorkspaceID(row.WorkspaceID), turn.CallID(row.ID)).Exec(ctx); err != nil {
		return fmt.Errorf("delete the turns of call %s: %w", row.ID, err)
	}
	now := store.Now()
	up := tx.Call.Update().Where(call.ID(row.ID)).SetErasedFor(why)
	if row.RecordingKey == nil {
		up.SetErasedAt(now).ClearKeepUntil()
	} else {
		up.SetKeepUntil(now)
	}
	if err := up.Exec(ctx); err != nil {
		return fmt.Errorf("write that call %s was erased: %w", row.ID, err)
	}
	return nil
}

// keepUntil is when the content of a call of the agent goes, by its retention_period as it is now; nil when it stays.
func keepUntil(ctx context.Context, c *ent.Client, agentID *uuid.UUID, ended time.Time) (*time.Time, error) {
	if agentID == nil {
		return nil, nil
	}
	a, err := agent.Get(ctx, c, *agentID)
	if fault.Is(err, "agent_not_found") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := agent.SettingsOf(a)
	if err != nil || s.RetentionPeriod == nil {
		return nil, err
	}
	until := ended.AddDate(0, 0, *s.RetentionPeriod)
	return &until, nil
}

// EraseContent is the job that deletes content whose time is over.
type EraseContent struct{}

// Kind of the job.
func (EraseContent) Kind() string { return "call_erase" }

// EraseEvery is how often it runs, and so how late content may go.
const EraseEvery = 5 * time.Minute

// Eraser deletes transcripts, what was concluded, and recordings when their time is over: by the agent's
// retention_period, the shorter of what it was when the call ended and what it is now; and all of it in calls that were
// redacted after they had been kept. The record of the call stays and says when it was and why. Run twice, same result.
type Eraser struct {
	river.WorkerDefaults[EraseContent]
	DB         *store.DB
	Recordings *Recordings
	// Others delete what other packages keep of what was said: conclusions, and receivers' answers to them.
	Others []func(ctx context.Context, tx *store.Tx, calls []uuid.UUID) error
	Log    *slog.Logger
	// Now is the clock of what is over. Defaults to store.Now.
	Now func() time.Time
}

// grace is how long the content of a redacted call is left to its analysis.
const grace = time.Hour

// eraseBatch is how many calls are erased in one transaction.
const eraseBatch = 200

// Timeout leaves room for a backlog; what is not done then goes with the next run.
func (e *Eraser) Timeout(*river.Job[EraseContent]) time.Duration { return 4 * time.Minute }

// Work erases all that is due.
func (e *Eraser) Work(ctx context.Context, _ *river.Job[EraseContent]) error {
	ctx = store.System(ctx)
	now := store.Now()
	if e.Now != nil {
		now = e.Now()
	}
	if err := e.erase(ctx, ErasedRetention, call.KeepUntilLTE(now)); err != nil {
		return err
	}
	flagged, err := identity.HIPAAWorkspaces(ctx, e.DB.Ent())
	if err != nil {
		return err
	}
	for _, id := range flagged {
		if err := e.erase(ctx, RedactionHIPAA, call.WorkspaceID(id), call.EndedAtLTE(now.Add(-grace))); err != nil {
			return err
		}
	}
	err = agent.EachKeeping(ctx, e.DB.Ent(), func(k agent.Keeping) error {
		of := call.And(call.WorkspaceID(k.WorkspaceID), call.AgentID(k.AgentID))
		if k.HIPAA {
			return e.erase(ctx, RedactionHIPAA, of, call.EndedAtLTE(now.Add(-grace)))
		}
		over := now.AddDate(0, 0, -*k.Days)
		return e.erase(ctx, ErasedRetention, of, call.CreatedAtLTE(over), call.EndedAtLTE(over))
	})
	if err != nil {
		return err
	}
	return e.DB.Scrub(ctx)
}

// erase deletes the content of the calls that match, batch by batch.
func (e *Eraser) erase(ctx context.Context, why string, which ...predicate.Call) error {
	which = append(which, call.ErasedAtIsNil(), call.EndedAtNotNil(), call.InFlight(false))
	for {
		rows, err := e.DB.Ent().Call.Query().Where(which...).Order(call.ByCreatedAt()).Limit(eraseBatch).All(ctx)
		if err != nil {
			return fmt.Errorf("find calls to erase: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		if err := e.eraseAll(ctx, why, rows); err != nil {
			return err
		}
		e.Log.InfoContext(ctx, "content of calls erased", "calls", len(rows), "why", why)
	}
}

// eraseAll first deletes the objects: a row that still names one is found again if the transaction fails.
func (e *Eraser) eraseAll(ctx context.Context, why string, rows []*ent.Call) error {
	var ids, fresh []uuid.UUID
	for _, row := range rows {
		if row.RecordingKey != nil {
			if err := e.Recordings.Delete(ctx, *row.RecordingKey); err != nil {
				return err
			}
		}
		ids = append(ids, row.ID)
		if row.ErasedFor == nil {
			fresh = append(fresh, row.ID)
		}
	}
	return e.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Turn.Delete().Where(turn.CallIDIn(ids...)).Exec(ctx); err != nil {
			return fmt.Errorf("delete turns: %w", err)
		}
		for _, erase := range e.Others {
			if err := erase(ctx, tx, ids); err != nil {
				return err
			}
		}
		// The first reason stays: a redacted call does not become one that was merely old.
		if err := tx.Call.Update().Where(call.IDIn(fresh...)).SetErasedFor(why).Exec(ctx); err != nil {
			return fmt.Errorf("write that calls were erased: %w", err)
		}
		return tx.Call.Update().Where(call.IDIn(ids...)).SetErasedAt(store.Now()).ClearKeepUntil().
			ClearRecordingKey().ClearRecordingSize().ClearRecordedAt().Exec(ctx)
	})
}
