package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"time"
)

// SlidingLog counts requests exactly over all processes of an installation: at most so many of a caller in any span. It
// lives in a table of PostgreSQL that is not written ahead (UNLOGGED): a crash of the server forgets the counts, and no
// request pays for keeping them. It is safe for concurrent use.
type SlidingLog struct {
	db    *DB
	name  string
	limit int
	span  time.Duration
	swept atomic.Int64 // when this process last deleted idle callers, in seconds since 1970
	// now replaces the clock of the database, in microseconds since 1970; for tests.
	now func() int64
}

// MaxShared is the largest limit that a SlidingLog keeps: the times of all requests within the span stand in one row.
const MaxShared = 10_000

// SlidingLog returns the log of a name, or nil on SQLite, whose one process counts by itself. Two names do not share
// callers.
func (db *DB) SlidingLog(name string, limit int, span time.Duration) *SlidingLog {
	if !db.postgres() || limit > MaxShared {
		return nil
	}
	return &SlidingLog{db: db, name: name, limit: limit, span: span}
}

// takeSQL is one statement, so that two processes follow each other in it: who comes second waits for the row and then
// sees the first one's request. The clock is read behind the wait. A refused request leaves the times as they are; room
// comes when the newest times but limit-1 have aged out, which after a change of the limit may not be the oldest one.
const takeSQL = `INSERT INTO throttle AS t (caller, times, accepted, at)
VALUES ($1, ARRAY[coalesce($4::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)], true,
	coalesce($4::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
ON CONFLICT (caller) DO UPDATE SET (times, accepted, at) = (
	SELECT CASE WHEN cardinality(kept.times) < $2 THEN kept.times || clock.now ELSE kept.times END,
		cardinality(kept.times) < $2, clock.now
	FROM (SELECT coalesce($4::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now OFFSET 0) clock,
		LATERAL (SELECT ARRAY(SELECT x FROM unnest(t.times) WITH ORDINALITY u (x, n) WHERE x > clock.now - $3 ORDER BY n) AS times) kept)
RETURNING accepted, cardinality(times), times[greatest(1, cardinality(times) - $2 + 1)] + $3 - at`

// Take accepts a request of the caller if there is room: ok. remaining is how many more it may make now; reset is until
// the oldest one that counts leaves the span. It asks once and does not wait for a database that is away.
func (l *SlidingLog) Take(ctx context.Context, caller string) (ok bool, remaining int, reset time.Duration, err error) {
	sum := sha256.Sum256([]byte(l.name + "\x00" + caller)) // callers are addresses, among others
	var at *int64
	if l.now != nil {
		now := l.now()
		at = &now
	}
	var n int
	var micros int64
	err = l.db.pool.QueryRow(ctx, takeSQL, sum[:16], l.limit, l.span.Microseconds(), at).Scan(&ok, &n, &micros)
	if err != nil {
		return false, 0, 0, fmt.Errorf("count a request: %w", err)
	}
	l.sweep(ctx)
	return ok, max(l.limit-n, 0), time.Duration(micros) * time.Microsecond, nil
}

const (
	sweepEvery = 60     // seconds
	sweepRows  = 10_000 // at most, at once
	idleAfter  = time.Hour
)

// sweep deletes callers that have been idle for longer than any span, now and then and a bounded number of them.
func (l *SlidingLog) sweep(ctx context.Context) {
	now, last := time.Now().Unix(), l.swept.Load()
	if now-last < sweepEvery || !l.swept.CompareAndSwap(last, now) {
		return
	}
	if err := l.forget(ctx, idleAfter); err != nil && ctx.Err() == nil {
		l.db.log.WarnContext(ctx, "idle callers stay in the throttle's table", "error", err)
	}
}

func (l *SlidingLog) forget(ctx context.Context, idle time.Duration) error {
	_, err := l.db.pool.Exec(ctx, `DELETE FROM throttle WHERE ctid = ANY (ARRAY(SELECT ctid FROM throttle
		WHERE at < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`,
		idle.Microseconds(), sweepRows)
	return err
}
