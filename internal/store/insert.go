package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Insert writes many rows of an owned table of the context's workspace, several times faster than ent's CreateBulk: by
// COPY on PostgreSQL, by one prepared statement on SQLite. Nothing stands in for ent's defaults: columns name every column
// that must have a value, but for workspace_id, which is the context's. Names are ent's constants; times are [Now]'s and
// JSON is json.RawMessage.
func (tx *Tx) Insert(ctx context.Context, table string, columns []string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	workspace, ok := Workspace(ctx)
	if !ok {
		return fmt.Errorf("insert into %s: %w", table, ErrNoWorkspace)
	}
	columns = append([]string{column}, columns...)
	var err error
	if tx.db.postgres() {
		_, err = tx.conn.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
			values := make([]any, len(columns))
			values[0] = [16]byte(workspace)
			for j, v := range rows[i] {
				values[j+1] = plain(v)
			}
			return values, nil
		}))
	} else {
		err = tx.insertEach(ctx, table, columns, workspace, rows)
	}
	if err != nil {
		return fmt.Errorf("insert %d rows into %s: %w", len(rows), table, err)
	}
	return nil
}

// plain is an id as pgx encodes it itself. As a uuid.UUID it would go through its text, after a failed attempt.
func plain(v any) any {
	switch id := v.(type) {
	case uuid.UUID:
		return [16]byte(id)
	case *uuid.UUID:
		if id == nil {
			return nil
		}
		return [16]byte(*id)
	}
	return v
}

func (tx *Tx) insertEach(ctx context.Context, table string, columns []string, workspace uuid.UUID, rows [][]any) error {
	s, err := tx.sql.PrepareContext(ctx, "INSERT INTO "+quoted(table)+" ("+quoted(columns...)+") VALUES (?"+
		strings.Repeat(", ?", len(columns)-1)+")")
	if err != nil {
		return err
	}
	defer s.Close()
	values := make([]any, len(columns))
	for _, row := range rows {
		values[0] = workspace
		copy(values[1:], row)
		if _, err := s.ExecContext(ctx, values...); err != nil {
			return err
		}
	}
	return nil
}

func quoted(names ...string) string { return "`" + strings.Join(names, "`, `") + "`" }
