package main_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
)

// tenant is a workspace with its credentials and, where a test asks for it, records.
type tenant struct {
	house   *house
	id      uuid.UUID
	founded identity.Founded
	// number is a telephone number that no other workspace has.
	number string
	// mark is in every text that fill writes.
	mark string
	// ids has one record of each kind that fill made; made counts them.
	ids  map[callwrightv1.Ref]string
	made int
}

var numbers atomic.Int64

// nextNumber is a telephone number that no test has yet.
func nextNumber() string { return fmt.Sprintf("+4420%08d", 30000000+numbers.Add(1)) }

// found makes a workspace whose plan limits nothing.
func (h *house) found(t *testing.T, name string) *tenant {
	t.Helper()
	f, err := h.identity.CreateWorkspace(t.Context(), identity.NewWorkspace{
		Name: name, Plan: &identity.Plan{ConcurrentCalls: 1000, MaxCallMinutes: 60},
	})
	require.NoError(t, err)
	return &tenant{house: h, id: f.Workspace.ID, founded: f, number: nextNumber()}
}

// ctx is the workspace's, as its requests have it.
func (w *tenant) ctx(t *testing.T) context.Context { return store.WithWorkspace(t.Context(), w.id) }

// credential is an Authorization header's value.
func (w *tenant) credential(t *testing.T, as string) string {
	t.Helper()
	switch as {
	case "", "key":
		return "Bearer " + w.founded.Key.Secret
	case "token":
		return "Bearer " + w.founded.Token
	case "none":
		return ""
	case "nonsense":
		return "Bearer nonsense"
	case "empty bearer":
		return "Bearer "
	case "basic":
		return "Basic dXNlcjpwYXNz"
	case "two dots":
		return "Bearer a.b.c"
	case "lower-case bearer":
		return "bearer " + w.founded.Key.Secret
	case "read key":
		return w.key(t, identity.ScopeRead)
	case "mcp key":
		return w.key(t, identity.ScopeMCP)
	case "deleted key":
		m, err := w.house.identity.CreateKey(t.Context(), w.id, identity.NewKey{Name: "short-lived"})
		require.NoError(t, err)
		require.NoError(t, w.house.identity.DeleteKey(w.ctx(t), m.Row.ID))
		return "Bearer " + m.Secret
	case "viewer":
		return w.user(t, identity.RoleViewer, w.house.identity, true)
	case "user without workspace":
		return w.user(t, identity.RoleOwner, w.house.identity, false)
	case "key of another installation": // signed with another key
		other := identity.New(identity.Config{DB: w.house.db, Key: secret.NewKey()})
		return w.user(t, identity.RoleOwner, other, true)
	}
	require.Fail(t, "unknown credential", as)
	return ""
}

func (w *tenant) key(t *testing.T, scope string) string {
	m, err := w.house.identity.CreateKey(t.Context(), w.id, identity.NewKey{Scopes: []string{scope}})
	require.NoError(t, err)
	return "Bearer " + m.Secret
}

func (w *tenant) user(t *testing.T, role string, signs *identity.Identity, inside bool) string {
	u, err := w.house.identity.CreateUser(t.Context(), identity.NewUser{WorkspaceID: w.id, Role: role})
	require.NoError(t, err)
	token, err := signs.UserToken(t.Context(), u.ID, time.Hour)
	require.NoError(t, err)
	if !inside {
		ctx := store.System(t.Context())
		require.NoError(t, w.house.db.Ent().User.UpdateOneID(u.ID).ClearWorkspaceID().Exec(ctx))
	}
	return "Bearer " + token
}
