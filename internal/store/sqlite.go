package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// sqliteParams are the settings of every connection.
//
//   - _txlock=immediate: a transaction takes the write lock at its beginning, so that none fails later for want of it.
//   - synchronous(NORMAL): what was committed survives the end of the process in any way, kill -9 included, since the
//     write-ahead log is in the kernel by then. A power failure may lose the last transactions, never the file's
//     consistency; FULL would cost an fsync for each commit. Who must not lose those either uses PostgreSQL.
//   - secure_delete: what is deleted is overwritten, not only unlinked (see Scrub for the write-ahead log).
//   - _time_format, _timezone: times are stored as UTC text whose order is the order of time.
//   - cache_size, mmap_size: 8 MiB for each connection; reads come from the mapped file, of which 2 GiB is the most that
//     SQLite maps. A count over a million calls takes a third less time than with a quarter of a GiB.
var sqliteParams = strings.Join([]string{
	"_pragma=busy_timeout(10000)",
	"_pragma=journal_mode(WAL)",
	"_pragma=synchronous(NORMAL)",
	"_pragma=foreign_keys(1)",
	"_pragma=secure_delete(1)",
	"_pragma=temp_store(MEMORY)",
	"_pragma=cache_size(-8192)",
	"_pragma=mmap_size(2147418112)",
	"_pragma=journal_size_limit(67108864)",
	"_txlock=immediate",
	"_time_format=sqlite",
	"_timezone=UTC",
}, "&")

// openSQLite opens the file with one connection that writes and several that only read: a writer never waits for a slow
// list, and two writers wait in the pool's queue in place of failing with SQLITE_BUSY.
func (db *DB) openSQLite(context.Context) error {
	db.dialect = dialect.SQLite
	path, err := sqliteFile(db.config.DataDir)
	if err != nil {
		return err
	}
	if db.write, err = sql.Open("sqlite", sqliteDSN(path)); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	db.write.SetMaxOpenConns(1)
	db.write.SetMaxIdleConns(1)
	// The first connection makes the file a write-ahead log one; readers could not.
	if err := db.write.Ping(); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	if db.read, err = sql.Open("sqlite", sqliteDSN(path)+"&_pragma=query_only(1)"); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	readers := max(4, runtime.NumCPU())
	db.read.SetMaxOpenConns(readers)
	db.read.SetMaxIdleConns(readers)
	db.read.SetConnMaxIdleTime(time.Minute)
	return nil
}

// Scrub sees to it that what was deleted before is in no file of the database any more: on SQLite the write-ahead log still
// holds pages as they were, until they are written back and it is cut. A reader that is busy may keep a part of it until
// the next time. PostgreSQL does the like by itself, with its vacuum and by reusing its log.
func (db *DB) Scrub(ctx context.Context) error {
	if db.postgres() {
		return nil
	}
	if _, err := db.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return fmt.Errorf("cut the write-ahead log: %w", err)
	}
	return nil
}

// sqliteFile makes the folder and an empty file that only the owner reads: SQLite itself would make it world-readable.
func sqliteFile(dir string) (string, error) {
	dir = cmp.Or(dir, "data")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	path, err := filepath.Abs(filepath.Join(dir, "callwright.db"))
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("make the database file: %w", err)
	}
	return path, f.Close()
}

func sqliteDSN(path string) string { return fileURI(path) + "?" + sqliteParams }

func fileURI(path string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
}
