package campaign

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/campaign"
	"github.com/callwright/callwright/ent/enrollment"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/messenger"
	"github.com/callwright/callwright/internal/store"
)

// Messenger sends text messages.
type Messenger interface {
	Send(ctx context.Context, m messenger.Message) error
}

// Config of a runner. DB and Messenger are needed.
type Config struct {
	DB *store.DB
	// Line is where calls leave by.
	Line call.Line
	// Messenger sends what sms steps say.
	Messenger Messenger
	// Every is how often the runner looks for work. Defaults to 200 ms.
	Every time.Duration
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Runner is the machine behind running campaigns. Any number of processes may have one.
type Runner struct {
	Config
	wake chan struct{}
	// turn goes round, so that neither a workspace nor a campaign is always first.
	turn  int
	swept time.Time
	texts chan struct{} // one place for each message on its way
	sends sync.WaitGroup
}

// NewRunner makes a runner. It does nothing before Run.
func NewRunner(c Config) *Runner {
	c.Every = cmp.Or(c.Every, 200*time.Millisecond)
	c.Log = cmp.Or(c.Log, slog.Default())
	return &Runner{Config: c, wake: make(chan struct{}, 1), texts: make(chan struct{}, 16)}
}

// Wake makes the runner look at once: a call has ended.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run moves campaigns until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	defer r.sends.Wait()
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	for {
		busy, err := r.Round(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			r.Log.WarnContext(ctx, "a round of the campaigns failed", "error", err)
		}
		if busy && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-r.wake:
		}
	}
}

// Round does all that is due now. It reports whether more may be.
func (r *Runner) Round(ctx context.Context) (busy bool, err error) {
	ctx = store.System(ctx)
	r.turn++
	if err := r.settle(ctx); err != nil {
		return false, err
	}
	if now := time.Now(); now.Sub(r.swept) > 30*time.Second {
		r.swept = now
		if err := r.sweep(ctx); err != nil {
			return false, err
		}
	}
	running, err := r.DB.Ent().Campaign.Query().Where(campaign.Status(string(StatusRunning))).
		Order(campaign.ByCreatedAt(), campaign.ByID()).All(ctx)
	if err != nil {
		return false, err
	}
	of := map[uuid.UUID][]*ent.Campaign{}
	var workspaces []uuid.UUID
	for _, c := range running {
		if of[c.WorkspaceID] == nil {
			workspaces = append(workspaces, c.WorkspaceID)
		}
		of[c.WorkspaceID] = append(of[c.WorkspaceID], c)
	}
	for i := range workspaces {
		id := workspaces[(i+r.turn)%len(workspaces)]
		more, err := r.work(store.WithWorkspace(ctx, id), id, of[id])
		if err != nil {
			// One workspace's trouble is not the others'.
			r.Log.WarnContext(ctx, "campaigns of a workspace could not go on", "workspace", id, "error", err)
			continue
		}
		busy = busy || more
	}
	return busy, nil
}

// sweep calls off calls whose contact was deleted with its enrollment.
func (r *Runner) sweep(ctx context.Context) error {
	ids, err := call.Orphaned(ctx, r.DB.Ent())
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := r.DB.InTx(store.WithWorkspace(ctx, id), func(ctx context.Context, tx *store.Tx) error {
			if err := call.Lock(ctx, tx, id); err != nil {
				return err
			}
			return call.CallOff(ctx, tx, id, nil)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// work starts what is due in a workspace's campaigns, and completes those where nothing is left to do.
func (r *Runner) work(ctx context.Context, workspace uuid.UUID, all []*ent.Campaign) (busy bool, err error) {
	now := store.Now()
	var due []uuid.UUID
	for i := range all {
		c := all[(i+r.turn)%len(all)]
		has, err := r.DB.Ent().Enrollment.Query().Where(enrollment.CampaignID(c.ID), enrollment.NextAttemptAtLTE(now)).Exist(ctx)
		if err != nil {
			return false, err
		}
		if has {
			due = append(due, c.ID)
			continue
		}
		if err := r.complete(ctx, workspace, c.ID); err != nil {
			return false, err
		}
	}
	if len(due) == 0 {
		return false, nil
	}
	var s *starting
	err = r.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := call.Lock(ctx, tx, workspace); err != nil {
			return err
		}
		s = &starting{runner: r, tx: tx, workspace: workspace, now: store.Now()}
		return s.all(ctx, due)
	})
	if err != nil {
		return false, err
	}
	for _, m := range s.messages {
		r.send(ctx, m)
	}
	return s.moved > 0, nil
}

// complete ends a campaign that has enrollments and none that is not at its end.
func (r *Runner) complete(ctx context.Context, workspace, id uuid.UUID) error {
	left := func(c *ent.Client) (bool, error) {
		open, err := c.Enrollment.Query().Where(enrollment.CampaignID(id), enrollment.StatusIn(open...)).Exist(ctx)
		if err != nil || open {
			return true, err
		}
		any, err := c.Enrollment.Query().Where(enrollment.CampaignID(id)).Exist(ctx)
		return !any, err
	}
	if goesOn, err := left(r.DB.Ent()); err != nil || goesOn {
		return err
	}
	return r.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := call.Lock(ctx, tx, workspace); err != nil {
			return err
		}
		open, err := tx.Enrollment.Query().Where(enrollment.CampaignID(id), enrollment.StatusIn(open...)).Exist(ctx)
		if err != nil || open { // somebody enrolled contacts meanwhile
			return err
		}
		now := store.Now()
		return tx.Campaign.Update().Where(campaign.ID(id), campaign.Status(string(StatusRunning))).
			SetStatus(string(StatusCompleted)).SetEndedAt(now).SetUpdatedAt(now).Exec(ctx)
	})
}
