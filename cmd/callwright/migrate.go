package main

import (
	"context"
	"fmt"
)

type migrateCommand struct {
	storage
}

func (migrateCommand) Help() string {
	return "Several processes may do this at once: one works, the others wait."
}

func (c *migrateCommand) Run(ctx context.Context, t *terminal) error {
	g, err := c.open(ctx, t)
	if err != nil {
		return err
	}
	defer g.close()
	fmt.Fprintln(t.stdout, "the database is up to date")
	return nil
}
