package identity

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/session"
	"github.com/callwright/callwright/ent/user"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// maxAccounts is how many workspaces one address is tried in: each costs a hash.
const maxAccounts = 5

// signInBounds limit wrong passwords: for an account from one address, from one address at all, and for an account from
// everywhere. The last is wide, because whoever reaches it locks the account's owner out as well.
var signInBounds = []bound{
	{n: 5, span: 15 * time.Minute, by: byBoth},
	{n: 30, span: 15 * time.Minute, by: byAddress},
	{n: 100, span: 15 * time.Minute, by: byActor},
}

// errSignIn does not tell whether the address or the password is wrong.
var errSignIn = fault.New(fault.Unauthenticated, "unauthorized", "the email address or the password is wrong")

// account is how an address is counted: the counts do not tell who was tried.
func account(email string) string { return hex.EncodeToString(digest("account " + email)[:16]) }

// SignIn signs a person in. People of several workspaces with one address are in the one whose password it is; if it is
// that of several, those are returned instead, and workspace names one the next time. A wrong address or password is
// unauthorized, too many of them rate_limited.
func (i *Identity) SignIn(ctx context.Context, email, password string, workspace *uuid.UUID) (SignedIn, []*ent.Workspace, error) {
	ctx = store.System(ctx)
	e, err := address(email)
	if err != nil || e == nil {
		unknown := ""
		e = &unknown // nobody's, and takes as long
	}
	id, err := i.admit(ctx, try{"sign_in", account(*e), originOf(ctx)}, signInBounds)
	if err != nil {
		return SignedIn{}, nil, err
	}
	known, err := i.accounts(ctx, *e, workspace)
	if err != nil {
		return SignedIn{}, nil, err
	}
	right, err := i.matching(ctx, known, password)
	if err != nil {
		i.forgive(ctx, id) // not checked, not wrong
		return SignedIn{}, nil, err
	}
	switch len(right) {
	case 0:
		return SignedIn{}, nil, i.refuseSignIn(ctx, known)
	case 1:
		i.forgive(ctx, id)
		s, err := i.admitPerson(ctx, right[0], "sign_in")
		return s, nil, err
	}
	i.forgive(ctx, id)
	var choices []*ent.Workspace
	for _, u := range right {
		w, err := i.db.Ent().Workspace.Get(ctx, *u.WorkspaceID)
		if err != nil {
			return SignedIn{}, nil, err
		}
		choices = append(choices, w)
	}
	return SignedIn{}, choices, nil
}

// accounts are the users that an address may sign in as.
func (i *Identity) accounts(ctx context.Context, email string, workspace *uuid.UUID) ([]*ent.User, error) {
	q := i.db.Ent().User.Query().Where(user.Email(email), user.PasswordHashNotNil(), user.WorkspaceIDNotNil())
	if workspace != nil {
		q.Where(user.WorkspaceID(*workspace))
	}
	return q.Order(user.ByCreatedAt(), user.ByID()).Limit(maxAccounts).All(ctx)
}

// matching are the users whose password it is. It takes as long when there is none to compare with.
func (i *Identity) matching(ctx context.Context, known []*ent.User, password string) (right []*ent.User, err error) {
	if len(known) == 0 {
		_, err := i.verify(ctx, password, nobody)
		return nil, err
	}
	for _, u := range known {
		ok, err := i.verify(ctx, password, *u.PasswordHash)
		if err != nil {
			return nil, err
		}
		if ok {
			right = append(right, u)
		}
	}
	return right, nil
}

// refuseSignIn tells the workspaces whose people were tried.
func (i *Identity) refuseSignIn(ctx context.Context, known []*ent.User) error {
	if len(known) == 0 {
		return errSignIn
	}
	err := i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, u := range known {
			if err := i.note(ctx, tx, *u.WorkspaceID, event{Action: "sign_in_failed", Subject: label(u)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errSignIn
}

// admitPerson makes a session of a user whose password was right, if it still is.
func (i *Identity) admitPerson(ctx context.Context, u *ent.User, action string) (s SignedIn, err error) {
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		q := tx.User.Query().Where(user.ID(u.ID), user.WorkspaceID(*u.WorkspaceID), user.PasswordHash(*u.PasswordHash))
		q.Modify(store.ForUpdate)
		now, err := q.Only(ctx)
		if ent.IsNotFound(err) {
			return errSignIn
		}
		if err != nil {
			return err
		}
		if s, err = i.signIn(ctx, tx, now); err != nil {
			return err
		}
		return i.note(ctx, tx, *now.WorkspaceID, event{Action: action, User: now})
	})
	return s, err
}

// ChangePassword sets the caller's password, ends all their sessions and begins a new one. A wrong current password is
// unauthorized and counts as one at sign-in.
func (i *Identity) ChangePassword(ctx context.Context, current, password string) (SignedIn, error) {
	p, err := person(ctx)
	if err != nil {
		return SignedIn{}, err
	}
	if err := checkPassword(password); err != nil {
		return SignedIn{}, err
	}
	ctx = store.System(ctx)
	u, err := i.db.Ent().User.Get(ctx, *p.UserID)
	if err != nil {
		return SignedIn{}, err
	}
	if u.PasswordHash == nil {
		return SignedIn{}, fault.New(fault.Conflict, "no_password", "there is no password to change: ask for a reset link")
	}
	id, err := i.admit(ctx, try{"sign_in", account(label(u)), originOf(ctx)}, signInBounds)
	if err != nil {
		return SignedIn{}, err
	}
	ok, err := i.verify(ctx, current, *u.PasswordHash)
	if err != nil {
		i.forgive(ctx, id)
		return SignedIn{}, err
	}
	if !ok {
		return SignedIn{}, fault.New(fault.Denied, "wrong_password", "the current password is wrong")
	}
	i.forgive(ctx, id)
	hash, err := i.hashPassword(ctx, password)
	if err != nil {
		return SignedIn{}, err
	}
	var s SignedIn
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.User.Update().Where(user.ID(u.ID), user.PasswordHash(*u.PasswordHash)).SetPasswordHash(hash).
			SetUpdatedAt(store.Now()).Save(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			return errSignIn // somebody else was faster
		}
		s, err = i.renewSessions(ctx, tx, u, "password_changed")
		return err
	})
	return s, err
}

// renewSessions ends all sessions of a user whose password has changed, and begins a new one.
func (i *Identity) renewSessions(ctx context.Context, tx *store.Tx, u *ent.User, action string) (SignedIn, error) {
	if _, err := tx.Session.Delete().Where(session.UserID(u.ID)).Exec(ctx); err != nil {
		return SignedIn{}, err
	}
	if err := i.note(ctx, tx, *u.WorkspaceID, event{Action: action, User: u}); err != nil {
		return SignedIn{}, err
	}
	return i.signIn(ctx, tx, u)
}

// WhoAmI is the caller and their workspace.
func (i *Identity) WhoAmI(ctx context.Context) (*ent.User, *ent.Workspace, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, nil, err
	}
	u, err := i.db.Ent().User.Get(ctx, *p.UserID)
	if err != nil {
		return nil, nil, err
	}
	w, err := i.db.Ent().Workspace.Get(ctx, p.WorkspaceID)
	return u, w, err
}
