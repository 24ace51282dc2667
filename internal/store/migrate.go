package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/callwright/callwright/internal/store/migrations"
)

// Migrate brings the tables and the job queue up to date. Any number of processes may do it at once: one works, the
// others wait. It refuses a database that a newer version has migrated.
func (db *DB) Migrate(ctx context.Context) error {
	done, err := db.Migrated(ctx)
	if done || err != nil {
		return err // at most starts there is nothing to do, and no reason to wait for a lock
	}
	if db.postgres() {
		err = db.migratePostgres(ctx)
	} else {
		err = db.migrateSQLite(ctx)
	}
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// Migrated tells whether everything is applied.
func (db *DB) Migrated(ctx context.Context) (bool, error) {
	applied, err := db.applied(ctx)
	if err != nil {
		return false, fmt.Errorf("read the version of the database: %w", err)
	}
	p, err := db.goose(db.write)
	if err != nil {
		return false, err
	}
	sources := p.ListSources()
	newest := sources[len(sources)-1].Version
	if applied > newest {
		return false, fmt.Errorf("the database was migrated by a newer version of Callwright (%d; this one knows %d): "+
			"run that version, or restore a backup made before", applied, newest)
	}
	if applied < newest {
		return false, nil
	}
	if db.postgres() {
		return riverMigrated(ctx, db, riverdriver.Driver[pgx.Tx](db.jobs.pgDriver))
	}
	return riverMigrated(ctx, db, riverdriver.Driver[*sql.Tx](db.jobs.sqliteDriver))
}

// applied is the newest migration in the database, 0 when there is none.
func (db *DB) applied(ctx context.Context) (int64, error) {
	table := "SELECT count(*) FROM sqlite_master WHERE name = 'goose_db_version'"
	if db.postgres() {
		table = "SELECT count(*) FROM pg_class WHERE oid = to_regclass('goose_db_version')"
	}
	var n, version int64
	if err := db.read.QueryRowContext(ctx, table).Scan(&n); err != nil || n == 0 {
		return 0, err
	}
	err := db.read.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&version)
	return version, err
}

func (db *DB) goose(on *sql.DB) (*goose.Provider, error) {
	d := goose.DialectSQLite3
	if db.postgres() {
		d = goose.DialectPostgres
	}
	p, err := goose.NewProvider(d, on, migrations.Files(db.dialect), goose.WithDisableGlobalRegistry(true), goose.WithSlog(quiet(db.log)))
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return p, nil
}

// migrateSQLite holds the write lock of a second, empty database file meanwhile: a lock that works between processes on
// every system and ends with them.
func (db *DB) migrateSQLite(ctx context.Context) (err error) {
	path, err := sqliteFile(db.config.DataDir)
	if err != nil {
		return err
	}
	locks, err := sql.Open("sqlite", fileURI(filepath.Join(filepath.Dir(path), "migrate.lock"))+"?_pragma=busy_timeout(300000)&_txlock=exclusive")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locks.Close()) }()
	held, err := locks.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("wait for another migration: %w", err)
	}
	defer func() { err = errors.Join(err, held.Rollback()) }()

	if err := db.migrateTables(ctx, db.write); err != nil {
		return err
	}
	return migrateRiver(ctx, db, riverdriver.Driver[*sql.Tx](db.jobs.sqliteDriver))
}

// migratePostgres works under an advisory lock, in a pool of its own without the time limits of requests.
func (db *DB) migratePostgres(ctx context.Context) (err error) {
	c, err := db.poolConfig()
	if err != nil {
		return err
	}
	c.MaxConns = max(4, c.MaxConns)
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return err
	}
	defer pool.Close()
	on := stdlib.OpenDBFromPool(pool)
	defer func() { err = errors.Join(err, on.Close()) }()
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return err
	}
	conn, err := on.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := locker.SessionLock(ctx, conn); err != nil {
		return fmt.Errorf("wait for another migration: %w", err)
	}
	defer func() { err = errors.Join(err, locker.SessionUnlock(context.WithoutCancel(ctx), conn)) }()

	if err := db.migrateTables(ctx, on); err != nil {
		return err
	}
	return migrateRiver(ctx, db, riverdriver.Driver[pgx.Tx](riverpgxv5.New(pool)))
}

func (db *DB) migrateTables(ctx context.Context, on *sql.DB) error {
	p, err := db.goose(on)
	if err != nil {
		return err
	}
	done, err := p.Up(ctx)
	if n := len(done); n > 0 {
		db.log.InfoContext(ctx, "migrated the database", "version", done[n-1].Source.Version, "steps", n)
	}
	return err
}

func migrateRiver[TTx any](ctx context.Context, db *DB, d riverdriver.Driver[TTx]) error {
	m, err := rivermigrate.New(d, &rivermigrate.Config{Logger: quiet(db.log)})
	if err != nil {
		return err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("the job queue: %w", err)
	}
	return nil
}

func riverMigrated[TTx any](ctx context.Context, db *DB, d riverdriver.Driver[TTx]) (bool, error) {
	m, err := rivermigrate.New(d, &rivermigrate.Config{Logger: quiet(db.log)})
	if err != nil {
		return false, err
	}
	there, err := m.ExistingVersions(ctx)
	if err != nil {
		return false, fmt.Errorf("read the version of the job queue: %w", err)
	}
	all := m.AllVersions()
	for _, want := range all {
		if !slices.ContainsFunc(there, func(v rivermigrate.Migration) bool { return v.Version == want.Version }) {
			return false, nil
		}
	}
	return true, nil
}
