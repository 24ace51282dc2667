package identity_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// TestWhatRolesMayDo is the whole table: each deed, and who may do it.
func TestWhatRolesMayDo(t *testing.T) {
	deeds := map[string]struct {
		may []string
		do  func(t *testing.T, h house, ctx context.Context) error
	}{
		"see members": {[]string{"owner", "admin", "member", "viewer"}, func(_ *testing.T, h house, ctx context.Context) error {
			_, err := h.id.ListMembers(ctx, 0, nil)
			return err
		}},
		"invite a member": {[]string{"owner", "admin"}, func(_ *testing.T, h house, ctx context.Context) error {
			_, _, err := h.id.Invite(ctx, uuid.NewString()+"@example.com", "member")
			return err
		}},
		"invite an owner": {[]string{"owner"}, func(_ *testing.T, h house, ctx context.Context) error {
			_, _, err := h.id.Invite(ctx, uuid.NewString()+"@example.com", "owner")
			return err
		}},
		"see invites": {[]string{"owner", "admin"}, func(_ *testing.T, h house, ctx context.Context) error {
			_, err := h.id.ListInvites(ctx, 0, nil)
			return err
		}},
		"make an admin of a member": {[]string{"owner", "admin"}, func(t *testing.T, h house, ctx context.Context) error {
			_, err := h.id.ChangeRole(ctx, h.user(t, "member").ID, "admin")
			return err
		}},
		"make an owner of a member": {[]string{"owner"}, func(t *testing.T, h house, ctx context.Context) error {
			_, err := h.id.ChangeRole(ctx, h.user(t, "member").ID, "owner")
			return err
		}},
		"unmake an owner": {[]string{"owner"}, func(t *testing.T, h house, ctx context.Context) error {
			_, err := h.id.ChangeRole(ctx, h.user(t, "owner").ID, "viewer")
			return err
		}},
		"remove a viewer": {[]string{"owner", "admin"}, func(t *testing.T, h house, ctx context.Context) error {
			return h.id.RemoveMember(ctx, h.user(t, "viewer").ID)
		}},
		"remove an owner": {[]string{"owner"}, func(t *testing.T, h house, ctx context.Context) error {
			return h.id.RemoveMember(ctx, h.user(t, "owner").ID)
		}},
		"leave": {[]string{"owner", "admin", "member", "viewer"}, func(_ *testing.T, h house, ctx context.Context) error {
			p, _ := identity.From(ctx)
			if p.UserID == nil {
				return h.id.RemoveMember(ctx, h.Owner.ID)
			}
			return h.id.RemoveMember(ctx, *p.UserID)
		}},
		"see the audit": {[]string{"owner", "admin"}, func(_ *testing.T, h house, ctx context.Context) error {
			_, err := identity.ListAudit(ctx, h.db.Ent(), 0, nil)
			return err
		}},
		"rename the workspace": {[]string{"owner", "admin", "a key"}, func(_ *testing.T, h house, ctx context.Context) error {
			name := "Harbor"
			_, err := h.id.UpdateWorkspace(ctx, identity.WorkspaceChange{Name: &name}, nil)
			return err
		}},
		"change HIPAA": {[]string{"owner", "admin"}, func(_ *testing.T, h house, ctx context.Context) error {
			on := true
			_, err := h.id.UpdateWorkspace(ctx, identity.WorkspaceChange{HIPAA: &on}, nil)
			return err
		}},
	}
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		h.enrolled(t, "owner@example.com", "owner") // the last owner who can sign in, whoever goes
		for name, deed := range deeds {
			for _, role := range []string{"owner", "admin", "member", "viewer", "a key"} {
				ctx := h.bearer(t, h.Key.Secret)
				if role != "a key" {
					ctx = h.as(t, role)
				}
				err := deed.do(t, h, ctx)
				allowed := false
				for _, may := range deed.may {
					allowed = allowed || may == role
				}
				if allowed {
					require.NoError(t, err, "%s: %s", role, name)
				} else {
					require.True(t, fault.Is(err, "forbidden"), "%s: %s: %v", role, name, err)
				}
			}
		}
	})
}

