package identity_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// world is a workspace with its first credentials.
type world struct {
	identity.Founded
	db  *store.DB
	key secret.Key
	id  *identity.Identity
}

func found(t testing.TB, db *store.DB) world {
	t.Helper()
	w := world{db: db, key: secret.NewKey()}
	w.id = identity.New(identity.Config{DB: db, Key: w.key})
	var err error
	w.Founded, err = w.id.CreateWorkspace(t.Context(), identity.NewWorkspace{Name: "Harbor Dental", OwnerEmail: "Ana@Example.com"})
	require.NoError(t, err)
	return w
}

// requireUnauthorized checks the one answer to every bad credential.
func requireUnauthorized(t *testing.T, err error) {
	t.Helper()
	var f *fault.Error
	require.True(t, errors.As(err, &f), "%v", err)
	require.Equal(t, fault.Unauthenticated, f.Kind)
	require.Equal(t, "unauthorized", f.Code)
	require.Empty(t, f.Details)
	require.Equal(t, "a valid API key or user token is needed: Authorization: Bearer <token>", f.Message,
		"the answer does not tell why")
}

func TestAKeyResolvesToItsWorkspace(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		p, err := w.id.Authenticate(t.Context(), w.Key.Secret)
		require.NoError(t, err)
		require.Equal(t, identity.Principal{
			WorkspaceID: w.Workspace.ID, KeyID: &w.Key.Row.ID, Scopes: []string{"read", "write", "mcp"},
		}, p)
	})
}

func TestAUserTokenResolvesToTheWorkspaceAndRoleOfToday(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		p, err := w.id.Authenticate(t.Context(), w.Token)
		require.NoError(t, err)
		require.Equal(t, identity.Principal{WorkspaceID: w.Workspace.ID, UserID: &w.Owner.ID, Role: "owner"}, p)

		sys := store.System(t.Context())
		require.NoError(t, db.Ent().User.UpdateOneID(w.Owner.ID).SetRole("viewer").Exec(sys))
		p, err = w.id.Authenticate(t.Context(), w.Token)
		require.NoError(t, err)
		require.Equal(t, "viewer", p.Role)

		require.NoError(t, db.Ent().User.UpdateOneID(w.Owner.ID).ClearWorkspaceID().Exec(sys))
		_, err = w.id.Authenticate(t.Context(), w.Token)
		requireUnauthorized(t, err) // spec: Authentication, rule 2

		require.NoError(t, db.Ent().User.DeleteOneID(w.Owner.ID).Exec(sys))
		_, err = w.id.Authenticate(t.Context(), w.Token)
		requireUnauthorized(t, err)
	})
}

func TestWhatIsNoCredentialIsUnauthorized(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		other := found(t, db) // signs with another master key
		for name, token := range map[string]string{
			"nothing":                        "",
			"a word":                         "hello",
			"a key of nobody":                strangerKey(t, db),
			"a key in lower case":            lower(w.Key.Secret),
			"a key with a space after it":    w.Key.Secret + " ",
			"a key with its scheme":          "Bearer " + w.Key.Secret,
			"a key cut short":                w.Key.Secret[:len(w.Key.Secret)-1],
			"the stored digest":              string(w.Key.Row.Hash),
			"two dots":                       "..",
			"a token of another master key":  other.Token,
			"a NUL":                          "cw_live_\x00",
			"more than 8 KiB":                "cw_live_" + string(make([]byte, 9<<10)),
			"a wildcard of the query":        "cw_live_%",
			"a key hidden in three segments": w.Key.Secret + ".a.b",
		} {
			t.Run(name, func(t *testing.T) {
				_, err := w.id.Authenticate(t.Context(), token)
				requireUnauthorized(t, err)
			})
		}
	})
}

func TestADatabaseThatIsGoneIsNotABadCredential(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, token := range []string{w.Key.Secret, w.Token} {
			_, err := w.id.Authenticate(ctx, token)
			require.Error(t, err)
			require.False(t, fault.Is(err, "unauthorized"), "%v", err)
		}
	})
}

func TestAllows(t *testing.T) {
	key, user := uuid.New(), uuid.New()
	for name, c := range map[string]struct {
		p    identity.Principal
		want map[string]bool
	}{
		"a full key does not administer": {
			identity.Principal{KeyID: &key, Scopes: identity.KeyScopes},
			map[string]bool{"read": true, "write": true, "mcp": true},
		},
		"a key may be for reading only": {
			identity.Principal{KeyID: &key, Scopes: []string{"read"}}, map[string]bool{"read": true},
		},
		"a key with a scope that keys can not have": {
			identity.Principal{KeyID: &key, Scopes: []string{"admin"}, Role: "owner"}, nil,
		},
		"a viewer reads": {
			identity.Principal{UserID: &user, Role: "viewer"}, map[string]bool{"read": true, "mcp": true},
		},
		"a member writes too": {
			identity.Principal{UserID: &user, Role: "member"}, map[string]bool{"read": true, "write": true, "mcp": true},
		},
		"an admin administers": {
			identity.Principal{UserID: &user, Role: "admin"},
			map[string]bool{"read": true, "write": true, "mcp": true, "admin": true},
		},
		"an owner administers": {
			identity.Principal{UserID: &user, Role: "owner"},
			map[string]bool{"read": true, "write": true, "mcp": true, "admin": true},
		},
		"an unknown role may nothing": {identity.Principal{UserID: &user, Role: "root"}, nil},
		"nobody may nothing":          {identity.Principal{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, scope := range []string{"read", "write", "mcp", "admin", "", "other"} {
				require.Equal(t, c.want[scope], c.p.Allows(scope), "scope %q", scope)
			}
		})
	}
}

func TestThePrincipalTravelsInTheContext(t *testing.T) {
	_, ok := identity.From(t.Context())
	require.False(t, ok)
	want := identity.Principal{WorkspaceID: uuid.New(), Role: "member"}
	got, ok := identity.From(identity.WithPrincipal(t.Context(), want))
	require.True(t, ok)
	require.Equal(t, want, got)
}
