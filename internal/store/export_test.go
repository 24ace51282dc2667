package store

import (
	"context"
	"database/sql"
	"time"
)

// Reader and Writer are the pools under the store, for comparison in benchmarks.
func Reader(db *DB) *sql.DB { return db.read }
func Writer(db *DB) *sql.DB { return db.write }

// SetNow replaces the database's clock.
func (l *SlidingLog) SetNow(now func() time.Time) { l.now = func() int64 { return now().UnixMicro() } }

// Forget deletes idle callers.
func (l *SlidingLog) Forget(ctx context.Context, idle time.Duration) error {
	return l.forget(ctx, idle)
}
