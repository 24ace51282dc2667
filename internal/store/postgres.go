package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

const postgresConns = 16

// openPostgres opens one pool for ent (through database/sql) and River (directly).
func (db *DB) openPostgres(ctx context.Context) error {
	db.dialect = dialect.Postgres
	c, err := db.poolConfig()
	if err != nil {
		return err
	}
	// The server's net under the deadlines of contexts: a query or a transaction whose client is gone ends.
	setDefault(c.ConnConfig.RuntimeParams, "statement_timeout", "30s")
	setDefault(c.ConnConfig.RuntimeParams, "idle_in_transaction_session_timeout", "60s")
	if db.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	db.write = stdlib.OpenDBFromPool(db.pool)
	db.read = db.write
	return nil
}

// poolConfig is the URL with our defaults for what it does not say.
func (db *DB) poolConfig() (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(db.config.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("read the database URL: %w", err)
	}
	switch {
	case db.config.MaxConns > 0:
		c.MaxConns = int32(db.config.MaxConns)
	case !strings.Contains(db.config.DatabaseURL, "pool_max_conns"):
		c.MaxConns = postgresConns
	}
	c.MaxConnIdleTime = 5 * time.Minute
	if !strings.Contains(db.config.DatabaseURL, "connect_timeout") {
		// Short, so that several attempts fit into the time for which a request is held.
		c.ConnConfig.ConnectTimeout = 3 * time.Second
	}
	setDefault(c.ConnConfig.RuntimeParams, "application_name", "callwright")
	c.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		// Times come back in UTC, as from SQLite.
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	return c, nil
}

func setDefault(params map[string]string, key, value string) {
	if _, ok := params[key]; !ok {
		params[key] = value
	}
}
