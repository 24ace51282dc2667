package identity_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestAPersonSignsInAndOut(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		h.enrolled(t, "bo@example.com", "member")
		s, choices, err := h.id.SignIn(t.Context(), " BO@example.com ", goodPassword, nil)
		require.NoError(t, err)
		require.Empty(t, choices)
		require.Equal(t, "Harbor Dental", s.Workspace.Name)
		require.NotContains(t, s.Token, ".")
		p, err := h.id.Authenticate(t.Context(), s.Token)
		require.NoError(t, err)
		require.Equal(t, h.Workspace.ID, p.WorkspaceID)
		require.Equal(t, s.User.ID, *p.UserID)
		require.Equal(t, "member", p.Role)
		require.NotNil(t, p.SessionID)

		other, _, err := h.id.SignIn(t.Context(), "bo@example.com", goodPassword, nil)
		require.NoError(t, err)
		require.NotEqual(t, s.Token, other.Token)
		require.NoError(t, h.id.SignOut(h.bearer(t, s.Token)))
		_, err = h.id.Authenticate(t.Context(), s.Token)
		requireUnauthorized(t, err)
		require.NoError(t, h.id.SignOutEverywhere(h.bearer(t, other.Token)))
		_, err = h.id.Authenticate(t.Context(), other.Token)
		requireUnauthorized(t, err)
		require.Equal(t, []string{"key_created", "member_invited", "member_joined", "sign_in", "sign_in", "sign_out", "sign_out_everywhere"},
			h.actions(t))
	})
}

func TestASessionEndsWhenItIsIdleOrOld(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		s := h.enrolled(t, "bo@example.com", "member")
		alive := func() bool { _, err := h.id.Authenticate(t.Context(), s.Token); return err == nil }
		for range 15 { // used about twice a day
			h.clock.advance(11 * time.Hour)
			require.True(t, alive())
		}
		h.clock.advance(s.ExpiresAt.Sub(h.clock.now()) - time.Microsecond)
		require.True(t, alive())
		h.clock.advance(time.Microsecond)
		require.False(t, alive(), "after 7 days")
		h.id.Sweep(t.Context())
		require.Zero(t, db.Ent().Session.Query().CountX(store.System(t.Context())))

		s, _, err := h.id.SignIn(t.Context(), "bo@example.com", goodPassword, nil)
		require.NoError(t, err)
		h.clock.advance(12*time.Hour - time.Microsecond)
		h.id.Sweep(t.Context())
		_, err = h.id.Authenticate(t.Context(), s.Token)
		require.NoError(t, err)
		h.clock.advance(12 * time.Hour)
		_, err = h.id.Authenticate(t.Context(), s.Token)
		requireUnauthorized(t, err)
	})
}

func TestASessionEndsInEveryProcessAtOnce(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		second := identity.New(identity.Config{DB: db, Key: h.key, Now: h.clock.now})
		s := h.enrolled(t, "bo@example.com", "member")
		_, err := second.Authenticate(t.Context(), s.Token)
		require.NoError(t, err)
		require.NoError(t, h.id.RemoveMember(h.as(t, "owner"), s.User.ID))
		_, err = second.Authenticate(t.Context(), s.Token)
		requireUnauthorized(t, err)
	})
}

func TestTheAnswerToABadSignInTellsNothing(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		h.enrolled(t, "bo@example.com", "member")
		h.user(t, "member") // without a password
		elsewhere := uuid.New()
		for name, c := range map[string]struct {
			email, password string
			workspace       *uuid.UUID
		}{
			"a wrong password":            {"bo@example.com", "wrong horse battery", nil},
			"an empty password":           {"bo@example.com", "", nil},
			"a very long password":        {"bo@example.com", strings.Repeat("x", 1<<20), nil},
			"an unknown address":          {"li@example.com", goodPassword, nil},
			"no address":                  {"", goodPassword, nil},
			"no address at all":           {"bo", goodPassword, nil},
			"an owner without a password": {"ana@example.com", "", nil},
			"another workspace":           {"bo@example.com", goodPassword, &elsewhere},
		} {
			from := identity.WithOrigin(t.Context(), fmt.Sprintf("192.0.2.%d", len(name)))
			_, choices, err := h.id.SignIn(from, c.email, c.password, c.workspace)
			f := fault.From(err)
			require.Equal(t, fault.Unauthenticated, f.Kind, name)
			require.Equal(t, "unauthorized: the email address or the password is wrong", f.Error(), name)
			require.Empty(t, choices, name)
		}
		require.Contains(t, h.actions(t), "sign_in_failed")
	})
}

