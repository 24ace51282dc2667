package identity_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func newcomer() identity.Newcomer {
	return identity.Newcomer{Email: "First@example.com", Password: goodPassword, Name: "First", WorkspaceName: "Mine"}
}

func TestTheFirstOwnerComesByTheSetUpLink(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		needs, err := h.id.NeedsSetUp(t.Context())
		require.NoError(t, err)
		require.True(t, needs)
		old, err := h.id.SetUpLink(t.Context(), nil)
		require.NoError(t, err)
		h.clock.advance(30 * time.Minute)
		_, err = h.id.SetUp(t.Context(), old, newcomer())
		require.True(t, fault.Is(err, "link_not_found"), "after 30 minutes: %v", err)

		token, err := h.id.SetUpLink(t.Context(), nil)
		require.NoError(t, err)
		spare, err := h.id.SetUpLink(t.Context(), nil)
		require.NoError(t, err, "another process prints one of its own")
		v, err := h.id.LookUpLink(t.Context(), token)
		require.NoError(t, err)
		require.Equal(t, "set_up", v.Row.Kind)
		for name, n := range map[string]identity.Newcomer{
			"no address":          {Password: goodPassword, WorkspaceName: "Mine"},
			"a bad address":       {Email: "first", Password: goodPassword, WorkspaceName: "Mine"},
			"9 characters":        {Email: "first@example.com", Password: strings.Repeat("é", 9), WorkspaceName: "Mine"},
			"129 characters":      {Email: "first@example.com", Password: strings.Repeat("é", 129), WorkspaceName: "Mine"},
			"no workspace's name": {Email: "first@example.com", Password: goodPassword},
		} {
			_, err = h.id.SetUp(t.Context(), token, n)
			require.True(t, fault.Is(err, "validation_failed"), "%s: %v", name, err)
		}
		s, err := h.id.SetUp(t.Context(), token, newcomer())
		require.NoError(t, err)
		require.Equal(t, "Mine", s.Workspace.Name)
		require.Equal(t, "owner", s.User.Role)
		p, err := h.id.Authenticate(t.Context(), s.Token)
		require.NoError(t, err)
		require.Equal(t, "owner", p.Role)

		for _, again := range []string{token, spare} {
			_, err = h.id.SetUp(t.Context(), again, newcomer())
			require.True(t, fault.Is(err, "link_not_found"), "%v", err)
		}
		none, err := h.id.SetUpLink(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, none)
		_, _, err = h.id.SignIn(t.Context(), "first@example.com", goodPassword, nil)
		require.NoError(t, err)
	})
}

func TestTheSetUpLinkCanBeForAWorkspaceThatIsThere(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		token, err := h.id.SetUpLink(t.Context(), &h.Workspace.ID)
		require.NoError(t, err)
		s, err := h.id.SetUp(t.Context(), token, identity.Newcomer{Email: "first@example.com", Password: goodPassword})
		require.NoError(t, err)
		require.Equal(t, h.Workspace.ID, s.Workspace.ID)
	})
}

func TestOneOfManySetUpsAtOnceWins(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		var won atomic.Int32
		var all sync.WaitGroup
		for range 6 {
			token, err := h.id.SetUpLink(t.Context(), nil)
			require.NoError(t, err)
			for range 2 {
				all.Go(func() {
					if _, err := h.id.SetUp(t.Context(), token, newcomer()); err == nil {
						won.Add(1)
					}
				})
			}
		}
		all.Wait()
		require.EqualValues(t, 1, won.Load())
	})
}

func TestSignUpIsOpenOnlyWhereItIsSaid(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		_, err := h.id.SignUp(t.Context(), newcomer())
		require.True(t, fault.Is(err, "sign_up_closed"), "%v", err)
		h = open(t, db, func(c *identity.Config) { c.SignUpOpen = true })
		s, err := h.id.SignUp(t.Context(), newcomer())
		require.NoError(t, err)
		require.Equal(t, "Mine", s.Workspace.Name)
		require.Equal(t, "owner", s.User.Role)
	})
}

