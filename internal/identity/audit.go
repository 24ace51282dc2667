package identity

import (
	"context"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/auditentry"
	"github.com/callwright/callwright/ent/user"
	"github.com/callwright/callwright/internal/store"
)

// event is something that happened to the people and keys of a workspace.
type event struct {
	// Action is what: sign_in, sign_in_failed, sign_out, sign_out_everywhere, signed_up, password_changed, password_reset,
	// member_invited, invite_deleted, member_joined, role_changed, member_removed, key_created, key_deleted,
	// pairing_approved, pairing_denied, pairing_claimed, workspace_changed.
	Action string
	// User did it. Defaults to the caller of the request; a command has none.
	User *ent.User
	// Subject is what it was done to, Detail more about it. Never a secret.
	Subject, Detail string
}

// note adds an entry to the audit. It is part of the transaction of what it tells about: neither is without the other.
func (i *Identity) note(ctx context.Context, tx *store.Tx, workspace uuid.UUID, e event) error {
	if e.User == nil {
		if p, ok := From(ctx); ok && p.UserID != nil {
			u, err := tx.User.Query().Where(user.ID(*p.UserID)).Only(ctx)
			if err != nil && !ent.IsNotFound(err) {
				return err
			}
			e.User = u
		}
	}
	add := tx.AuditEntry.Create().
		SetWorkspaceID(workspace).
		SetCreatedAt(i.now()).
		SetAction(e.Action).
		SetSubject(e.Subject).
		SetDetail(e.Detail).
		SetAddress(originOf(ctx))
	if e.User != nil {
		add.SetUserID(e.User.ID).SetActor(label(e.User))
	}
	return add.Exec(ctx)
}

// label is what a person is called in the audit.
func label(u *ent.User) string {
	if u.Email != nil {
		return *u.Email
	}
	return u.Name
}

// ListAudit lists what happened in the context's workspace, newest first. For those who administer, else forbidden.
func ListAudit(ctx context.Context, c *ent.Client, offset int, limit *int) (store.Page[*ent.AuditEntry], error) {
	if _, err := administrator(ctx); err != nil {
		return store.Page[*ent.AuditEntry]{}, err
	}
	rows := func(ctx context.Context, offset, limit int) ([]*ent.AuditEntry, error) {
		return c.AuditEntry.Query().Order(auditentry.ByCreatedAt(sql.OrderDesc()), auditentry.ByID(sql.OrderDesc())).
			Offset(offset).Limit(limit).All(ctx)
	}
	return store.ReadPage(ctx, offset, limit, rows, c.AuditEntry.Query().Count)
}
