package identity

import (
	"context"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/link"
	"github.com/callwright/callwright/ent/predicate"
	"github.com/callwright/callwright/ent/user"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Users and links are not scoped by the store; here each query names the workspace of the caller.

var (
	errLastOwner = fault.New(fault.Conflict, "last_owner", "the workspace would have no owner who can sign in")
	errOwnersDo  = fault.New(fault.Denied, "forbidden", "only an owner makes or unmakes owners")
)

// ListMembers lists the people of the caller's workspace, in the order in which they came.
func (i *Identity) ListMembers(ctx context.Context, offset int, limit *int) (store.Page[*ent.User], error) {
	p, err := person(ctx)
	if err != nil {
		return store.Page[*ent.User]{}, err
	}
	q := i.db.Ent().User.Query().Where(user.WorkspaceID(p.WorkspaceID))
	rows := func(ctx context.Context, offset, limit int) ([]*ent.User, error) {
		return q.Clone().Order(user.ByCreatedAt(), user.ByID()).Offset(offset).Limit(limit).All(ctx)
	}
	return store.ReadPage(ctx, offset, limit, rows, q.Count)
}

// Invite invites somebody into the caller's workspace, for 7 days. An open invite of the same address is replaced. The
// token is shown once. A member already is already_exists.
func (i *Identity) Invite(ctx context.Context, email, role string) (row *ent.Link, token string, err error) {
	p, err := administrator(ctx)
	if err != nil {
		return nil, "", err
	}
	to, err := address(email)
	if err != nil {
		return nil, "", err
	}
	switch {
	case to == nil:
		return nil, "", fault.Invalidf("email must not be empty")
	case roles[role] == nil:
		return nil, "", errRole
	case role == RoleOwner && p.Role != RoleOwner:
		return nil, "", errOwnersDo
	}
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		known, err := tx.User.Query().Where(user.WorkspaceID(p.WorkspaceID), user.Email(*to)).Exist(ctx)
		if err != nil {
			return err
		}
		if known {
			return errMember
		}
		if _, err := tx.Link.Delete().Where(invites(p.WorkspaceID, link.Email(*to))...).Exec(ctx); err != nil {
			return err
		}
		add := tx.Link.Create().SetKind(LinkInvite).SetWorkspaceID(p.WorkspaceID).SetEmail(*to).SetRole(role).
			SetCreatedBy(*p.UserID)
		if row, token, err = i.makeLink(ctx, add, inviteLife); err != nil {
			return err
		}
		return i.note(ctx, tx, p.WorkspaceID, event{Action: "member_invited", Subject: *to, Detail: role})
	})
	return row, token, err
}

func invites(workspace uuid.UUID, more ...predicate.Link) []predicate.Link {
	return append(more, link.WorkspaceID(workspace), link.Kind(LinkInvite))
}

// ListInvites lists the open invites of the caller's workspace, newest first.
func (i *Identity) ListInvites(ctx context.Context, offset int, limit *int) (store.Page[*ent.Link], error) {
	p, err := administrator(ctx)
	if err != nil {
		return store.Page[*ent.Link]{}, err
	}
	q := i.db.Ent().Link.Query().Where(invites(p.WorkspaceID, link.ExpiresAtGT(i.now()))...)
	rows := func(ctx context.Context, offset, limit int) ([]*ent.Link, error) {
		return q.Clone().Order(link.ByCreatedAt(sql.OrderDesc()), link.ByID(sql.OrderDesc())).Offset(offset).Limit(limit).All(ctx)
	}
	return store.ReadPage(ctx, offset, limit, rows, q.Count)
}

// DeleteInvite takes an open invite back; an unknown one is invite_not_found.
func (i *Identity) DeleteInvite(ctx context.Context, id uuid.UUID) error {
	p, err := administrator(ctx)
	if err != nil {
		return err
	}
	return i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.Link.Query().Where(invites(p.WorkspaceID, link.ID(id))...).Only(ctx)
		if ent.IsNotFound(err) {
			return fault.Missing("invite")
		}
		if err != nil {
			return err
		}
		if n, err := tx.Link.Delete().Where(link.ID(id)).Exec(ctx); err != nil || n == 0 {
			return orMissing(err, "invite")
		}
		return i.note(ctx, tx, p.WorkspaceID, event{Action: "invite_deleted", Subject: row.Email})
	})
}