func TestAnInviteLetsOnePersonIn(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		owner := h.as(t, "owner")
		replaced, old, err := h.id.Invite(owner, "Bo@example.com", "viewer")
		require.NoError(t, err)
		row, token, err := h.id.Invite(owner, "bo@example.com", "admin")
		require.NoError(t, err)
		page, err := h.id.ListInvites(owner, 0, nil)
		require.NoError(t, err)
		require.Len(t, page.Rows, 1, "the second replaces the first")
		require.NotEqual(t, replaced.ID, page.Rows[0].ID)
		require.Equal(t, row.ID, page.Rows[0].ID)
		v, err := h.id.LookUpLink(t.Context(), token)
		require.NoError(t, err)
		require.Equal(t, []string{"invite", "bo@example.com", "Harbor Dental", "admin"}, []string{v.Row.Kind, v.Email, v.WorkspaceName, v.Row.Role})

		in := identity.Newcomer{Email: "somebody@else.com", Password: goodPassword, Name: "Bo"}
		_, err = h.id.AcceptInvite(t.Context(), old, in)
		require.True(t, fault.Is(err, "link_not_found"), "%v", err)
		h.clock.advance(7*24*time.Hour - time.Microsecond)
		s, err := h.id.AcceptInvite(t.Context(), token, in)
		require.NoError(t, err)
		require.Equal(t, "bo@example.com", *s.User.Email, "whom the invite is for")
		require.Equal(t, "admin", s.User.Role)
		_, err = h.id.AcceptInvite(t.Context(), token, in)
		require.True(t, fault.Is(err, "link_not_found"), "%v", err)
		_, _, err = h.id.Invite(owner, "bo@example.com", "member")
		require.True(t, fault.Is(err, "already_exists"), "%v", err)

		_, late, err := h.id.Invite(owner, "li@example.com", "member")
		require.NoError(t, err)
		h.clock.advance(7 * 24 * time.Hour)
		_, err = h.id.AcceptInvite(t.Context(), late, in)
		require.True(t, fault.Is(err, "link_not_found"), "%v", err)

		row, taken, err := h.id.Invite(owner, "jo@example.com", "member")
		require.NoError(t, err)
		require.NoError(t, h.id.DeleteInvite(owner, row.ID))
		_, err = h.id.AcceptInvite(t.Context(), taken, in)
		require.True(t, fault.Is(err, "link_not_found"), "%v", err)
		require.True(t, fault.Is(h.id.DeleteInvite(owner, row.ID), "invite_not_found"))
	})
}

func TestAResetLinkSetsAPasswordOnceAndEndsAllSessions(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		before := h.enrolled(t, "bo@example.com", "member")
		old, err := h.id.ResetLink(t.Context(), before.User.ID)
		require.NoError(t, err)
		token, err := h.id.ResetLink(t.Context(), before.User.ID)
		require.NoError(t, err)
		_, err = h.id.ResetPassword(t.Context(), old, "a new long password")
		require.True(t, fault.Is(err, "link_not_found"), "a newer one replaces it: %v", err)
		_, err = h.id.ResetPassword(t.Context(), token, "short")
		require.True(t, fault.Is(err, "validation_failed"), "%v", err)
		s, err := h.id.ResetPassword(t.Context(), token, "a new long password")
		require.NoError(t, err)
		require.Equal(t, before.User.ID, s.User.ID)
		_, err = h.id.Authenticate(t.Context(), before.Token)
		requireUnauthorized(t, err)
		_, err = h.id.Authenticate(t.Context(), s.Token)
		require.NoError(t, err)
		_, err = h.id.ResetPassword(t.Context(), token, "a new long password")
		require.True(t, fault.Is(err, "link_not_found"), "%v", err)

		late, err := h.id.ResetLink(t.Context(), before.User.ID)
		require.NoError(t, err)
		h.clock.advance(30 * time.Minute)
		_, err = h.id.ResetPassword(t.Context(), late, "a new long password")
		require.True(t, fault.Is(err, "link_not_found"), "%v", err)
		_, err = h.id.ResetLink(t.Context(), uuid.New())
		require.True(t, fault.Is(err, "user_not_found"), "%v", err)
	})
}

// A link of one kind opens nothing of another, and no other credential is a link.
func TestLinksAreForWhatTheyAreFor(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		setUp, err := h.id.SetUpLink(t.Context(), nil)
		require.NoError(t, err)
		_, invite, err := h.id.Invite(h.as(t, "owner"), "bo@example.com", "member")
		require.NoError(t, err)
		reset, err := h.id.ResetLink(t.Context(), h.Owner.ID)
		require.NoError(t, err)
		takers := map[string]func(token string) error{
			setUp:  func(token string) error { _, err := h.id.SetUp(t.Context(), token, newcomer()); return err },
			invite: func(token string) error { _, err := h.id.AcceptInvite(t.Context(), token, newcomer()); return err },
			reset:  func(token string) error { _, err := h.id.ResetPassword(t.Context(), token, goodPassword); return err },
		}
		for right, take := range takers {
			for _, token := range []string{setUp, invite, reset, h.Key.Secret, h.Token, "", "cwl_", setUp[:len(setUp)-1]} {
				if token != right {
					require.True(t, fault.Is(take(token), "link_not_found"), "%q", token)
				}
			}
			_, err := h.id.Authenticate(t.Context(), right)
			requireUnauthorized(t, err)
		}
	})
}
