package main

import "context"

type devCommand struct {
	serving
	storage
}

func (c *devCommand) Run(ctx context.Context, t *terminal) error { return errorf("not yet") }