func orMissing(err error, what string) error {
	if err == nil {
		return fault.Missing(what)
	}
	return err
}

// ChangeRole gives a member of the caller's workspace another role. Only owners make and unmake owners; the last owner
// who can sign in stays one (last_owner).
func (i *Identity) ChangeRole(ctx context.Context, id uuid.UUID, role string) (u *ent.User, err error) {
	p, err := administrator(ctx)
	if err != nil {
		return nil, err
	}
	if roles[role] == nil {
		return nil, errRole
	}
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if u, err = member(ctx, tx, &p, id); err != nil {
			return err
		}
		if u.Role == role {
			return nil
		}
		if (u.Role == RoleOwner || role == RoleOwner) && p.Role != RoleOwner {
			return errOwnersDo
		}
		if err := otherOwner(ctx, tx, p.WorkspaceID, u); err != nil {
			return err
		}
		before := u.Role
		if u, err = tx.User.UpdateOne(u).SetRole(role).SetUpdatedAt(store.Now()).Save(ctx); err != nil {
			return err
		}
		return i.note(ctx, tx, p.WorkspaceID, event{Action: "role_changed", Subject: label(u), Detail: before + " to " + role})
	})
	return u, err
}

// RemoveMember takes somebody out of the caller's workspace and ends their sessions and tokens; API keys stay. Everybody
// may leave; others are removed by those who administer, owners by owners. The last owner who can sign in stays
// (last_owner).
func (i *Identity) RemoveMember(ctx context.Context, id uuid.UUID) error {
	p, err := person(ctx)
	if err != nil {
		return err
	}
	if id != *p.UserID {
		if p, err = administrator(ctx); err != nil {
			return err
		}
	}
	return i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		u, err := member(ctx, tx, &p, id)
		if err != nil {
			return err
		}
		if u.Role == RoleOwner && p.Role != RoleOwner {
			return errOwnersDo
		}
		if err := otherOwner(ctx, tx, p.WorkspaceID, u); err != nil {
			return err
		}
		if err := i.note(ctx, tx, p.WorkspaceID, event{Action: "member_removed", Subject: label(u), Detail: u.Role}); err != nil {
			return err
		}
		if _, err := tx.Link.Delete().Where(link.WorkspaceID(p.WorkspaceID), link.CreatedBy(id)).Exec(ctx); err != nil {
			return err // what they invited goes with them
		}
		return tx.User.DeleteOne(u).Exec(ctx)
	})
}

// member locks the workspace, so that its members change one after the other, and reads one of them and what the caller
// may do by now.
func member(ctx context.Context, tx *store.Tx, p *Principal, id uuid.UUID) (*ent.User, error) {
	if _, err := LockPlan(ctx, tx, p.WorkspaceID); err != nil {
		return nil, err
	}
	caller, err := tx.User.Query().Where(user.ID(*p.UserID), user.WorkspaceID(p.WorkspaceID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, errUnauthorized
	}
	if err != nil {
		return nil, err
	}
	if p.Role != caller.Role {
		return nil, fault.New(fault.Denied, "forbidden", "your role has just changed")
	}
	u, err := tx.User.Query().Where(user.ID(id), user.WorkspaceID(p.WorkspaceID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.Missing("user")
	}
	return u, err
}

// otherOwner refuses to take away an owner when no other one can sign in.
func otherOwner(ctx context.Context, tx *store.Tx, workspace uuid.UUID, u *ent.User) error {
	if u.Role != RoleOwner {
		return nil
	}
	other, err := tx.User.Query().
		Where(user.WorkspaceID(workspace), user.Role(RoleOwner), user.IDNEQ(u.ID), signsIn()).Exist(ctx)
	if err == nil && !other {
		err = errLastOwner
	}
	return err
}
