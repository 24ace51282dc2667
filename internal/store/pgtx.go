package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pgTx lets pgx code work in a transaction that database/sql has begun on the same connection. It can not end it.
type pgTx struct {
	conn *pgx.Conn
	// Name of the savepoint this stands for; empty for the transaction itself.
	savepoint string
	depth     int
}

var _ pgx.Tx = (*pgTx)(nil)

var errForeignTx = errors.New("store: the transaction ends with InTx")

// Begin sets a savepoint.
func (t *pgTx) Begin(ctx context.Context) (pgx.Tx, error) {
	sp := &pgTx{conn: t.conn, depth: t.depth + 1}
	sp.savepoint = fmt.Sprintf("sp_%d", sp.depth)
	if _, err := t.conn.Exec(ctx, "SAVEPOINT "+sp.savepoint); err != nil {
		return nil, err
	}
	return sp, nil
}

// Commit releases the savepoint.
func (t *pgTx) Commit(ctx context.Context) error { return t.end(ctx, "RELEASE SAVEPOINT ") }

// Rollback goes back to the savepoint. After Commit it does nothing, as pgx asks.
func (t *pgTx) Rollback(ctx context.Context) error { return t.end(ctx, "ROLLBACK TO SAVEPOINT ") }

func (t *pgTx) end(ctx context.Context, verb string) error {
	if t.depth == 0 {
		return errForeignTx
	}
	if t.savepoint == "" {
		return pgx.ErrTxClosed
	}
	_, err := t.conn.Exec(ctx, verb+t.savepoint)
	t.savepoint = ""
	return err
}

func (t *pgTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return t.conn.CopyFrom(ctx, table, columns, rows)
}

func (t *pgTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return t.conn.SendBatch(ctx, b)
}

// LargeObjects is not supported: nothing here stores them.
func (t *pgTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

func (t *pgTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	return t.conn.Prepare(ctx, name, sql)
}

func (t *pgTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.conn.Exec(ctx, sql, args...)
}

func (t *pgTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.conn.Query(ctx, sql, args...)
}

func (t *pgTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.conn.QueryRow(ctx, sql, args...)
}

func (t *pgTx) Conn() *pgx.Conn { return t.conn }
