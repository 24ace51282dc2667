package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/callwright/callwright/internal/fault"
)

// IsUnique tells whether err is the violation of a unique index.
func IsUnique(err error) bool {
	return hasState(err, "23505") || hasCode(err, sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// IsNoRow tells the answer to an insert that did nothing because its row was there already (ON CONFLICT DO NOTHING).
func IsNoRow(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// IsForeignKey tells whether err is the violation of a foreign key: the row referred to is not there, or is still
// referred to.
func IsForeignKey(err error) bool {
	return hasState(err, "23503") || hasCode(err, sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY)
}

// contended tells whether the database ended the transaction because of another one. The same again may succeed.
func contended(err error) bool {
	var e *sqlite.Error
	if errors.As(err, &e) {
		primary := e.Code() & 0xff // extended codes keep the primary one in the low byte
		return primary == sqlite3.SQLITE_BUSY || primary == sqlite3.SQLITE_LOCKED
	}
	return hasState(err, "40001", "40P01")
}

// lost tells whether the server could not be reached or went away; it says nothing about what had been done before.
func lost(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// 08 connection, 57P01…3 server stops or starts, 53300 too many connections. Wrong passwords and the like never heal.
		return strings.HasPrefix(pg.Code, "08") || slices.Contains([]string{"57P01", "57P02", "57P03", "53300"}, pg.Code)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, pgconn.ErrConnClosed)
}

// holdFor is how long a request is held while the database is away.
const holdFor = 8 * time.Second

// hold runs f until it succeeds, fails in a way that again does not accept, or the database was away for holdFor.
func hold(ctx context.Context, again func(error) bool, f func() error) error {
	var since time.Time
	var before error
	for attempt := 0; ; attempt++ {
		err := f()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) && lost(before):
			return unavailable(before) // the time ran out over an attempt to come back
		case ctx.Err() != nil || !again(err):
			return err
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > holdFor:
			return unavailable(err)
		}
		if !pause(ctx, attempt) {
			return unavailable(err)
		}
		before = err
	}
}

func unavailable(err error) error {
	if lost(err) {
		return fault.New(fault.Unavailable, "unavailable", "The service is temporarily unavailable. Try again.").Wrap(err)
	}
	return err
}

// pause waits about 10 ms, doubling up to half a second, and tells whether ctx still lives after it.
func pause(ctx context.Context, attempt int) bool {
	d := min(10*time.Millisecond<<min(attempt, 10), 500*time.Millisecond)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d/2 + rand.N(d)):
		return true
	}
}

func hasState(err error, states ...string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains(states, e.Code)
}

func hasCode(err error, codes ...int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && slices.Contains(codes, e.Code())
}
