package agentbuilder

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/agentbuild"
	"github.com/callwright/callwright/internal/store"
)

// A step that is being done touches its row. One that has been silent for a while died with its process; it is enqueued
// again, long before River gives the dead one up. That may start a step that is alive after all, which does no harm.
const (
	beat    = 2 * time.Second
	silence = 7 * time.Second
	sweep   = 3 * time.Second
	// Older jobs are left to River. It keeps the look for them to the newest rows.
	takenUp = time.Hour
)

// Run takes up what dead processes left behind, until ctx ends. Any number of processes may do so.
func (w *Worker) Run(ctx context.Context) error {
	for {
		if err := w.takeUp(store.System(ctx)); err != nil && ctx.Err() == nil {
			w.Log.WarnContext(ctx, "look for agent builds that stand still", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweep):
		}
	}
}

func (w *Worker) takeUp(ctx context.Context) error {
	quiet := func() time.Time { return store.Now().Add(-silence) }
	ids, err := w.DB.Ent().AgentBuild.Query().
		Where(agentbuild.IDGT(earliest(time.Now().Add(-takenUp))), agentbuild.Status(Processing), agentbuild.UpdatedAtLT(quiet())).
		Limit(100).IDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := w.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			row, err := tx.AgentBuild.Query().
				Where(agentbuild.ID(id), agentbuild.Status(Processing), agentbuild.UpdatedAtLT(quiet()), store.ForUpdate).Only(ctx)
			if ent.IsNotFound(err) {
				return nil // somebody else was quicker
			}
			if err != nil {
				return err
			}
			if err := tx.AgentBuild.UpdateOne(row).SetUpdatedAt(store.Now()).Exec(ctx); err != nil {
				return err
			}
			w.Log.InfoContext(ctx, "take up an agent build that stands still", "job_id", row.ID, "step", row.Step)
			return enqueue(ctx, tx, row, row.Step)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// earliest is below every UUIDv7 that is made from then on.
func earliest(then time.Time) (id uuid.UUID) {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(then.UnixMilli()))
	copy(id[:6], ms[2:])
	return id
}

// touched keeps the row of a step from looking dead until the returned function is called.
func (w *Worker) touched(ctx context.Context, row *ent.AgentBuild) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(beat):
				_ = open(row)(w.DB.Ent().AgentBuild.Update()).Exec(ctx)
			}
		}
	}()
	return func() { cancel(); <-done }
}
