package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/callwright/callwright/ent"
)

// ErrCommitUnknown says that the connection broke while a transaction was committing: it may have happened or not. Who
// made the ids of its rows beforehand can look.
var ErrCommitUnknown = errors.New("store: the commit was interrupted, its outcome is not known")

var errNested = errors.New("store: InTx inside a transaction; pass the Tx on")

// Tx is a transaction of rows and jobs. Its client is scoped as the outer one. It ends with the function of [DB.InTx].
type Tx struct {
	*ent.Client
	db   *DB
	sql  *sql.Tx
	conn *pgx.Conn // PostgreSQL only: the connection under sql
	// Queues that got a job; their workers in this process are woken after the commit.
	queues map[string]bool
}

type txKey struct{}

func inTx(ctx context.Context) bool { return ctx.Value(txKey{}) != nil }

// InTx runs f in one transaction and commits when f returns nil; an error or a panic of f rolls back. The transaction has
// a deadline (Config.TxTimeout). f runs again when the database ended the transaction in favour of another one, or was
// lost before the commit. The context that f gets carries the transaction.
func (db *DB) InTx(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	if inTx(ctx) {
		return errNested
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(db.config.TxTimeout, 15*time.Second))
	defer cancel()
	return hold(ctx, retryable, func() error { return db.attempt(ctx, f) })
}

// broken marks an error of a transaction that was rolled back because its connection broke.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

func retryable(err error) bool {
	var b broken
	return contended(err) || errors.As(err, &b)
}

func (db *DB) attempt(ctx context.Context, f func(context.Context, *Tx) error) (err error) {
	tx, closeConn, err := db.begin(ctx)
	if err != nil {
		if lost(err) {
			return broken{fmt.Errorf("begin a transaction: %w", err)}
		}
		return fmt.Errorf("begin a transaction: %w", err)
	}
	defer closeConn()
	// After a commit this does nothing. A failed rollback closes the connection, which rolls back too.
	defer func() { _ = tx.sql.Rollback() }()

	if err := f(context.WithValue(ctx, txKey{}, tx), tx); err != nil {
		if tx.conn != nil && tx.conn.IsClosed() && ctx.Err() == nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return broken{err}
		}
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := tx.sql.Commit(); err != nil {
		return commitError(err)
	}
	db.jobs.wake(tx.queues)
	return nil
}

// begin opens a transaction on a connection of its own. The commit must not be interrupted by a caller who goes away,
// hence the transaction keeps the deadline of ctx but not its cancellation; f's statements have both.
func (db *DB) begin(ctx context.Context) (_ *Tx, closeConn func(), err error) {
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	deadline, _ := ctx.Deadline()
	txCtx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(2*time.Second))
	closeConn = func() {
		cancel()
		_ = conn.Close()
	}
	defer func() {
		if err != nil {
			closeConn()
		}
	}()
	tx := &Tx{db: db}
	if db.postgres() {
		if err := conn.Raw(func(c any) error {
			tx.conn = c.(*stdlib.Conn).Conn()
			return nil
		}); err != nil {
			return nil, nil, err
		}
	}
	if tx.sql, err = conn.BeginTx(txCtx, nil); err != nil {
		return nil, nil, err
	}
	tx.Client = scoped(txDriver{entsql.NewDriver(db.dialect, entsql.Conn{ExecQuerier: tx.sql})})
	return tx, closeConn, nil
}

// commitError sorts what a failed commit means. What the server answers is a refusal, except for its own end.
func commitError(err error) error {
	err = fmt.Errorf("commit: %w", err)
	var pg *pgconn.PgError
	switch {
	case contended(err):
		return err
	case pgconn.SafeToRetry(err):
		return broken{err}
	case lost(err), errors.Is(err, context.DeadlineExceeded):
		return errors.Join(ErrCommitUnknown, err)
	case errors.As(err, &pg), errors.Is(err, pgx.ErrTxCommitRollback):
		return err
	}
	return err
}
