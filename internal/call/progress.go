package call

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/ent/turn"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// lateAnswer is how long after no-answer or failed an answer of the carrier still counts (CONTRACT.md §2, Transitions);
// the call then has a lease of that length until its holder renews it.
const lateAnswer = 30 * time.Second

// Answered writes that a call was answered: it is in progress, and its length counts from at. A repetition changes
// nothing. An ending that came before is undone if it was no-answer or failed and at most 30 s before at, and the call
// has its slot back; after any other ending the error is ErrEnded. ctx is store.System's.
func Answered(ctx context.Context, db *store.DB, id uuid.UUID, at time.Time) error {
	at = stored(at)
	n, err := db.Ent().Call.Update().Where(call.ID(id), call.Status(string(StatusDialing))).
		SetStatus(string(StatusInProgress)).SetAnsweredAt(at).SetUpdatedAt(store.Now()).Save(ctx)
	if err != nil {
		return fmt.Errorf("answer call %s: %w", id, err)
	}
	if n == 1 {
		return nil
	}
	c, err := Get(ctx, db.Ent(), id)
	if err != nil || Status(c.Status) == StatusInProgress {
		return err
	}
	return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error { return answeredLate(ctx, tx, c, at) })
}

func answeredLate(ctx context.Context, tx *store.Tx, c *ent.Call, at time.Time) error {
	if err := lock(ctx, tx, c.WorkspaceID); err != nil {
		return err
	}
	c, err := Get(ctx, tx.Client, c.ID)
	if err != nil {
		return err
	}
	from := Status(c.Status)
	late := c.EndedAt != nil && at.Sub(*c.EndedAt) <= lateAnswer
	if !from.Terminal() || !CanMove(from, StatusInProgress) || !late {
		return ErrEnded
	}
	now := store.Now()
	return tx.Call.UpdateOne(c).SetStatus(string(StatusInProgress)).SetAnsweredAt(at).
		SetInFlight(true).SetLeaseUntil(now.Add(lateAnswer)).ClearEndedAt().ClearEndedReason().ClearEndedMessage().
		ClearRetryAfter().ClearDuration().ClearAnsweredBy().ClearAnsweredByReason().
		ClearKeepUntil().ClearErasedAt().ClearErasedFor().SetUpdatedAt(now).Exec(ctx)
}

// SaveLeg keeps what the carrier needs to end the leg after a crash. ErrEnded when the call is not in flight. ctx is
// store.System's.
func SaveLeg(ctx context.Context, db *store.DB, id uuid.UUID, leg json.RawMessage) error {
	n, err := db.Ent().Call.Update().Where(call.ID(id), call.InFlight(true)).SetLeg(leg).Save(ctx)
	if err != nil {
		return fmt.Errorf("save the leg of call %s: %w", id, err)
	}
	if n == 0 {
		return gone(ctx, db.Ent(), id)
	}
	return nil
}

// SaveConsent keeps the answer to the question whether the call may be recorded, at once: what is recorded from then on
// outlives a crash, and so must the consent to it. ErrEnded when the call is not in flight. ctx is store.System's.
func SaveConsent(ctx context.Context, db *store.DB, id uuid.UUID, consent string) error {
	n, err := db.Ent().Call.Update().Where(call.ID(id), call.InFlight(true)).SetRecordingConsent(consent).Save(ctx)
	if err != nil {
		return fmt.Errorf("save the consent of call %s: %w", id, err)
	}
	if n == 0 {
		return gone(ctx, db.Ent(), id)
	}
	return nil
}

// gone tells a call that ended from one that was deleted.
func gone(ctx context.Context, c *ent.Client, id uuid.UUID) error {
	if _, err := Get(ctx, c, id); err != nil {
		return err
	}
	return ErrEnded
}

// Turn is something said or done in a call.
type Turn struct {
	// Seq is the position in the call, from 0.
	Seq int
	// Role is one of the roles above Transcript.
	Role    string
	Content string
	// Start and End are the time of the call, from the answer.
	Start, End time.Duration
	// Interrupted tells that Content is what was heard of it.
	Interrupted bool
	// Timing of an agent's turn, nil for others.
	Timing *TurnTiming
}

// AddTurns writes turns of a call in flight. A turn whose Seq is there already replaces it: so a repetition changes
// nothing, and a turn can be corrected. call_not_found when the call was deleted, ErrEnded when it has ended. ctx is
// store.System's.
func AddTurns(ctx context.Context, db *store.DB, workspace, id uuid.UUID, turns []Turn) error {
	if len(turns) == 0 {
		return nil
	}
	return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, err := found(tx.Call.Query().Where(call.ID(id), call.WorkspaceID(workspace), store.ForUpdate).Only(ctx))
		switch {
		case err != nil:
			return err
		case !c.InFlight:
			return ErrEnded
		}
		rows := map[int]*ent.TurnCreate{}
		var order []*ent.TurnCreate
		for _, t := range turns {
			if rows[t.Seq] == nil {
				rows[t.Seq] = tx.Turn.Create().SetWorkspaceID(workspace).SetCallID(id).SetSeq(t.Seq)
				order = append(order, rows[t.Seq])
			}
			rows[t.Seq].SetRole(t.Role).SetContent(storable(t.Content)).SetInterrupted(t.Interrupted).
				SetStartMs(int(t.Start.Milliseconds())).SetEndMs(int(t.End.Milliseconds()))
			if t.Timing != nil {
				text, err := json.Marshal(t.Timing)
				if err != nil {
					return fmt.Errorf("write the timing of a turn: %w", err)
				}
				rows[t.Seq].SetTiming(text)
			}
		}
		err = tx.Turn.CreateBulk(order...).
			OnConflictColumns(turn.FieldWorkspaceID, turn.FieldCallID, turn.FieldSeq).
			Update(func(u *ent.TurnUpsert) {
				u.UpdateContent().UpdateStartMs().UpdateEndMs().UpdateInterrupted().UpdateTiming()
			}).Exec(ctx)
		if store.IsForeignKey(err) {
			return fault.Missing("call").Wrap(err)
		}
		return err
	})
}

// storable makes text of foreign origin fit for both databases.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// stored is a time as both databases keep it.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
