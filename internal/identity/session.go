package identity

import (
	"context"
	"errors"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/session"
	"github.com/callwright/callwright/ent/user"
	"github.com/callwright/callwright/internal/store"
)

const (
	// sessionIdle ends a session that nobody uses, sessionLife every session.
	sessionIdle = 12 * time.Hour
	sessionLife = 7 * 24 * time.Hour
	// sessionUseEvery is how exactly the last use of a session is known.
	sessionUseEvery = 5 * time.Minute
)

// SignedIn is a person with a new session. The token is the bearer token of further requests and is shown once.
type SignedIn struct {
	Token     string
	ExpiresAt time.Time
	User      *ent.User
	Workspace *ent.Workspace
}

// signIn makes a session of a user. Every sign-in has a token of its own, so none that was there before it is worth
// planting.
func (i *Identity) signIn(ctx context.Context, tx *store.Tx, u *ent.User) (SignedIn, error) {
	w, err := tx.Workspace.Get(ctx, *u.WorkspaceID)
	if err != nil {
		return SignedIn{}, err
	}
	now := i.now()
	s := SignedIn{Token: newToken(sessionPrefix), ExpiresAt: now.Add(sessionLife), User: u, Workspace: w}
	err = tx.Session.Create().
		SetWorkspaceID(w.ID).
		SetUserID(u.ID).
		SetHash(digest(s.Token)).
		SetCreatedAt(now).
		SetUsedAt(now).
		SetExpiresAt(s.ExpiresAt).
		Exec(ctx)
	return s, err
}

// session resolves the token of a session to the user's workspace and role of today.
func (i *Identity) session(ctx context.Context, token string) (Principal, error) {
	if !wellFormed(sessionPrefix, token) {
		return Principal{}, errUnauthorized.Wrap(errors.New("not a session of ours"))
	}
	row, err := i.db.Ent().Session.Query().Where(session.Hash(digest(token))).Only(ctx)
	if ent.IsNotFound(err) {
		return Principal{}, errUnauthorized.Wrap(errors.New("unknown session"))
	}
	if err != nil {
		return Principal{}, err
	}
	now := i.now()
	if !now.Before(row.ExpiresAt) || now.Sub(row.UsedAt) >= sessionIdle {
		return Principal{}, errUnauthorized.Wrap(errors.New("the session has ended"))
	}
	u, err := i.db.Ent().User.Query().Where(user.ID(row.UserID), user.WorkspaceID(row.WorkspaceID)).Only(ctx)
	if ent.IsNotFound(err) {
		return Principal{}, errUnauthorized.Wrap(errors.New("the session's user is gone"))
	}
	if err != nil {
		return Principal{}, err
	}
	if now.Sub(row.UsedAt) >= sessionUseEvery {
		err := i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.Session.Update().Where(session.ID(row.ID), session.UsedAtLT(now)).SetUsedAt(now).Exec(ctx)
		})
		if err != nil {
			return Principal{}, err
		}
	}
	return Principal{WorkspaceID: row.WorkspaceID, UserID: &u.ID, Role: u.Role, SessionID: &row.ID}, nil
}

// SignOut ends the caller's session. With a user token there is none to end, and nothing happens.
func (i *Identity) SignOut(ctx context.Context) error {
	p, err := person(ctx)
	if err != nil || p.SessionID == nil {
		return err
	}
	return i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.Session.Delete().Where(session.ID(*p.SessionID)).Exec(ctx)
		if err != nil || n == 0 {
			return err
		}
		return i.note(ctx, tx, p.WorkspaceID, event{Action: "sign_out"})
	})
}

// SignOutEverywhere ends all sessions of the caller.
func (i *Identity) SignOutEverywhere(ctx context.Context) error {
	p, err := person(ctx)
	if err != nil {
		return err
	}
	return i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Session.Delete().Where(session.UserID(*p.UserID)).Exec(ctx); err != nil {
			return err
		}
		return i.note(ctx, tx, p.WorkspaceID, event{Action: "sign_out_everywhere"})
	})
}