func TestTheLastOwnerStays(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		last := h.enrolled(t, "last@example.com", "owner")
		me := h.bearer(t, last.Token)
		_, err := h.id.ChangeRole(me, last.User.ID, "admin")
		require.True(t, fault.Is(err, "last_owner"), "the first owner has no password: %v", err)
		require.True(t, fault.Is(h.id.RemoveMember(me, last.User.ID), "last_owner"))
		require.NoError(t, h.id.RemoveMember(me, h.Owner.ID))
		second := h.enrolled(t, "second@example.com", "owner")
		_, err = h.id.ChangeRole(me, last.User.ID, "admin")
		require.NoError(t, err)
		require.True(t, fault.Is(h.id.RemoveMember(h.bearer(t, second.Token), second.User.ID), "last_owner"))
	})
}

func TestTwoOwnersWhoLeaveAtOnceLeaveOne(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		a, b := h.enrolled(t, "a@example.com", "owner"), h.enrolled(t, "b@example.com", "owner")
		var all sync.WaitGroup
		errs := make([]error, 2)
		for n, s := range []identity.SignedIn{a, b} {
			ctx := h.bearer(t, s.Token)
			all.Go(func() { errs[n] = h.id.RemoveMember(ctx, s.User.ID) })
		}
		all.Wait()
		require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v", errs)
	})
}

func TestMembersOfAnotherWorkspaceAreNotThere(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h, other := open(t, db), open(t, db)
		owner := h.as(t, "owner")
		stranger := other.user(t, "member")
		_, err := h.id.ChangeRole(owner, stranger.ID, "viewer")
		_, unknown := h.id.ChangeRole(owner, uuid.New(), "viewer")
		require.Equal(t, fault.From(unknown), fault.From(err))
		require.True(t, fault.Is(err, "user_not_found"), "%v", err)
		require.True(t, fault.Is(h.id.RemoveMember(owner, stranger.ID), "user_not_found"))
		row, _, err := other.id.Invite(other.as(t, "owner"), "bo@example.com", "member")
		require.NoError(t, err)
		require.True(t, fault.Is(h.id.DeleteInvite(owner, row.ID), "invite_not_found"))
		page, err := h.id.ListMembers(owner, 0, nil)
		require.NoError(t, err)
		require.Equal(t, 2, page.Total)
		for _, u := range page.Rows {
			require.Equal(t, h.Workspace.ID, *u.WorkspaceID)
		}
		invites, err := h.id.ListInvites(owner, 0, nil)
		require.NoError(t, err)
		require.Empty(t, invites.Rows)
	})
}

func TestARemovedMemberIsOutAndTheirKeysStay(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		s := h.enrolled(t, "bo@example.com", "admin")
		me := h.bearer(t, s.Token)
		m, err := h.id.CreateKey(me, h.Workspace.ID, identity.NewKey{Name: "Theirs", Source: "portal", CreatedBy: &s.User.ID})
		require.NoError(t, err)
		_, invite, err := h.id.Invite(me, "li@example.com", "member")
		require.NoError(t, err)
		require.NoError(t, h.id.RemoveMember(h.as(t, "owner"), s.User.ID))
		_, err = h.id.Authenticate(t.Context(), s.Token)
		requireUnauthorized(t, err)
		_, err = h.id.Authenticate(t.Context(), m.Secret)
		require.NoError(t, err)
		_, err = h.id.AcceptInvite(t.Context(), invite, newcomer())
		require.True(t, fault.Is(err, "link_not_found"), "what they invited goes with them: %v", err)
		_, _, err = h.id.SignIn(t.Context(), "bo@example.com", goodPassword, nil)
		require.True(t, fault.Is(err, "unauthorized"), "%v", err)
	})
}
