package identity

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/apikey"
	"github.com/callwright/callwright/internal/store"
)

const (
	// useEvery is how exactly a key's last use is known.
	useEvery = time.Minute
	// useWrite is how long a last use waits to be written together with others.
	useWrite = 5 * time.Second
)

// touch notes the use of a key. The first use is written at once, because "unused" decides whether a lost pairing answer
// may be claimed again (CONTRACT.md §2, Pairing); later ones at most once a minute per key, by Run.
func (i *Identity) touch(ctx context.Context, row *ent.APIKey) error {
	now := store.Now()
	if row.LastUsedAt == nil {
		return i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			return writeUse(ctx, tx, row.ID, now)
		})
	}
	if now.Sub(*row.LastUsedAt) < useEvery {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.used[row.ID] = now
	return nil
}

// Run writes the times of last use every few seconds, and once more when ctx ends. A time that could not be written is
// logged and dropped: the next use notes it again. It also sweeps what is over.
func (i *Identity) Run(ctx context.Context) error {
	tick, sweep := time.NewTicker(useWrite), time.NewTicker(sweepEvery)
	defer tick.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-sweep.C:
			i.sweep(ctx)
		case <-tick.C:
			i.writeUses(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			i.writeUses(last)
			return nil
		}
	}
}

func (i *Identity) writeUses(ctx context.Context) {
	i.mu.Lock()
	used := i.used
	i.used = map[uuid.UUID]time.Time{}
	i.mu.Unlock()
	if len(used) == 0 {
		return
	}
	err := i.db.InTx(store.System(ctx), func(ctx context.Context, tx *store.Tx) error {
		for id, at := range used {
			if err := writeUse(ctx, tx, id, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		i.log.WarnContext(ctx, "times of last use not written", "keys", len(used), "error", err)
	}
}

// writeUse moves the time forward only: another process may have written a later one.
func writeUse(ctx context.Context, tx *store.Tx, id uuid.UUID, at time.Time) error {
	return tx.APIKey.Update().
		Where(apikey.ID(id), apikey.Or(apikey.LastUsedAtIsNil(), apikey.LastUsedAtLT(at))).
		SetLastUsedAt(at).
		Exec(ctx)
}
