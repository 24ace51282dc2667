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
	// release gives the connection back.
	release func()
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

type firstKey struct{}

// First gives a context in which every transaction of InTx begins with f: what f writes is committed with the rest or not
// at all, and an error of f ends the transaction before it has done anything.
func First(ctx context.Context, f func(ctx context.Context, tx *Tx) error) context.Context {
	return context.WithValue(ctx, firstKey{}, f)
}

// broken marks an error of a transaction that was rolled back because its connection broke.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

func retryable(err error) bool {
	var b broken
	return contended(err) || errors.As(err, &b)
}

func (db *DB) attempt(ctx context.Context, f func(context.Context, *Tx) error) error {
	tx, err := db.begin(ctx)
	if err != nil {
		if lost(err) {
			return broken{fmt.Errorf("begin a transaction: %w", err)}
		}
		return fmt.Errorf("begin a transaction: %w", err)
	}
	defer tx.release()
	// After a commit this does nothing. A failed rollback closes the connection, which rolls back too.
	defer func() { _ = tx.sql.Rollback() }()

	within := context.WithValue(ctx, txKey{}, tx)
	if first, ok := ctx.Value(firstKey{}).(func(context.Context, *Tx) error); ok {
		f = both(first, f)
	}
	if err := f(within, tx); err != nil {
		if tx.conn != nil && tx.conn.IsClosed() && ctx.Err() == nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return broken{err}
		}
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if tx.conn != nil && tx.conn.IsClosed() {
		return broken{errors.New("the connection broke before the commit")}
	}
	if err := tx.sql.Commit(); err != nil {
		return commitError(err)
	}
	db.jobs.wake(tx.queues)
	return nil
}

func both(first, then func(context.Context, *Tx) error) func(context.Context, *Tx) error {
	return func(ctx context.Context, tx *Tx) error {
		if err := first(ctx, tx); err != nil {
			return err
		}
		return then(ctx, tx)
	}
}

// begin opens a transaction on a connection of its own. The commit must not be interrupted by a caller who goes away,
// hence the transaction keeps the deadline of ctx but not its cancellation; f's statements have both.
func (db *DB) begin(ctx context.Context) (*Tx, error) {
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	txCtx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(2*time.Second))
	tx := &Tx{db: db}
	tx.release = func() {
		cancel()
		_ = conn.Close()
	}
	if err := tx.open(txCtx, conn); err != nil {
		tx.release()
		return nil, err
	}
	return tx, nil
}

func (tx *Tx) open(ctx context.Context, conn *sql.Conn) (err error) {
	if tx.db.postgres() {
		err := conn.Raw(func(c any) error {
			tx.conn = c.(*stdlib.Conn).Conn()
			return nil
		})
		if err != nil {
			return err
		}
	}
	if tx.sql, err = conn.BeginTx(ctx, nil); err != nil {
		return err
	}
	tx.Client = scoped(txDriver{entsql.NewDriver(tx.db.dialect, entsql.Conn{ExecQuerier: tx.sql})})
	return nil
}

// commitError tells whether a failed commit was refused or its outcome is unknown. pgconn.SafeToRetry is no help: pgx
// says of a commit whose answer got lost that it was never sent.
func commitError(err error) error {
	err = fmt.Errorf("commit: %w", err)
	if lost(err) || errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(ErrCommitUnknown, err)
	}
	return err
}