func TestOneAddressInSeveralWorkspaces(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h, other := open(t, db), open(t, db)
		h.enrolled(t, "bo@example.com", "member")
		_, token, err := other.id.Invite(other.as(t, "owner"), "bo@example.com", "viewer")
		require.NoError(t, err)
		_, err = h.id.AcceptInvite(t.Context(), token, identity.Newcomer{Password: "another long password"})
		require.NoError(t, err)
		s, choices, err := h.id.SignIn(t.Context(), "bo@example.com", "another long password", nil)
		require.NoError(t, err)
		require.Empty(t, choices)
		require.Equal(t, other.Workspace.ID, s.Workspace.ID, "the one whose password it is")

		_, err = h.id.ChangePassword(h.bearer(t, s.Token), "another long password", goodPassword)
		require.NoError(t, err)
		s, choices, err = h.id.SignIn(t.Context(), "bo@example.com", goodPassword, nil)
		require.NoError(t, err)
		require.Empty(t, s.Token)
		require.Len(t, choices, 2)
		s, choices, err = h.id.SignIn(t.Context(), "bo@example.com", goodPassword, &h.Workspace.ID)
		require.NoError(t, err)
		require.Empty(t, choices)
		require.Equal(t, h.Workspace.ID, s.Workspace.ID)
	})
}

func TestWrongPasswordsAreLimited(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		h.enrolled(t, "bo@example.com", "member")
		here := identity.WithOrigin(t.Context(), "192.0.2.1")
		for range 5 {
			_, _, err := h.id.SignIn(here, "bo@example.com", "wrong horse battery", nil)
			require.True(t, fault.Is(err, "unauthorized"), "%v", err)
		}
		_, _, err := h.id.SignIn(here, "Bo@example.com", goodPassword, nil)
		require.True(t, fault.Is(err, "rate_limited"), "not even the right one: %v", err)
		require.Equal(t, 15*time.Minute, fault.From(err).RetryAfter)
		_, _, err = h.id.SignIn(identity.WithOrigin(t.Context(), "192.0.2.2"), "bo@example.com", goodPassword, nil)
		require.NoError(t, err, "the owner of the account elsewhere")
		h.clock.advance(15 * time.Minute)
		_, _, err = h.id.SignIn(here, "bo@example.com", goodPassword, nil)
		require.NoError(t, err)
	})
}

func TestFewPasswordsAreHashedAtOnce(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		var mu sync.Mutex
		codes := map[string]int{}
		var all sync.WaitGroup
		for n := range 60 {
			all.Go(func() {
				from := identity.WithOrigin(t.Context(), fmt.Sprintf("192.0.2.%d", n))
				_, _, err := h.id.SignIn(from, fmt.Sprintf("p%d@example.com", n), goodPassword, nil)
				mu.Lock()
				defer mu.Unlock()
				codes[fault.From(err).Code]++
			})
		}
		all.Wait()
		require.GreaterOrEqual(t, codes["unauthorized"], 18, "two at once and sixteen that wait: %v", codes)
		require.Equal(t, 60, codes["unauthorized"]+codes["rate_limited"], "%v", codes)
	})
}

func TestAChangedPasswordEndsAllOtherSessions(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		first := h.enrolled(t, "bo@example.com", "member")
		second, _, err := h.id.SignIn(t.Context(), "bo@example.com", goodPassword, nil)
		require.NoError(t, err)
		_, err = h.id.ChangePassword(h.bearer(t, first.Token), "wrong horse battery", "a new long password")
		require.True(t, fault.Is(err, "wrong_password"), "%v", err)
		_, err = h.id.ChangePassword(h.bearer(t, first.Token), goodPassword, "short")
		require.True(t, fault.Is(err, "validation_failed"), "%v", err)
		third, err := h.id.ChangePassword(h.bearer(t, first.Token), goodPassword, "a new long password")
		require.NoError(t, err)
		for _, old := range []string{first.Token, second.Token} {
			_, err = h.id.Authenticate(t.Context(), old)
			requireUnauthorized(t, err)
		}
		_, err = h.id.Authenticate(t.Context(), third.Token)
		require.NoError(t, err)
		_, _, err = h.id.SignIn(t.Context(), "bo@example.com", goodPassword, nil)
		require.True(t, fault.Is(err, "unauthorized"), "%v", err)
	})
}
