// Package store keeps the rows and the jobs of Callwright in SQLite (default) or PostgreSQL.
//
// It is the only package that knows which of the two it is. Rule packages use the ent client of [DB.Ent] for reads and
// [DB.InTx] for writes; in a transaction rows and jobs are committed together or not at all.
//
// # Scope
//
// Every table with a workspace_id, except users, belongs to workspaces. Queries and mutations of such a table see only
// the workspace of the context ([WithWorkspace]) and fail without one. [System] is the one way out, for jobs, sign-in and
// commands. Raw SQL through ent clients is refused, because it would not be scoped.
//
// # Transactions
//
// Inside [DB.InTx] only the Tx may be used: the outer client refuses a context that carries a transaction, because on
// SQLite a write there would wait for its own transaction, and on PostgreSQL it would take a second connection and not
// see the first one's rows.
//
// The function given to InTx may run more than once. It must not keep anything outside of the transaction from a run
// that fails, and makes ids before InTx where a repeated request must not create twice.
//
// # When the database is away
//
// A read, and a transaction that has not reached its commit, is held and tried again for up to 8 seconds while the
// database can not be reached. After that the error is fault kind Unavailable. An interrupted commit is never repeated
// here, since it may have happened: it returns [ErrCommitUnknown], and the caller who made the row's id beforehand can
// look whether the row is there. A write outside of a transaction is held only until it has a connection, and is not
// repeated either.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/callwright/callwright/ent"
	_ "github.com/callwright/callwright/ent/runtime" // defaults of the schema
	"github.com/callwright/callwright/ent/schema"
)

// Config says where the database is.
type Config struct {
	// DataDir holds callwright.db when DatabaseURL is empty. It is created. Defaults to "data".
	DataDir string
	// DatabaseURL is a PostgreSQL URL. Defaults to the SQLite file in DataDir.
	DatabaseURL string
	// MaxConns is the size of the PostgreSQL pool. Defaults to pool_max_conns of the URL, or 16. SQLite has one connection
	// that writes and some that read, whatever this says.
	MaxConns int
	// TxTimeout bounds a transaction with all its retries. Defaults to 15 seconds.
	TxTimeout time.Duration
	// Log gets what goes wrong. Defaults to slog.Default().
	Log *slog.Logger
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	config  Config
	log     *slog.Logger
	dialect string
	// On PostgreSQL both are the same pool seen through database/sql.
	read, write *sql.DB
	pool        *pgxpool.Pool // PostgreSQL only
	ent         *ent.Client
	jobs        jobs
}

// Open connects to the database and checks that it answers. It does not migrate.
func Open(ctx context.Context, c Config) (*DB, error) {
	db := &DB{config: c, log: cmp.Or(c.Log, slog.Default())}
	open := db.openSQLite
	if c.DatabaseURL != "" {
		open = db.openPostgres
	}
	if err := open(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := db.Ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reach the database: %w", err), db.Close())
	}
	read := entsql.OpenDB(db.dialect, db.read)
	if !db.postgres() {
		read = entsql.NewDriver(db.dialect, entsql.Conn{ExecQuerier: &statements{db: db.read}})
	}
	db.ent = scoped(&outerDriver{
		dialect: db.dialect,
		read:    read,
		write:   entsql.OpenDB(db.dialect, db.write),
	})
	if err := db.jobs.open(db); err != nil {
		return nil, errors.Join(fmt.Errorf("open the job queue: %w", err), db.Close())
	}
	return db, nil
}

// Close closes all connections. Jobs must have stopped and nobody may use the DB any more.
func (db *DB) Close() error {
	var errs []error
	if db.read != nil && db.read != db.write {
		errs = append(errs, db.read.Close())
	}
	if db.write != nil {
		errs = append(errs, db.write.Close())
	}
	if db.pool != nil {
		db.pool.Close()
	}
	return errors.Join(errs...)
}

// Dialect is dialect.SQLite or dialect.Postgres of ent.
func (db *DB) Dialect() string { return db.dialect }

// Ent is the scoped client outside of transactions.
func (db *DB) Ent() *ent.Client { return db.ent }

// Ping asks the database for an answer, once.
func (db *DB) Ping(ctx context.Context) error {
	var one int
	return db.read.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}

func (db *DB) postgres() bool { return db.dialect == dialect.Postgres }

// Now is the time as both databases store it: UTC in microseconds.
func Now() time.Time { return schema.Now() }

// NewID returns a UUIDv7.
func NewID() uuid.UUID { return schema.NewID() }
