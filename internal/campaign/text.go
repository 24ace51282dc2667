package campaign

import (
	"context"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/campaign"
	"github.com/callwright/callwright/ent/enrollment"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
)

// send gives a message to the messenger, beside the rounds, and writes down what became of it.
func (r *Runner) send(ctx context.Context, t text) {
	ctx = store.WithWorkspace(context.WithoutCancel(ctx), t.enrollment.WorkspaceID)
	r.texts <- struct{}{}
	r.sends.Go(func() {
		defer func() { <-r.texts }()
		out, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		failure := r.Messenger.Send(out, t.message)
		if failure != nil {
			r.Log.WarnContext(ctx, "a message was not taken", "enrollment", t.enrollment.ID, "error", failure)
		}
		if err := r.sent(ctx, t.enrollment, failure); err != nil {
			r.Log.WarnContext(ctx, "could not write what became of a message", "enrollment", t.enrollment.ID, "error", err)
		}
		r.Wake()
	})
}

func (r *Runner) sent(ctx context.Context, of *ent.Enrollment, failure error) error {
	return r.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := call.Lock(ctx, tx, of.WorkspaceID); err != nil {
			return err
		}
		e, err := tx.Enrollment.Query().
			Where(enrollment.ID(of.ID), enrollment.Status(EnrolledActive), enrollment.Step(of.Step), enrollment.CallIDIsNil()).Only(ctx)
		if ent.IsNotFound(err) {
			return nil // deleted, or given up as lost
		}
		if err != nil {
			return err
		}
		c, err := tx.Campaign.Query().Where(campaign.ID(e.CampaignID)).Only(ctx)
		if err != nil {
			return err
		}
		p, err := newProgress(ctx, tx, c)
		if err != nil {
			return err
		}
		now := store.Now()
		switch {
		case failure == nil:
			return p.advance(ctx, e, now)
		case e.Attempts+1 >= messageAttempts:
			return e.Update().SetAttempts(e.Attempts + 1).SetStatus(EnrolledFailed).SetUpdatedAt(now).Exec(ctx)
		}
		return e.Update().SetAttempts(e.Attempts + 1).SetStatus(EnrolledWaiting).
			SetNextAttemptAt(now.Add(time.Minute)).SetUpdatedAt(now).Exec(ctx)
	})
}
