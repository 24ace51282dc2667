package store

import (
	"context"
	"errors"
	"fmt"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/intercept"
)

type scopeKey struct{}

// scope is whose rows a context may see: one workspace's, or everybody's.
type scope struct {
	workspace uuid.UUID
	system    bool
}

// WithWorkspace gives a context that sees the rows of one workspace.
func WithWorkspace(ctx context.Context, id uuid.UUID) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope{workspace: id})
}

// Workspace is the workspace of the context. It is false after [System].
func Workspace(ctx context.Context) (uuid.UUID, bool) {
	s, _ := ctx.Value(scopeKey{}).(scope)
	return s.workspace, s.workspace != uuid.Nil
}

// System gives a context that sees the rows of all workspaces. For jobs, sign-in, migrations and commands; never for a
// request after its sign-in. Of WithWorkspace and System the later one counts.
func System(ctx context.Context) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope{system: true})
}

// ErrNoWorkspace is the error of a query or mutation whose context has neither a workspace nor System.
var ErrNoWorkspace = errors.New("store: no workspace in the context")

// unowned lists the types whose rows do not belong to a workspace: workspaces themselves, users, who may have none, what
// exists before somebody's workspace is known, and counts. Only package identity touches them. Every other type is owned
// and has a workspace_id.
var unowned = map[string]bool{
	ent.TypeWorkspace: true, ent.TypeUser: true, ent.TypePairing: true, ent.TypeLink: true, ent.TypeTally: true,
}

// column is the name of the owner's column in every owned table.
const column = "workspace_id"

// scoped makes a client that keeps to the workspace of the context.
func scoped(d dialect.Driver) *ent.Client {
	c := ent.NewClient(ent.Driver(d))
	c.Intercept(intercept.TraverseFunc(scopeQuery))
	c.Use(scopeMutation)
	return c
}

func scopeQuery(ctx context.Context, q intercept.Query) error {
	if unowned[q.Type()] {
		return nil
	}
	s, _ := ctx.Value(scopeKey{}).(scope)
	switch {
	case s.system:
		return nil
	case s.workspace == uuid.Nil:
		return fmt.Errorf("query of %s: %w", q.Type(), ErrNoWorkspace)
	}
	q.WhereP(entsql.FieldEQ(column, s.workspace))
	return nil
}

// owned is what every generated mutation of an owned type has.
type owned interface {
	ent.Mutation
	WorkspaceID() (uuid.UUID, bool)
	SetWorkspaceID(uuid.UUID)
	WhereP(...func(*entsql.Selector))
}

func scopeMutation(next ent.Mutator) ent.Mutator {
	return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
		if unowned[m.Type()] {
			return next.Mutate(ctx, m)
		}
		s, _ := ctx.Value(scopeKey{}).(scope)
		if s.system {
			return next.Mutate(ctx, m)
		}
		o, ok := m.(owned)
		if !ok {
			return nil, fmt.Errorf("store: %s has no workspace_id", m.Type())
		}
		if s.workspace == uuid.Nil {
			return nil, fmt.Errorf("mutation of %s: %w", m.Type(), ErrNoWorkspace)
		}
		if !m.Op().Is(ent.OpCreate) {
			o.WhereP(entsql.FieldEQ(column, s.workspace))
		} else if id, ok := o.WorkspaceID(); !ok {
			o.SetWorkspaceID(s.workspace)
		} else if id != s.workspace {
			return nil, fmt.Errorf("store: create %s for another workspace", m.Type())
		}
		return next.Mutate(ctx, m)
	})
}
