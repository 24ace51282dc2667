package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Template gives the name of a database made by fill, to be given to [Instance.Create]. On a server of TEST_DATABASE_URL
// an own one is made for each process and removed by the next that comes when its process has ended: its session holds an
// advisory lock on it.
func (s *Instance) Template(ctx context.Context, fill func(url string) error) (name string, err error) {
	url, _, err := s.Create(ctx, "")
	if err != nil {
		return "", err
	}
	if err := fill(url); err != nil {
		return "", fmt.Errorf("make the template database: %w", err)
	}
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return "", err
	}
	return c.Database, s.sweep(ctx, c.Database)
}

// holder keeps the advisory lock of the template. It is never closed.
//
//lint:ignore U1000 it only has to live as long as the process
var holder *pgx.Conn

// sweep marks name as a template in use, and drops those of processes that have ended.
func (s *Instance) sweep(ctx context.Context, name string) error {
	c, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	holder = c
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", name); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "COMMENT ON DATABASE "+name+" IS 'callwright test template'"); err != nil {
		return err
	}
	rows, err := c.Query(ctx, `SELECT datname FROM pg_database
		WHERE shobj_description(oid, 'pg_database') = 'callwright test template' AND datname <> $1`, name)
	if err != nil {
		return err
	}
	old, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, o := range old {
		var ended bool
		if err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtext($1))", o).Scan(&ended); err != nil {
			return err
		}
		if !ended {
			continue
		}
		if _, err := c.Exec(ctx, "DROP DATABASE IF EXISTS "+o+" WITH (FORCE)"); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, "SELECT pg_advisory_unlock(hashtext($1))", o); err != nil {
			return err
		}
	}
	return nil
}
