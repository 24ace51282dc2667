package identity_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
)

// clock is a time that only moves when a test says so.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: store.Now()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// house is an installation with one workspace and a clock.
type house struct {
	world
	clock *clock
}

func open(t testing.TB, db *store.DB, change ...func(*identity.Config)) house {
	t.Helper()
	h := house{clock: newClock()}
	c := identity.Config{DB: db, Key: secret.NewKey(), Now: h.clock.now}
	for _, f := range change {
		f(&c)
	}
	h.world = world{db: db, key: c.Key, id: identity.New(c)}
	var err error
	h.Founded, err = h.id.CreateWorkspace(t.Context(), identity.NewWorkspace{Name: "Harbor Dental", OwnerEmail: "ana@example.com"})
	require.NoError(t, err)
	return h
}

// as is the context of a request of somebody with a role, who is made for it.
func (h house) as(t testing.TB, role string) context.Context {
	t.Helper()
	return h.context(t, h.user(t, role))
}

func (h house) user(t testing.TB, role string) *ent.User {
	t.Helper()
	u, err := h.id.CreateUser(t.Context(), identity.NewUser{
		WorkspaceID: h.Workspace.ID, Email: role + "-" + uuid.NewString() + "@example.com", Role: role,
	})
	require.NoError(t, err)
	return u
}

func (h house) context(t testing.TB, u *ent.User) context.Context {
	return identity.WithPrincipal(store.WithWorkspace(t.Context(), *u.WorkspaceID),
		identity.Principal{WorkspaceID: *u.WorkspaceID, UserID: &u.ID, Role: u.Role})
}

// bearer is the context of a request with a token.
func (h house) bearer(t testing.TB, token string) context.Context {
	t.Helper()
	p, err := h.id.Authenticate(t.Context(), token)
	require.NoError(t, err)
	return identity.WithPrincipal(store.WithWorkspace(t.Context(), p.WorkspaceID), p)
}

const goodPassword = "correct horse battery"

// enrolled is a person with a password, who came by an invite.
func (h house) enrolled(t testing.TB, email, role string) identity.SignedIn {
	t.Helper()
	_, token, err := h.id.Invite(h.as(t, "owner"), email, role)
	require.NoError(t, err)
	s, err := h.id.AcceptInvite(t.Context(), token, identity.Newcomer{Password: goodPassword, Name: "Somebody"})
	require.NoError(t, err)
	return s
}

// actions are those of the audit, oldest first.
func (h house) actions(t testing.TB) []string {
	t.Helper()
	limit := 200
	page, err := identity.ListAudit(h.as(t, "owner"), h.db.Ent(), 0, &limit)
	require.NoError(t, err)
	var all []string
	for i := len(page.Rows) - 1; i >= 0; i-- {
		all = append(all, page.Rows[i].Action)
	}
	return all
}
