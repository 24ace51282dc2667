package store

import (
	"context"
	"database/sql"
	"sync"
)

// statements keeps SQLite's queries prepared: reading the text of one costs more than finding a row by its id. pgx does the
// same for PostgreSQL by itself.
type statements struct {
	db *sql.DB
	mu sync.Mutex
	// What was asked lately, and before that. When young is full, what is left in old goes.
	young, old map[string]*sql.Stmt
}

const (
	keptStatements = 64   // of each generation, on each connection
	keptLength     = 2048 // longer ones hold lists of ids, and hardly come again
)

// QueryContext asks with a prepared statement.
func (s *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if len(query) > keptLength {
		return s.db.QueryContext(ctx, query, args...)
	}
	st, err := s.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// ExecContext is there because ent asks for it.
func (s *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return s.db.ExecContext(ctx, query, args...)
}

func (s *statements) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if st := s.find(query); st != nil {
		return st, nil
	}
	st, err := s.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.keep(query, st), nil
}

func (s *statements) find(query string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.young[query]; st != nil {
		return st
	}
	st := s.old[query]
	if st != nil {
		delete(s.old, query)
		s.add(query, st)
	}
	return st
}

// keep adds a statement, unless somebody else was faster.
func (s *statements) keep(query string, st *sql.Stmt) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.young[query]; first != nil {
		_ = st.Close() // nobody uses it
		return first
	}
	s.add(query, st)
	return st
}

func (s *statements) add(query string, st *sql.Stmt) {
	if len(s.young) >= keptStatements {
		for _, gone := range s.old {
			go gone.Close() // waits until its last rows are read
		}
		s.old, s.young = s.young, nil
	}
	if s.young == nil {
		s.young = map[string]*sql.Stmt{}
	}
	s.young[query] = st
}
