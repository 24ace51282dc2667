package store

import (
	"context"
	"errors"
	"strings"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
)

// errOuter tells a caller inside a transaction that it used the wrong client.
var errOuter = errors.New("store: the outer client was used inside a transaction; use its Tx")

// outerDriver is ent's driver outside of transactions. It sends SELECTs to the readers and everything else to the writer
// (by the text: INSERT … RETURNING comes as a query too). It has no ExecContext and QueryContext, so ent's raw SQL methods
// answer with an error.
type outerDriver struct {
	dialect     string
	read, write *entsql.Driver
}

func (d *outerDriver) Dialect() string { return d.dialect }

func (d *outerDriver) Close() error { return nil }

func (d *outerDriver) Exec(ctx context.Context, query string, args, v any) error {
	if inTx(ctx) {
		return errOuter
	}
	return hold(ctx, notSent, func() error { return d.write.Exec(ctx, query, args, v) })
}

func (d *outerDriver) Query(ctx context.Context, query string, args, v any) error {
	if inTx(ctx) {
		return errOuter
	}
	if strings.HasPrefix(query, "SELECT") {
		return hold(ctx, lost, func() error { return d.read.Query(ctx, query, args, v) })
	}
	return hold(ctx, notSent, func() error { return d.write.Query(ctx, query, args, v) })
}

// Tx is for ent itself, which wraps some mutations in a transaction. Rules use [DB.InTx].
func (d *outerDriver) Tx(ctx context.Context) (dialect.Tx, error) {
	if inTx(ctx) {
		return nil, errOuter
	}
	var tx dialect.Tx
	err := hold(ctx, lost, func() (err error) {
		tx, err = d.write.Tx(ctx)
		return err
	})
	return tx, err
}

// txDriver is ent's driver on the connection of a transaction. What ent thinks is a transaction of its own is part of it.
type txDriver struct{ conn *entsql.Driver }

func (d txDriver) Dialect() string { return d.conn.Dialect() }

func (d txDriver) Close() error { return nil }

func (d txDriver) Exec(ctx context.Context, query string, args, v any) error {
	return d.conn.Exec(ctx, query, args, v)
}

func (d txDriver) Query(ctx context.Context, query string, args, v any) error {
	return d.conn.Query(ctx, query, args, v)
}

func (d txDriver) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(d), nil }
