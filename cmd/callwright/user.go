package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/identity"
)

type userCommand struct {
	Create        userCreate `cmd:"" help:"Add a user to a workspace."`
	ResetPassword userReset  `cmd:"" help:"Print a link with which a user sets a new password, or their first one."`
	Token         userToken  `cmd:"" help:"Print a token of a user, for Authorization: Bearer."`
}

type userCreate struct {
	Workspace uuid.UUID `required:"" env:"-" placeholder:"ID" help:"Id of the workspace."`
	Email     string    `env:"-" placeholder:"ADDRESS" help:"Email address, unique in the workspace."`
	Name      string    `env:"-" help:"Name, up to 128 characters."`
	Role      string    `env:"-" default:"member" enum:"owner,admin,member,viewer" help:"owner and admin administer, member writes, viewer reads."`
	JSON      bool      `env:"-" name:"json" help:"Print one JSON object."`
	storage
}

func (c *userCreate) Run(ctx context.Context, t *terminal) error {
	g, err := c.open(ctx, t)
	if err != nil {
		return err
	}
	defer g.close()
	u, err := g.identity.CreateUser(ctx, identity.NewUser{
		WorkspaceID: c.Workspace, Email: c.Email, Name: c.Name, Role: c.Role,
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(struct {
			WorkspaceID uuid.UUID `json:"workspace_id"`
			UserID      uuid.UUID `json:"user_id"`
			Role        string    `json:"role"`
		}{c.Workspace, u.ID, u.Role})
	}
	t.table("User", u.ID.String(), "Role", u.Role, "Token", "callwright user token "+u.ID.String(),
		"Password", "callwright user reset-password "+u.ID.String())
	return nil
}

type userToken struct {
	User string        `arg:"" help:"Id or email address of the user."`
	Life time.Duration `env:"-" default:"24h" placeholder:"TIME" help:"How long the token lives, at most 2160h (90 days)."`
	JSON bool          `env:"-" name:"json" help:"Print one JSON object."`
	storage
}

func (c *userToken) Run(ctx context.Context, t *terminal) error {
	g, err := c.open(ctx, t)
	if err != nil {
		return err
	}
	defer g.close()
	id, err := g.userID(ctx, c.User)
	if err != nil {
		return err
	}
	token, err := g.identity.UserToken(ctx, id, c.Life)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(map[string]string{"user_token": token})
	}
	fmt.Fprintln(t.stdout, token)
	return nil
}
