package campaign_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/campaign"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// tables are what an enrollment writes to, in the order of their foreign keys.
var tables = []string{"contacts", "enrollments", "calls"}

// BenchmarkEnroll is the largest request (10,000 new contacts with variables, each with its first call), and beside it the
// ceiling: the same rows into the same tables in one transaction, by COPY on PostgreSQL, by prepared statements on SQLite.
// The goals are one second, and a quarter of the ceiling's pace.
func BenchmarkEnroll(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, open(b), campaign.Input{})
			r.start()
			n := 0
			b.Run("enroll", func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					q := campaign.Request{}
					for range 10_000 {
						n++
						q.Contacts = append(q.Contacts, entry(fmt.Sprintf("+1555%07d", n), map[string]string{"order": "12345678"}))
					}
					b.StartTimer()
					r.enroll(q)
				}
			})
			b.Run("ceiling", func(b *testing.B) {
				c := storetest.ConfigOf(r.db)
				if c.DatabaseURL != "" {
					copyAgain(b, c.DatabaseURL)
				} else {
					insertAgain(b, filepath.Join(c.DataDir, "callwright.db"))
				}
			})
		})
	}
}

// copyAgain empties the tables and copies the first 10,000 rows of each back in.
func copyAgain(b *testing.B, url string) {
	ctx := b.Context()
	c, err := pgx.Connect(ctx, url)
	require.NoError(b, err)
	defer c.Close(context.WithoutCancel(ctx))
	columns, rows := map[string][]string{}, map[string][][]any{}
	for _, table := range tables {
		q, err := c.Query(ctx, "SELECT * FROM "+table+" ORDER BY id LIMIT 10000")
		require.NoError(b, err)
		for _, f := range q.FieldDescriptions() {
			columns[table] = append(columns[table], f.Name)
		}
		for q.Next() {
			values, err := q.Values()
			require.NoError(b, err)
			rows[table] = append(rows[table], values)
		}
		require.NoError(b, q.Err())
	}
	for b.Loop() {
		b.StopTimer()
		_, err := c.Exec(ctx, "TRUNCATE "+strings.Join(tables, ", ")+" CASCADE")
		require.NoError(b, err)
		b.StartTimer()
		require.NoError(b, pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			for _, table := range tables {
				if _, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns[table], pgx.CopyFromRows(rows[table])); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// insertAgain is the same on SQLite, with the settings of the program.
func insertAgain(b *testing.B, file string) {
	ctx := b.Context()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)"+
		"&_pragma=secure_delete(1)&_pragma=cache_size(-8192)&_txlock=immediate&_time_format=sqlite&_timezone=UTC")
	require.NoError(b, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	inserts, rows := map[string]string{}, map[string][][]any{}
	for _, table := range tables {
		q, err := db.QueryContext(ctx, "SELECT * FROM "+table+" ORDER BY id LIMIT 10000")
		require.NoError(b, err)
		columns, err := q.Columns()
		require.NoError(b, err)
		inserts[table] = "INSERT INTO " + table + " VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
		for q.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			require.NoError(b, q.Scan(into...))
			rows[table] = append(rows[table], values)
		}
		require.NoError(b, q.Err())
		require.NoError(b, q.Close())
	}
	for b.Loop() {
		b.StopTimer()
		for _, table := range tables {
			_, err := db.ExecContext(ctx, "DELETE FROM "+table)
			require.NoError(b, err)
		}
		b.StartTimer()
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(b, err)
		for _, table := range tables {
			s, err := tx.PrepareContext(ctx, inserts[table])
			require.NoError(b, err)
			for _, values := range rows[table] {
				_, err := s.ExecContext(ctx, values...)
				require.NoError(b, err)
			}
		}
		require.NoError(b, tx.Commit())
	}
}
