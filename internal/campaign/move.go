package campaign

import (
	"context"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/enrollment"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Start lets a draft call. Errors: campaign_not_found; campaign_running, campaign_paused, campaign_ended (409);
// agent_not_found; agent_inactive (409).
func Start(ctx context.Context, db *store.DB, id uuid.UUID) (*ent.Campaign, error) {
	return move(ctx, db, id, StatusDraft, StatusRunning, "started", func(ctx context.Context, tx *store.Tx, c *ent.Campaign) error {
		_, s, err := Read(c)
		if err != nil {
			return err
		}
		if c.AgentID == nil {
			return fault.Missing("agent")
		}
		if _, err := call.Callable(ctx, tx.Client, *c.AgentID); err != nil {
			return err
		}
		at := s.begin(store.Now())
		if err := call.Open(ctx, tx, c.ID, at); err != nil {
			return err
		}
		return tx.Enrollment.Update().Where(enrollment.CampaignID(c.ID), enrollment.Status(EnrolledPending)).
			SetNextAttemptAt(at).Exec(ctx)
	})
}

// Pause holds a running campaign: calls that wait are paused, those under way go on. Errors: campaign_not_found;
// campaign_draft, campaign_paused, campaign_ended (409).
func Pause(ctx context.Context, db *store.DB, id uuid.UUID) (*ent.Campaign, error) {
	return move(ctx, db, id, StatusRunning, StatusPaused, "paused", func(ctx context.Context, tx *store.Tx, c *ent.Campaign) error {
		return call.Pause(ctx, tx, c.ID)
	})
}

// Resume goes on with a paused campaign. Errors: campaign_not_found; campaign_draft, campaign_running, campaign_ended
// (409).
func Resume(ctx context.Context, db *store.DB, id uuid.UUID) (*ent.Campaign, error) {
	return move(ctx, db, id, StatusPaused, StatusRunning, "resumed", func(ctx context.Context, tx *store.Tx, c *ent.Campaign) error {
		return call.Resume(ctx, tx, c.ID)
	})
}

// Stop ends a campaign for good: calls that wait are canceled, those under way go on. Errors: campaign_not_found,
// campaign_ended (409).
func Stop(ctx context.Context, db *store.DB, id uuid.UUID) (*ent.Campaign, error) {
	return move(ctx, db, id, "", StatusStopped, "stopped", func(ctx context.Context, tx *store.Tx, c *ent.Campaign) error {
		if err := call.CallOff(ctx, tx, c.WorkspaceID, &c.ID); err != nil {
			return err
		}
		return tx.Enrollment.Update().
			Where(enrollment.CampaignID(c.ID), enrollment.StatusIn(EnrolledPending, EnrolledWaiting)).
			SetStatus(EnrolledStopped).ClearNextAttemptAt().SetUpdatedAt(store.Now()).Exec(ctx)
	})
}

// move takes a campaign from a status (empty: any that may) to another, with what goes with it.
func move(ctx context.Context, db *store.DB, id uuid.UUID, from, to Status, verb string, f func(context.Context, *store.Tx, *ent.Campaign) error) (row *ent.Campaign, err error) {
	err = locked(ctx, db, id, func(ctx context.Context, tx *store.Tx, c *ent.Campaign) error {
		if from != "" && Status(c.Status) != from || !CanMove(Status(c.Status), to) {
			return wrongState(c.Status, verb)
		}
		if err := f(ctx, tx, c); err != nil {
			return err
		}
		now := store.Now()
		up := c.Update().SetStatus(string(to)).SetUpdatedAt(now).ClearPausedReason()
		switch {
		case to == StatusRunning:
			up.SetStartedAt(now) // what the circuit breaker counts from
		case to.Ended():
			up.SetEndedAt(now)
		}
		row, err = up.Save(ctx)
		return err
	})
	return row, err
}
