package identity

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/fault"
)

// Principal is a caller whose credential was checked: an API key or a user, always of one workspace.
type Principal struct {
	WorkspaceID uuid.UUID
	// UserID is set for a user token, KeyID for an API key.
	UserID, KeyID *uuid.UUID
	// Role is the user's; empty for a key.
	Role string
	// Scopes are the key's; empty for a user.
	Scopes []string
	// SessionID is set for a user who signed in; nil for one with a user token.
	SessionID *uuid.UUID
}

// The scopes that a method can ask for. A key has some of the first three; only people administer.
const (
	ScopeRead  = "read"
	ScopeWrite = "write"
	ScopeMCP   = "mcp"
	ScopeAdmin = "admin"
)

// KeyScopes are the scopes that a key can have; a new key has them all unless told otherwise.
var KeyScopes = []string{ScopeRead, ScopeWrite, ScopeMCP}

// The roles of a user.
const (
	RoleOwner  = "owner"
	RoleAdmin  = "admin"
	RoleMember = "member"
	RoleViewer = "viewer"
)

// roles says what a role allows. The tool server only reads, so everybody who reads may use it.
var roles = map[string][]string{
	RoleOwner:  {ScopeRead, ScopeWrite, ScopeMCP, ScopeAdmin},
	RoleAdmin:  {ScopeRead, ScopeWrite, ScopeMCP, ScopeAdmin},
	RoleMember: {ScopeRead, ScopeWrite, ScopeMCP},
	RoleViewer: {ScopeRead, ScopeMCP},
}

// Allows reports whether the caller may do what asks for the scope.
func (p Principal) Allows(scope string) bool {
	if p.KeyID != nil {
		return slices.Contains(KeyScopes, scope) && slices.Contains(p.Scopes, scope)
	}
	return slices.Contains(roles[p.Role], scope)
}

type principalKey struct{}

// WithPrincipal puts the caller into the context.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From returns the caller of a request; false outside of one.
func From(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

// person is the caller of a request as a user; keys and strangers are forbidden.
func person(ctx context.Context) (Principal, error) {
	p, ok := From(ctx)
	if !ok || p.UserID == nil {
		return p, fault.New(fault.Denied, "forbidden", "only a person may do this")
	}
	return p, nil
}

// administrator is a person who administers the workspace of the request.
func administrator(ctx context.Context) (Principal, error) {
	p, err := person(ctx)
	if err == nil && !p.Allows(ScopeAdmin) {
		err = fault.New(fault.Denied, "forbidden", "only owners and admins may do this")
	}
	return p, err
}

// writer is a person who may change things in the workspace of the request.
func writer(ctx context.Context) (Principal, error) {
	p, err := person(ctx)
	if err == nil && !p.Allows(ScopeWrite) {
		err = fault.New(fault.Denied, "forbidden", "viewers may not do this")
	}
	return p, err
}
