package store

import (
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// ForUpdate locks the rows that a query reads until the transaction ends, on PostgreSQL. On SQLite it does nothing: there
// the transaction has the only write lock from its beginning. It is an ent predicate that filters nothing:
//
//	tx.Workspace.Query().Where(workspace.ID(id), store.ForUpdate).Only(ctx)
func ForUpdate(s *sql.Selector) {
	if s.Dialect() == dialect.Postgres {
		s.ForUpdate()
	}
}

// SkipLocked is ForUpdate for work that any process may take: rows that another transaction holds are left out.
func SkipLocked(s *sql.Selector) {
	if s.Dialect() == dialect.Postgres {
		s.ForUpdate(sql.WithLockAction(sql.SkipLocked))
	}
}

// EqualByRow is sql.FieldEQ for a column whose index would be the wrong one to use: SQLite, which keeps no statistics here,
// takes any two for equally good. PostgreSQL decides for itself.
func EqualByRow(name string, v any) func(*sql.Selector) {
	return func(s *sql.Selector) {
		column := s.C(name)
		if s.Dialect() == dialect.SQLite {
			column = "+" + column
		}
		s.Where(sql.P(func(b *sql.Builder) { b.WriteString(column).WriteOp(sql.OpEQ).Arg(v) }))
	}
}

// OrderText orders a query by a text column by code point, which both databases do alike.
func OrderText(name string, desc bool) func(*sql.Selector) {
	return func(s *sql.Selector) {
		expr := s.C(name)
		if s.Dialect() == dialect.Postgres {
			expr += ` COLLATE "C"`
		}
		if desc {
			expr += " DESC"
		}
		s.OrderExpr(sql.Expr(expr))
	}
}

// Fold maps texts that differ only in case, or in how accents are encoded, to the same text. For columns that are
// searched: both databases would fold differently, SQLite only ASCII.
func Fold(s string) string { return norm.NFC.String(cases.Fold().String(s)) }
