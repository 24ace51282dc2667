// Package storetest gives tests fresh databases of both kinds.
//
// PostgreSQL starts by itself from installed binaries, once in a test binary, or is the server of TEST_DATABASE_URL.
// Without either its tests are skipped, loudly; with CI_REQUIRE_POSTGRES=1 they fail.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest/postgres"
)

// Run runs f as sub-tests "sqlite" and "postgres", each with a database of its own that has all tables and no rows.
func Run(t *testing.T, f func(t *testing.T, db *store.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, Postgres(t)) })
}

// RunEmpty runs f as the same sub-tests with the settings of a database without tables.
func RunEmpty(t *testing.T, f func(t *testing.T, c store.Config)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		f(t, store.Config{DataDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	})
	t.Run("postgres", func(t *testing.T) {
		f(t, store.Config{DatabaseURL: PostgresURL(t), Log: slog.New(slog.DiscardHandler)})
	})
}

// SQLite is a fresh migrated SQLite database.
func SQLite(t testing.TB) *store.DB {
	t.Helper()
	dir := t.TempDir()
	file, err := sqliteTemplate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "callwright.db"), file, 0o600))
	return open(t, store.Config{DataDir: dir})
}

// Postgres is a fresh migrated PostgreSQL database.
func Postgres(t testing.TB) *store.DB {
	t.Helper()
	s := server(t)
	template, err := postgresTemplate()
	require.NoError(t, err)
	url := create(t, s, template)
	return open(t, store.Config{DatabaseURL: url})
}

// Dump is everything that a closed database of the settings holds, as text and as files: what whoever steals it can read.
func Dump(t testing.TB, c store.Config) []byte {
	t.Helper()
	if c.DatabaseURL == "" {
		var all []byte
		files, err := filepath.Glob(filepath.Join(c.DataDir, "callwright.db*"))
		require.NoError(t, err)
		for _, name := range files {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			all = append(all, text...)
		}
		return all
	}
	conn, err := pgx.Connect(t.Context(), c.DatabaseURL)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var all string
	rows, err := conn.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, table := range tables {
		var text string
		name := pgx.Identifier{table}.Sanitize()
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT coalesce(string_agg(r::text, ' '), '') FROM "+name+" r").Scan(&text))
		all += text
	}
	return []byte(all)
}

// opened has the settings of the databases that are open.
var opened sync.Map

// ConfigOf is how a database of this package was opened, for a connection beside it.
func ConfigOf(db *store.DB) store.Config {
	c, _ := opened.Load(db)
	config, _ := c.(store.Config)
	return config
}

// Settle does what PostgreSQL does by itself some time after many rows were written: it takes statistics and notes which
// pages all may see. On SQLite there is nothing to do. For benchmarks.
func Settle(t testing.TB, db *store.DB) {
	t.Helper()
	url := ConfigOf(db).DatabaseURL
	if url == "" {
		return
	}
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = c.Exec(t.Context(), "VACUUM ANALYZE")
	require.NoError(t, errors.Join(err, c.Close(t.Context())))
}

// PostgresURL is the URL of a fresh PostgreSQL database without tables, for tests of the whole program.
func PostgresURL(t testing.TB) string {
	t.Helper()
	return create(t, server(t), "")
}

// Workspace makes a workspace with an unlimited plan and gives a context scoped to it, which ends with the test.
func Workspace(t testing.TB, db *store.DB) (context.Context, uuid.UUID) {
	t.Helper()
	w, err := db.Ent().Workspace.Create().SetName("Test").
		SetPlan(json.RawMessage(`{"limited":false,"concurrent_calls":20,"max_call_minutes":60,"windows":[]}`)).
		Save(store.System(t.Context()))
	require.NoError(t, err)
	return store.WithWorkspace(t.Context(), w.ID), w.ID
}

func open(t testing.TB, c store.Config) *store.DB {
	t.Helper()
	c.Log = slog.New(slog.DiscardHandler)
	db, err := store.Open(t.Context(), c)
	require.NoError(t, err)
	opened.Store(db, c)
	t.Cleanup(func() {
		opened.Delete(db)
		require.NoError(t, db.Close())
	})
	return db
}

func create(t testing.TB, s *postgres.Instance, template string) string {
	t.Helper()
	url, drop, err := s.Create(t.Context(), template)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, drop()) })
	return url
}

// server is the PostgreSQL server of the test binary.
func server(t testing.TB) *postgres.Instance {
	t.Helper()
	s, err := postgres.Server()
	if errors.Is(err, postgres.ErrAbsent) && os.Getenv("CI_REQUIRE_POSTGRES") != "1" {
		t.Skip("SKIPPED: half of this test needs PostgreSQL: ", err)
	}
	require.NoError(t, err)
	return s
}

// sqliteTemplate is the file of a migrated database.
var sqliteTemplate = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "callwright-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := migrated(store.Config{DataDir: dir}); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "callwright.db"))
})

// postgresTemplate is the name of a migrated database that others are copied from.
var postgresTemplate = sync.OnceValues(func() (string, error) {
	s, err := postgres.Server()
	if err != nil {
		return "", err
	}
	return s.Template(context.Background(), func(url string) error { return migrated(store.Config{DatabaseURL: url}) })
})

func migrated(c store.Config) error {
	ctx := context.Background()
	c.Log = slog.New(slog.DiscardHandler)
	db, err := store.Open(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(db.Migrate(ctx), db.Close())
}
