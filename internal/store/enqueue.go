package store

import (
	"context"
	"fmt"

	"github.com/riverqueue/river"
)

// EnqueueMany adds many jobs of one queue in few statements. Unlike Enqueue it announces nothing: they are found within a
// second.
func (tx *Tx) EnqueueMany(ctx context.Context, jobs []river.InsertManyParams) (err error) {
	if len(jobs) == 0 {
		return nil
	}
	j := &tx.db.jobs
	if tx.db.postgres() {
		_, err = j.pgInsert.InsertManyTx(ctx, &pgTx{conn: tx.conn}, jobs)
	} else {
		_, err = j.sqliteInsert.InsertManyTx(ctx, tx.sql, jobs)
	}
	if err != nil {
		return fmt.Errorf("enqueue %d jobs: %w", len(jobs), err)
	}
	return nil
}
