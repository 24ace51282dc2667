package store

import (
	"context"
	"database/sql"
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
	conn, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	return errors.Join(d.on(conn).Exec(ctx, query, args, v), conn.Close())
}

func (d *outerDriver) Query(ctx context.Context, query string, args, v any) error {
	if inTx(ctx) {
		return errOuter
	}
	if strings.HasPrefix(query, "SELECT") {
		return hold(ctx, lost, func() error { return d.read.Query(ctx, query, args, v) })
	}
	conn, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	if err := d.on(conn).Query(ctx, query, args, v); err != nil {
		return errors.Join(err, conn.Close())
	}
	rows := v.(*entsql.Rows) // Query has checked it
	rows.ColumnScanner = rowsOf{rows.ColumnScanner, conn}
	return nil
}

// acquire takes a connection for one write. database/sql would repeat a statement on a pooled connection when the driver
// says that it was never sent, and pgx says so of some that were: it must not get the choice.
func (d *outerDriver) acquire(ctx context.Context) (*sql.Conn, error) {
	var conn *sql.Conn
	err := hold(ctx, lost, func() (err error) {
		conn, err = d.write.DB().Conn(ctx)
		return err
	})
	return conn, err
}

func (d *outerDriver) on(conn *sql.Conn) *entsql.Driver {
	return entsql.NewDriver(d.dialect, entsql.Conn{ExecQuerier: conn})
}

// rowsOf gives the connection back with the rows.
type rowsOf struct {
	entsql.ColumnScanner
	conn *sql.Conn
}

func (r rowsOf) Close() error { return errors.Join(r.ColumnScanner.Close(), r.conn.Close()) }

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
