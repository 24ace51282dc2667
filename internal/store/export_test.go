package store

import "database/sql"

// Reader and Writer are the pools under the store, for comparison in benchmarks.
func Reader(db *DB) *sql.DB { return db.read }
func Writer(db *DB) *sql.DB { return db.write }
