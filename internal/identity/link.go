package identity

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/link"
	"github.com/callwright/callwright/ent/predicate"
	"github.com/callwright/callwright/ent/user"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// The kinds of links that work once.
const (
	LinkSetUp  = "set_up"
	LinkInvite = "invite"
	LinkReset  = "reset"
)

const (
	setUpLife  = 30 * time.Minute
	resetLife  = 30 * time.Minute
	inviteLife = 7 * 24 * time.Hour
)

// errLink is the one answer to a link that is mistyped, unknown, used, taken back or too old.
var errLink = fault.New(fault.NotFound, "link_not_found", "this link does not work any more: it was used, or is too old")

// makeLink makes a link; the row says whose and for what. The token stands in the link's fragment, which browsers do not
// send.
func (i *Identity) makeLink(ctx context.Context, add *ent.LinkCreate, life time.Duration) (*ent.Link, string, error) {
	token, now := newToken(linkPrefix), i.now()
	row, err := add.SetHash(digest(token)).SetCreatedAt(now).SetExpiresAt(now.Add(life)).Save(ctx)
	return row, token, err
}

// readLink finds the link of a token without using it.
func (i *Identity) readLink(ctx context.Context, c *ent.Client, token string, kinds ...string) (*ent.Link, error) {
	if !wellFormed(linkPrefix, token) {
		return nil, errLink
	}
	row, err := c.Link.Query().
		Where(link.Hash(digest(token)), link.KindIn(kinds...), link.ExpiresAtGT(i.now())).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, errLink
	}
	return row, err
}

// takeLink uses a link up: of several takers at once, one gets it.
func (i *Identity) takeLink(ctx context.Context, tx *store.Tx, token, kind string) (*ent.Link, error) {
	row, err := i.readLink(ctx, tx.Client, token, kind)
	if err != nil {
		return nil, err
	}
	n, err := tx.Link.Delete().Where(link.ID(row.ID)).Exec(ctx)
	if err == nil && n == 0 {
		err = errLink
	}
	return row, err
}

// LinkView is what a link's reader may know before using it.
type LinkView struct {
	Row           *ent.Link
	WorkspaceName string
	Email         string
}

// LookUpLink tells what a link is for, without using it. One that does not work is link_not_found.
func (i *Identity) LookUpLink(ctx context.Context, token string) (LinkView, error) {
	ctx = store.System(ctx)
	c := i.db.Ent()
	row, err := i.readLink(ctx, c, token, LinkSetUp, LinkInvite, LinkReset)
	if err != nil {
		return LinkView{}, err
	}
	v := LinkView{Row: row, Email: row.Email}
	if row.WorkspaceID != nil {
		w, err := c.Workspace.Get(ctx, *row.WorkspaceID)
		if err != nil {
			return v, err
		}
		v.WorkspaceName = w.Name
	}
	if row.UserID != nil {
		u, err := c.User.Get(ctx, *row.UserID)
		if err != nil {
			return v, err
		}
		v.Email = label(u)
	}
	return v, nil
}

// NeedsSetUp tells whether nobody can sign in yet.
func (i *Identity) NeedsSetUp(ctx context.Context) (bool, error) {
	known, err := canSignIn(ctx, i.db.Ent())
	return !known, err
}

func canSignIn(ctx context.Context, c *ent.Client) (bool, error) {
	return c.User.Query().Where(signsIn(), user.WorkspaceIDNotNil()).Exist(store.System(ctx))
}

// signsIn are the users who have a way to sign in: a password, or a provider that vouches for them.
func signsIn() predicate.User { return user.Or(user.PasswordHashNotNil(), user.OidcSubjectNotNil()) }

// SetUpLink makes the token of a set-up link, which makes the first owner: of a new workspace, or of the given one. It is
// empty once somebody can sign in.
func (i *Identity) SetUpLink(ctx context.Context, workspace *uuid.UUID) (token string, err error) {
	err = i.db.InTx(store.System(ctx), func(ctx context.Context, tx *store.Tx) error {
		token = ""
		known, err := canSignIn(ctx, tx.Client)
		if err != nil || known {
			return err
		}
		_, token, err = i.makeLink(ctx, tx.Link.Create().SetKind(LinkSetUp).SetNillableWorkspaceID(workspace), setUpLife)
		return err
	})
	return token, err
}

// ResetLink makes the token of a link that sets the password of a user, for 30 minutes. An unknown user is
// user_not_found, one without an address validation_failed: it could not sign in.
func (i *Identity) ResetLink(ctx context.Context, id uuid.UUID) (token string, err error) {
	err = i.db.InTx(store.System(ctx), func(ctx context.Context, tx *store.Tx) error {
		u, err := tx.User.Query().Where(user.ID(id), user.WorkspaceIDNotNil()).Only(ctx)
		switch {
		case ent.IsNotFound(err):
			return fault.Missing("user")
		case err != nil:
			return err
		case u.Email == nil:
			return fault.Invalidf("the user has no email address and can not sign in")
		}
		if _, err := tx.Link.Delete().Where(link.Kind(LinkReset), link.UserID(id)).Exec(ctx); err != nil {
			return err // an older link may be in the wrong hands
		}
		add := tx.Link.Create().SetKind(LinkReset).SetWorkspaceID(*u.WorkspaceID).SetUserID(id)
		if _, token, err = i.makeLink(ctx, add, resetLife); err != nil {
			return err
		}
		return i.note(ctx, tx, *u.WorkspaceID, event{Action: "password_reset_link", Subject: label(u)})
	})
	return token, err
}

// UserByEmail finds the users who have an address, in any workspace.
func (i *Identity) UserByEmail(ctx context.Context, email string) ([]*ent.User, error) {
	e, err := address(email)
	if err != nil || e == nil {
		return nil, err
	}
	return i.db.Ent().User.Query().Where(user.Email(*e), user.WorkspaceIDNotNil()).All(store.System(ctx))
}
