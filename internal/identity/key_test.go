package identity_test

import (
	"crypto/sha256"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func lower(s string) string { return strings.ToLower(s) }

// strangerKey is well formed and belongs to no row any more.
func strangerKey(t testing.TB, db *store.DB) string {
	t.Helper()
	w := found(t, db)
	require.NoError(t, w.id.DeleteKey(store.System(t.Context()), w.Key.Row.ID))
	return w.Key.Secret
}

func TestAKeyHasItsFormAndOnlyItsDigestIsKept(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		require.Regexp(t, regexp.MustCompile(`^cw_live_[0-9A-Za-z]{49}$`), w.Key.Secret)
		digest := sha256.Sum256([]byte(w.Key.Secret))
		row := db.Ent().APIKey.GetX(store.System(t.Context()), w.Key.Row.ID)
		require.Equal(t, digest[:], row.Hash)
		require.Equal(t, w.Key.Secret[len(w.Key.Secret)-4:], row.Hint)
		shown, err := json.Marshal(row)
		require.NoError(t, err)
		require.NotContains(t, string(shown), w.Key.Secret)
	})
}

// A mistyped key is refused before the database is asked: the store is closed here.
func TestTheChecksumRefusesEveryOneCharacterErrorOffline(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		require.NoError(t, db.Close())
		const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		for at := range w.Key.Secret {
			for _, c := range alphabet {
				typo := w.Key.Secret[:at] + string(c) + w.Key.Secret[at+1:]
				if typo == w.Key.Secret {
					continue
				}
				_, err := w.id.Authenticate(t.Context(), typo)
				require.True(t, fault.Is(err, "unauthorized"), "%d %c: %v", at, c, err)
			}
		}
		_, err := w.id.Authenticate(t.Context(), w.Key.Secret)
		require.Error(t, err)
		require.False(t, fault.Is(err, "unauthorized"), "the right one is asked for")
	})
}

func TestKeysDiffer(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		seen := map[string]bool{w.Key.Secret: true}
		for range 50 {
			m, err := w.id.CreateKey(t.Context(), w.Workspace.ID, identity.NewKey{})
			require.NoError(t, err)
			require.False(t, seen[m.Secret])
			seen[m.Secret] = true
		}
	})
}

func TestAKeyHasTheScopesItWasGiven(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		m, err := w.id.CreateKey(t.Context(), w.Workspace.ID, identity.NewKey{Name: " Zapier ", Scopes: []string{"read"}})
		require.NoError(t, err)
		require.Equal(t, "Zapier", m.Row.Name)
		require.Equal(t, "command", m.Row.Source)
		p, err := w.id.Authenticate(t.Context(), m.Secret)
		require.NoError(t, err)
		require.True(t, p.Allows("read"))
		require.False(t, p.Allows("write"))

		for name, in := range map[string]identity.NewKey{
			"an unknown scope":      {Scopes: []string{"read", "root"}},
			"a scope of people":     {Scopes: []string{"admin"}},
			"a name of 129":         {Name: strings.Repeat("ä", 129)},
			"a name with a NUL":     {Name: "a\x00b"},
			"a name that is broken": {Name: "a\xffb"},
		} {
			_, err := w.id.CreateKey(t.Context(), w.Workspace.ID, in)
			require.True(t, fault.Is(err, "validation_failed"), "%s: %v", name, err)
		}
		_, err = w.id.CreateKey(t.Context(), w.Workspace.ID, identity.NewKey{Name: strings.Repeat("ä", 128)})
		require.NoError(t, err)
		_, err = w.id.CreateKey(t.Context(), uuid.New(), identity.NewKey{})
		require.True(t, fault.Is(err, "workspace_not_found"), "%v", err)
	})
}

