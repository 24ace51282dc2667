package store_test

import (
	"context"
	stdsql "database/sql"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// Each benchmark has the same work through the store and through the bare driver beside it: the difference is what ent,
// the scope and the routing cost.

func eachDatabase(b *testing.B, f func(b *testing.B, c store.Config, db *store.DB)) {
	quiet := slog.New(slog.DiscardHandler)
	b.Run("sqlite", func(b *testing.B) { f(b, store.Config{}, migrated(b, store.Config{DataDir: b.TempDir(), Log: quiet})) })
	b.Run("postgres", func(b *testing.B) {
		c := store.Config{DatabaseURL: storetest.PostgresURL(b), Log: quiet}
		f(b, c, migrated(b, c))
	})
}

// agents fills a workspace and gives the ids of its agents.
func agents(b *testing.B, db *store.DB, n int) (context.Context, uuid.UUID, []uuid.UUID) {
	b.Helper()
	ctx, id := storetest.Workspace(b, db)
	require.NoError(b, db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		for i := range n {
			if _, err := newAgent(tx.Client, fmt.Sprint("agent ", i)).Save(ctx); err != nil {
				return err
			}
		}
		return nil
	}))
	ids, err := db.Ent().Agent.Query().IDs(ctx)
	require.NoError(b, err)
	return ctx, id, ids
}

const columns = "id, created_at, updated_at, workspace_id, name, name_fold, status, modality, language, settings"

type scanner interface{ Scan(...any) error }

func scan(r scanner) error {
	var id, workspace uuid.UUID
	var created, updated time.Time
	var name, fold, status, modality, language string
	var settings []byte
	return r.Scan(&id, &created, &updated, &workspace, &name, &fold, &status, &modality, &language, &settings)
}

// bare is the driver alone: a pgx pool, or database/sql on SQLite.
func bare(b *testing.B, c store.Config, db *store.DB) (get func(context.Context, uuid.UUID, uuid.UUID) error, list func(context.Context, uuid.UUID) error, insert func(context.Context, uuid.UUID) error) {
	const one, page = "SELECT " + columns + " FROM agents WHERE id = $1 AND workspace_id = $2",
		"SELECT " + columns + " FROM agents WHERE workspace_id = $1 ORDER BY created_at DESC, id DESC LIMIT 50"
	const add = "INSERT INTO agents (" + columns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
	row := func(ws uuid.UUID) []any {
		return []any{store.NewID(), store.Now(), store.Now(), ws, "x", "x", "active", "voice", "en", []byte("{}")}
	}
	if c.DatabaseURL == "" {
		return func(ctx context.Context, id, ws uuid.UUID) error {
				return scan(store.Reader(db).QueryRowContext(ctx, one, id, ws))
			},
			func(ctx context.Context, ws uuid.UUID) error {
				rows, err := store.Reader(db).QueryContext(ctx, page, ws)
				if err != nil {
					return err
				}
				return scanAll(rows)
			},
			func(ctx context.Context, ws uuid.UUID) error {
				_, err := store.Writer(db).ExecContext(ctx, add, row(ws)...)
				return err
			}
	}
	pool, err := pgxpool.New(b.Context(), c.DatabaseURL)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	return func(ctx context.Context, id, ws uuid.UUID) error { return scan(pool.QueryRow(ctx, one, id, ws)) },
		func(ctx context.Context, ws uuid.UUID) error {
			rows, err := pool.Query(ctx, page, ws)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				if err := scan(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		},
		func(ctx context.Context, ws uuid.UUID) error {
			_, err := pool.Exec(ctx, add, row(ws)...)
			return err
		}
}

func scanAll(rows *stdsql.Rows) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func BenchmarkGet(b *testing.B) {
	eachDatabase(b, func(b *testing.B, c store.Config, db *store.DB) {
		ctx, ws, ids := agents(b, db, 200)
		get, _, _ := bare(b, c, db)
		compare(b,
			func(i int) error { _, err := db.Ent().Agent.Get(ctx, ids[i%len(ids)]); return err },
			func(i int) error { return get(ctx, ids[i%len(ids)], ws) })
	})
}

func BenchmarkList50(b *testing.B) {
	eachDatabase(b, func(b *testing.B, c store.Config, db *store.DB) {
		ctx, ws, _ := agents(b, db, 200)
		_, list, _ := bare(b, c, db)
		compare(b,
			func(int) error {
				_, err := db.Ent().Agent.Query().Order(newestFirst).Limit(50).All(ctx)
				return err
			},
			func(int) error { return list(ctx, ws) })
	})
}

func newestFirst(s *sql.Selector) { s.OrderBy(sql.Desc(s.C("created_at")), sql.Desc(s.C("id"))) }

func BenchmarkInsert(b *testing.B) {
	eachDatabase(b, func(b *testing.B, c store.Config, db *store.DB) {
		ctx, ws, _ := agents(b, db, 1)
		_, _, insert := bare(b, c, db)
		compare(b, func(int) error { return newAgent(db.Ent(), "x").Exec(ctx) }, func(int) error { return insert(ctx, ws) })
	})
}

func BenchmarkInTx(b *testing.B) {
	eachDatabase(b, func(b *testing.B, _ store.Config, db *store.DB) {
		ctx, _, _ := agents(b, db, 1)
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error { return newAgent(tx.Client, "x").Exec(ctx) }))
		}
	})
}

// BenchmarkJob reports the time from the end of the transaction to the beginning of the work, one job at a time.
func BenchmarkJob(b *testing.B) {
	eachDatabase(b, func(b *testing.B, _ store.Config, db *store.DB) {
		began := make(chan time.Time, 1)
		work(b, db, store.JobsConfig{}, func(context.Context, ping) error {
			began <- time.Now()
			return nil
		})
		var waits []time.Duration
		for b.Loop() {
			require.NoError(b, enqueue(b.Context(), db, 1))
			committed := time.Now()
			waits = append(waits, (<-began).Sub(committed))
		}
		slices.Sort(waits)
		b.ReportMetric(float64(waits[len(waits)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
	})
}

func compare(b *testing.B, ours, driver func(i int) error) {
	for name, f := range map[string]func(int) error{"store": ours, "driver": driver} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				require.NoError(b, f(i))
				i++
			}
		})
	}
}
