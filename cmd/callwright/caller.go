package main

import (
	"context"

	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/server"
	"github.com/callwright/callwright/internal/store"
)

// authenticate joins identity and server: what a token resolves to goes into the context of the request, its workspace
// into the scope of every query.
func (g *ground) authenticate(ctx context.Context, token string) (context.Context, server.Caller, error) {
	p, err := g.identity.Authenticate(ctx, token)
	if err != nil {
		return nil, server.Caller{}, err
	}
	caller := server.Caller{WorkspaceID: p.WorkspaceID.String(), IsUser: p.UserID != nil, Allows: p.Allows}
	if p.KeyID != nil {
		caller.KeyID = p.KeyID.String()
	}
	if p.UserID != nil {
		caller.UserID = p.UserID.String()
	}
	return store.WithWorkspace(identity.WithPrincipal(ctx, p), p.WorkspaceID), caller, nil
}