func TestADeletedKeyIsRefusedByEveryProcessAtOnceAndOthersStay(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		second, err := w.id.CreateKey(t.Context(), w.Workspace.ID, identity.NewKey{})
		require.NoError(t, err)
		elsewhere := identity.New(identity.Config{DB: db, Key: w.key}) // shares nothing with w.id but the database
		_, err = elsewhere.Authenticate(t.Context(), w.Key.Secret)
		require.NoError(t, err)

		stranger := found(t, db)
		err = w.id.DeleteKey(store.WithWorkspace(t.Context(), stranger.Workspace.ID), w.Key.Row.ID)
		require.True(t, fault.Is(err, "api_key_not_found"), "another workspace's key: %v", err)

		in := store.WithWorkspace(t.Context(), w.Workspace.ID)
		require.NoError(t, w.id.DeleteKey(in, w.Key.Row.ID))
		_, err = elsewhere.Authenticate(t.Context(), w.Key.Secret)
		requireUnauthorized(t, err)
		_, err = elsewhere.Authenticate(t.Context(), second.Secret)
		require.NoError(t, err)

		err = w.id.DeleteKey(in, w.Key.Row.ID)
		require.True(t, fault.Is(err, "api_key_not_found"), "%v", err)
	})
}

func TestADeletedKeyThatIsInUseIsRefusedWithinHalfASecond(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		now := store.Now()
		elsewhere := identity.New(identity.Config{DB: db, Key: w.key, Now: func() time.Time { return now }})
		for range 3 { // remembered from the second time on
			for _, id := range []*identity.Identity{elsewhere, w.id} {
				p, err := id.Authenticate(t.Context(), w.Key.Secret)
				require.NoError(t, err)
				require.Equal(t, w.Workspace.ID, p.WorkspaceID)
				require.Equal(t, identity.KeyScopes, p.Scopes)
			}
		}
		require.NoError(t, w.id.DeleteKey(store.WithWorkspace(t.Context(), w.Workspace.ID), w.Key.Row.ID))
		_, err := w.id.Authenticate(t.Context(), w.Key.Secret)
		requireUnauthorized(t, err)
		now = now.Add(500 * time.Millisecond)
		_, err = elsewhere.Authenticate(t.Context(), w.Key.Secret)
		requireUnauthorized(t, err)
	})
}

func TestTheFirstUseIsWrittenAtOnceAndLaterOnesOncePerMinute(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		sys := store.System(t.Context())
		now := store.Now()
		w.id = identity.New(identity.Config{DB: db, Key: w.key, Now: func() time.Time { return now }})
		use := func() {
			now = now.Add(time.Second) // what was known of the key is forgotten
			_, err := w.id.Authenticate(t.Context(), w.Key.Secret)
			require.NoError(t, err)
		}
		flush := func() { // Run writes what waits when it ends
			require.NoError(t, w.id.Run(canceled(t)))
		}
		last := func() *time.Time { return db.Ent().APIKey.GetX(sys, w.Key.Row.ID).LastUsedAt }

		require.Nil(t, last())
		use()
		first := last()
		require.NotNil(t, first)

		use()
		flush()
		require.Equal(t, first.UTC(), last().UTC(), "within the minute")

		old := store.Now().Add(-time.Minute)
		require.NoError(t, db.Ent().APIKey.UpdateOneID(w.Key.Row.ID).SetLastUsedAt(old).Exec(sys))
		use()
		require.Equal(t, old, last().UTC(), "not on the way of the request")
		flush()
		require.True(t, last().After(*first))

		later := store.Now().Add(time.Hour)
		require.NoError(t, db.Ent().APIKey.UpdateOneID(w.Key.Row.ID).SetLastUsedAt(old).Exec(sys))
		use()
		require.NoError(t, db.Ent().APIKey.UpdateOneID(w.Key.Row.ID).SetLastUsedAt(later).Exec(sys))
		flush()
		require.Equal(t, later, last().UTC(), "never back behind what another process wrote")
	})
}

func BenchmarkAuthenticateKey(b *testing.B) {
	w := found(b, storetest.SQLite(b))
	for b.Loop() {
		if _, err := w.id.Authenticate(b.Context(), w.Key.Secret); err != nil {
			b.Fatal(err)
		}
	}
}
