package policy

import (
	"context"
	"fmt"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/donotcall"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/phone"
	"github.com/callwright/callwright/internal/store"
)

// maxReason is how long the reason of an entry may be, in characters.
const maxReason = 500

// Forbid puts a number on the do-not-call list; one that is there already is returned with created false.
// CONTRACT.md §3, do-not-call.
func Forbid(ctx context.Context, db *store.DB, number string, reason *string) (row *ent.DoNotCall, created bool, err error) {
	canonical, err := phone.Parse(number)
	if err != nil {
		return nil, false, fault.Invalidf("phone %s", err)
	}
	if reason != nil && utf8.RuneCountInString(*reason) > maxReason {
		return nil, false, fault.Invalidf("reason must have at most %d characters", maxReason)
	}
	workspace, _ := store.Workspace(ctx)
	id := store.NewID()
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		err := tx.DoNotCall.Create().SetID(id).SetWorkspaceID(workspace).SetPhone(canonical).SetNillableReason(reason).
			OnConflictColumns(donotcall.FieldWorkspaceID, donotcall.FieldPhone).DoNothing().Exec(ctx)
		if store.IsNoRow(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("add to the do-not-call list: %w", err)
	}
	row, err = db.Ent().DoNotCall.Query().Where(donotcall.Phone(canonical)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, false, fault.New(fault.Unavailable, "unavailable", "the entry is being added and removed at the same time; try again")
	}
	if err != nil {
		return nil, false, err
	}
	return row, row.ID == id, nil
}

// Forbidden gives a page of the list, newest first. A number of "" matches all.
func Forbidden(ctx context.Context, c *ent.Client, number string, offset int, limit *int) (store.Page[*ent.DoNotCall], error) {
	match := c.DoNotCall.Query()
	if number != "" {
		match.Where(donotcall.Phone(number))
	}
	return store.ReadPage(ctx, offset, limit, func(ctx context.Context, offset, limit int) ([]*ent.DoNotCall, error) {
		return match.Clone().Order(donotcall.ByCreatedAt(sql.OrderDesc()), donotcall.ByID(sql.OrderDesc())).
			Offset(offset).Limit(limit).All(ctx)
	}, match.Count)
}

// Permit takes an entry off the list. Errors: do_not_call_not_found.
func Permit(ctx context.Context, db *store.DB, id uuid.UUID) error {
	return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.DoNotCall.Delete().Where(donotcall.ID(id)).Exec(ctx)
		if err == nil && n == 0 {
			return fault.New(fault.NotFound, "do_not_call_not_found", "no such entry")
		}
		return err
	})
}
