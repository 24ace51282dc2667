package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
)

// ground is what every command that touches the database stands on.
type ground struct {
	log      *slog.Logger
	key      secret.Key
	db       *store.DB
	identity *identity.Identity
}

// open prepares the data directory and the database, migrating it when needed: commands work on a fresh directory, and
// with the server running or not. close must be called.
func (s storage) open(ctx context.Context, t *terminal) (*ground, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	g := &ground{log: s.logger(t)}
	if err := writable(s.DataDir); err != nil {
		return nil, err
	}
	var err error
	if g.key, err = secret.ReadFile(s.keyFile()); err != nil {
		return nil, err
	}
	g.db, err = store.Open(ctx, store.Config{DataDir: s.DataDir, DatabaseURL: s.DatabaseURL, Log: g.log})
	if err != nil {
		return nil, err
	}
	if err := g.db.Migrate(ctx); err != nil {
		g.close()
		return nil, err
	}
	g.identity = identity.New(identity.Config{DB: g.db, Key: g.key, Log: g.log})
	return g, nil
}

func (g *ground) close() {
	if err := g.db.Close(); err != nil {
		g.log.Error("close the database", "error", err)
	}
}

// writable makes the directory and finds out now, not in the middle of a call, whether files can be made in it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	f, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return fmt.Errorf("write to the data directory: %w", err)
	}
	f.Close()
	return os.Remove(f.Name())
}
