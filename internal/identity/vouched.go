package identity

import (
	"context"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/link"
	"github.com/callwright/callwright/ent/user"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Vouched is what came of a sign-in by a provider: a session, or workspaces to choose from, with the ticket for that.
type Vouched struct {
	SignedIn   SignedIn
	Workspaces []*ent.Workspace
	Ticket     string
}

// FinishOpenID signs in a person who came back from the provider. They are known by the provider's name for them, else by
// their verified address. Who is not known comes in by an open invite of their address, or with a workspace of their own
// where signing up is open; else it is no_account. What does not fit is openid_failed, and what the provider or the
// settings do not allow email_not_verified or domain_not_allowed.
func (i *Identity) FinishOpenID(ctx context.Context, kept, state, code string) (Vouched, error) {
	ctx = store.System(ctx)
	v, err := i.vouch(ctx, kept, state, code)
	if err != nil {
		return Vouched{}, err
	}
	known, err := i.vouchedFor(ctx, v, nil)
	if err != nil {
		return Vouched{}, err
	}
	switch len(known) {
	case 0:
		s, err := i.welcome(ctx, v)
		return Vouched{SignedIn: s}, err
	case 1:
		s, err := i.admitVouched(ctx, v, known[0].ID)
		return Vouched{SignedIn: s}, err
	}
	v.Until = i.now().Add(ticketLife)
	out := Vouched{}
	if out.Ticket, err = i.sealFor("ticket", v); err != nil {
		return Vouched{}, err
	}
	for _, u := range known {
		w, err := i.db.Ent().Workspace.Get(ctx, *u.WorkspaceID)
		if err != nil {
			return Vouched{}, err
		}
		out.Workspaces = append(out.Workspaces, w)
	}
	return out, nil
}

// ChooseOpenID signs a person with a ticket in to one of their workspaces. A ticket that does not work is openid_failed.
func (i *Identity) ChooseOpenID(ctx context.Context, ticket string, workspace uuid.UUID) (SignedIn, error) {
	ctx = store.System(ctx)
	if i.openID == nil {
		return SignedIn{}, errNoOpenID
	}
	var v vouched
	if err := i.openFor("ticket", ticket, &v); err != nil || !i.now().Before(v.Until) {
		return SignedIn{}, errOpenID
	}
	known, err := i.vouchedFor(ctx, v, &workspace)
	if err != nil {
		return SignedIn{}, err
	}
	if len(known) == 0 {
		return SignedIn{}, errOpenID
	}
	return i.admitVouched(ctx, v, known[0].ID)
}

// vouchedFor are the users that a person may sign in as. An address does not count for a user who is somebody else to the
// same provider: addresses are given to new people, names of the provider are not.
func (i *Identity) vouchedFor(ctx context.Context, v vouched, workspace *uuid.UUID) ([]*ent.User, error) {
	issuer := i.openID.Issuer
	q := i.db.Ent().User.Query().Where(user.WorkspaceIDNotNil(), user.Or(
		user.And(user.OidcIssuer(issuer), user.OidcSubject(v.Subject)),
		user.And(user.Email(v.Email), user.Or(user.OidcIssuerIsNil(), user.OidcIssuerNEQ(issuer))),
	))
	if workspace != nil {
		q.Where(user.WorkspaceID(*workspace))
	}
	return q.Order(user.ByCreatedAt(), user.ByID()).Limit(maxAccounts).All(ctx)
}

// admitVouched makes a session of a user, and remembers the provider's name for them unless another user has it.
func (i *Identity) admitVouched(ctx context.Context, v vouched, id uuid.UUID) (s SignedIn, err error) {
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		q := tx.User.Query().Where(user.ID(id), user.WorkspaceIDNotNil())
		q.Modify(store.ForUpdate)
		u, err := q.Only(ctx)
		if ent.IsNotFound(err) {
			return errOpenID
		}
		if err != nil {
			return err
		}
		if u, err = i.linkVouched(ctx, tx, u, v); err != nil {
			return err
		}
		if s, err = i.signIn(ctx, tx, u); err != nil {
			return err
		}
		return i.note(ctx, tx, *u.WorkspaceID, event{Action: "sign_in", User: u, Detail: i.openID.Name})
	})
	return s, err
}

func (i *Identity) linkVouched(ctx context.Context, tx *store.Tx, u *ent.User, v vouched) (*ent.User, error) {
	taken, err := tx.User.Query().Where(user.OidcIssuer(i.openID.Issuer), user.OidcSubject(v.Subject)).Exist(ctx)
	if err != nil || taken {
		return u, err
	}
	u, err = tx.User.UpdateOne(u).SetOidcIssuer(i.openID.Issuer).SetOidcSubject(v.Subject).SetUpdatedAt(store.Now()).Save(ctx)
	if store.IsUnique(err) {
		return nil, errOpenID // the same person, at the same moment, in another workspace
	}
	return u, err
}

// welcome lets in a person whom nobody knows yet: by the newest open invite of their address, or where signing up is open.
func (i *Identity) welcome(ctx context.Context, v vouched) (s SignedIn, err error) {
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		in := NewUser{Email: v.Email, Name: v.Name, Role: RoleOwner}
		invite, err := tx.Link.Query().Where(link.Kind(LinkInvite), link.Email(v.Email), link.ExpiresAtGT(i.now())).
			Order(link.ByCreatedAt(sql.OrderDesc()), link.ByID(sql.OrderDesc())).First(ctx)
		switch {
		case err == nil:
			in.WorkspaceID, in.Role = *invite.WorkspaceID, invite.Role
			if n, err := tx.Link.Delete().Where(link.ID(invite.ID)).Exec(ctx); err != nil || n == 0 {
				return orMissing(err, "invite")
			}
		case !ent.IsNotFound(err):
			return err
		case !i.signUpOpen:
			return fault.New(fault.Denied, "no_account", "nobody has the address %s here: ask an owner of your workspace for an invite", v.Email)
		default:
			w, err := foundWorkspace(ctx, tx, NewWorkspace{Name: workspaceFor(v)})
			if err != nil {
				return err
			}
			in.WorkspaceID = w.ID
		}
		u, err := createUser(ctx, tx, in)
		if err != nil {
			return err
		}
		if u, err = i.linkVouched(ctx, tx, u, v); err != nil {
			return err
		}
		if u.OidcSubject == nil {
			return errOpenID // they came in at the same moment by another way: the next try finds them
		}
		if err := i.note(ctx, tx, in.WorkspaceID, event{Action: "member_joined", User: u, Subject: label(u), Detail: u.Role + ", " + i.openID.Name}); err != nil {
			return err
		}
		s, err = i.signIn(ctx, tx, u)
		return err
	})
	return s, err
}

// workspaceFor names the workspace of somebody who comes alone; they may change it.
func workspaceFor(v vouched) string {
	name := []rune(v.Name)
	if len(name) == 0 {
		name = []rune(v.Email)
	}
	return "Workspace of " + string(name[:min(len(name), 100)])
}
