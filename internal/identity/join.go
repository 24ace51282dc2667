package identity

import (
	"context"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/link"
	"github.com/callwright/callwright/ent/user"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Newcomer is what somebody says who joins.
type Newcomer struct {
	// Email is needed where no link says it.
	Email string
	// Password has 10 to 128 characters.
	Password string
	// Name has at most 128 characters.
	Name string
	// WorkspaceName has 1 to 128 characters; needed where a workspace is made.
	WorkspaceName string
}

func (n Newcomer) check(needsEmail, needsWorkspace bool) error {
	if needsWorkspace {
		if _, err := text("workspace_name", n.WorkspaceName, 1, 128); err != nil {
			return err
		}
	}
	if needsEmail {
		e, err := address(n.Email)
		if err != nil {
			return err
		}
		if e == nil {
			return fault.Invalidf("email must not be empty")
		}
	}
	if _, err := text("name", n.Name, 0, 128); err != nil {
		return err
	}
	return checkPassword(n.Password)
}

// SetUp makes the first owner with the token of a set-up link. One that does not work, or comes when somebody can sign
// in already, is link_not_found.
func (i *Identity) SetUp(ctx context.Context, token string, n Newcomer) (s SignedIn, err error) {
	ctx = store.System(ctx)
	row, err := i.readLink(ctx, i.db.Ent(), token, LinkSetUp)
	if err != nil {
		return s, err
	}
	if err := n.check(true, row.WorkspaceID == nil); err != nil {
		return s, err
	}
	hash, err := i.hashPassword(ctx, n.Password)
	if err != nil {
		return s, err
	}
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := i.takeLink(ctx, tx, token, LinkSetUp)
		if err != nil {
			return err
		}
		// The other set-up links go, and with them everybody who is using one just now: they wait for this transaction here.
		if _, err := tx.Link.Delete().Where(link.Kind(LinkSetUp)).Exec(ctx); err != nil {
			return err
		}
		known, err := canSignIn(ctx, tx.Client)
		if err != nil {
			return err
		}
		if known {
			return errLink
		}
		in := NewUser{Email: n.Email, Name: n.Name, Role: RoleOwner}
		if row.WorkspaceID != nil {
			in.WorkspaceID = *row.WorkspaceID
		} else {
			w, err := foundWorkspace(ctx, tx, NewWorkspace{Name: n.WorkspaceName})
			if err != nil {
				return err
			}
			in.WorkspaceID = w.ID
		}
		s, err = i.join(ctx, tx, in, hash)
		return err
	})
	return s, err
}

// signUpBounds keep one place from making workspaces without end.
var signUpBounds = []bound{{n: 10, span: time.Hour, by: byAddress}}

// SignUp makes a workspace and its owner. Where signing up is not open it is sign_up_closed.
func (i *Identity) SignUp(ctx context.Context, n Newcomer) (s SignedIn, err error) {
	ctx = store.System(ctx)
	if !i.signUpOpen {
		return s, fault.New(fault.Denied, "sign_up_closed", "only people with an invite can sign up here")
	}
	if err := n.check(true, true); err != nil {
		return s, err
	}
	if _, err := i.admit(ctx, try{kind: "sign_up", address: originOf(ctx)}, signUpBounds); err != nil {
		return s, err
	}
	hash, err := i.hashPassword(ctx, n.Password)
	if err != nil {
		return s, err
	}
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		w, err := foundWorkspace(ctx, tx, NewWorkspace{Name: n.WorkspaceName})
		if err != nil {
			return err
		}
		s, err = i.join(ctx, tx, NewUser{WorkspaceID: w.ID, Email: n.Email, Name: n.Name, Role: RoleOwner}, hash)
		return err
	})
	return s, err
}

// SignUpOpen tells whether everybody may sign up.
func (i *Identity) SignUpOpen() bool { return i.signUpOpen }

// AcceptInvite makes the user that an invite is for. One that does not work is link_not_found.
func (i *Identity) AcceptInvite(ctx context.Context, token string, n Newcomer) (s SignedIn, err error) {
	ctx = store.System(ctx)
	if _, err := i.readLink(ctx, i.db.Ent(), token, LinkInvite); err != nil {
		return s, err
	}
	if err := n.check(false, false); err != nil {
		return s, err
	}
	hash, err := i.hashPassword(ctx, n.Password)
	if err != nil {
		return s, err
	}
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := i.takeLink(ctx, tx, token, LinkInvite)
		if err != nil {
			return err
		}
		s, err = i.join(ctx, tx, NewUser{WorkspaceID: *row.WorkspaceID, Email: row.Email, Name: n.Name, Role: row.Role}, hash)
		return err
	})
	return s, err
}

// join makes a user who is signed in at once.
func (i *Identity) join(ctx context.Context, tx *store.Tx, in NewUser, hash string) (SignedIn, error) {
	u, err := createUser(ctx, tx, in)
	if err != nil {
		return SignedIn{}, err
	}
	if u, err = tx.User.UpdateOne(u).SetPasswordHash(hash).Save(ctx); err != nil {
		return SignedIn{}, err
	}
	if err := i.note(ctx, tx, *u.WorkspaceID, event{Action: "member_joined", User: u, Subject: label(u), Detail: u.Role}); err != nil {
		return SignedIn{}, err
	}
	return i.signIn(ctx, tx, u)
}

// ResetPassword sets the password of the user that a reset link is for, ends all their sessions and begins a new one. A
// link that does not work is link_not_found.
func (i *Identity) ResetPassword(ctx context.Context, token, password string) (s SignedIn, err error) {
	ctx = store.System(ctx)
	if _, err := i.readLink(ctx, i.db.Ent(), token, LinkReset); err != nil {
		return s, err
	}
	if err := checkPassword(password); err != nil {
		return s, err
	}
	hash, err := i.hashPassword(ctx, password)
	if err != nil {
		return s, err
	}
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := i.takeLink(ctx, tx, token, LinkReset)
		if err != nil {
			return err
		}
		u, err := tx.User.Query().Where(user.ID(*row.UserID), user.WorkspaceIDNotNil()).Only(ctx)
		if ent.IsNotFound(err) {
			return errLink
		}
		if err != nil {
			return err
		}
		if u, err = tx.User.UpdateOne(u).SetPasswordHash(hash).SetUpdatedAt(store.Now()).Save(ctx); err != nil {
			return err
		}
		s, err = i.renewSessions(ctx, tx, u, "password_reset")
		return err
	})
	return s, err
}
