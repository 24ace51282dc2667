package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

type keyCommand struct {
	Create keyCreate `cmd:"" help:"Make an API key of a workspace."`
	Delete keyDelete `cmd:"" help:"Delete an API key. It stops working at once, in running servers too."`
}

type keyCreate struct {
	Workspace uuid.UUID `required:"" env:"-" placeholder:"ID" help:"Id of the workspace."`
	Name      string    `env:"-" help:"What the key is for, up to 128 characters."`
	Scope     []string  `env:"-" placeholder:"SCOPE" help:"What the key may do: read, write, mcp. Default: all three."`
	JSON      bool      `env:"-" name:"json" help:"Print one JSON object."`
	storage
}

func (keyCreate) Help() string {
	return "The key is shown this once.\n\nExample:\n" +
		"  callwright key create --workspace 0198c1f2-… --name \"Weekly report\" --scope read"
}

func (c *keyCreate) Run(ctx context.Context, t *terminal) error {
	for _, s := range c.Scope {
		if !slices.Contains(identity.KeyScopes, s) {
			return errorf("--scope must be %s, not %q", strings.Join(identity.KeyScopes, ", "), s)
		}
	}
	g, err := c.open(ctx, t)
	if err != nil {
		return err
	}
	defer g.close()
	m, err := g.identity.CreateKey(ctx, c.Workspace, identity.NewKey{Name: c.Name, Scopes: c.Scope})
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(struct {
			WorkspaceID uuid.UUID `json:"workspace_id"`
			APIKey      string    `json:"api_key"`
			KeyID       uuid.UUID `json:"key_id"`
			Scopes      []string  `json:"scopes"`
		}{c.Workspace, m.Secret, m.Row.ID, m.Row.Scopes})
	}
	t.table("API key", m.Secret+"   shown once", "Key id", m.Row.ID.String(), "Scopes", strings.Join(m.Row.Scopes, ", "))
	return nil
}

type keyDelete struct {
	KeyID uuid.UUID `arg:"" help:"Id of the key."`
	storage
}

func (c *keyDelete) Run(ctx context.Context, t *terminal) error {
	g, err := c.open(ctx, t)
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.identity.DeleteKey(store.System(ctx), c.KeyID); err != nil {
		return err
	}
	fmt.Fprintln(t.stdout, "deleted", c.KeyID)
	return nil
}
