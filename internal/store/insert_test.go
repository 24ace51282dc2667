package store_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent/contact"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

var contactColumns = []string{contact.FieldID, contact.FieldCreatedAt, contact.FieldUpdatedAt, contact.FieldPhone,
	contact.FieldFirstName, contact.FieldStatus, contact.FieldCustomFields}

func contactRow(name *string) []any {
	now := store.Now()
	return []any{store.NewID(), now, now, "+15551234567", name, "active", json.RawMessage(`{"a":[1.10]}`)}
}

// Rows that Insert writes are those that ent writes: read back, and in the workspace of the context alone.
func TestInsertedRowsAreAsCreatedOnes(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, workspace := storetest.Workspace(t, db)
		other, _ := storetest.Workspace(t, db)
		name := "Zoë"
		rows := [][]any{contactRow(&name), contactRow(nil)}
		require.NoError(t, db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			require.NoError(t, tx.Insert(ctx, contact.Table, contactColumns, nil))
			return tx.Insert(ctx, contact.Table, contactColumns, rows)
		}))
		created := db.Ent().Contact.Create().SetPhone("+15551234567").SetFirstName(name).SetCustomFields(json.RawMessage(`{"a":[1.10]}`)).SaveX(ctx)
		all := db.Ent().Contact.Query().Order(contact.ByID()).AllX(ctx)
		require.Len(t, all, 3)
		require.Equal(t, []any{rows[0][0], workspace, rows[0][1], &name, "active"},
			[]any{all[0].ID, all[0].WorkspaceID, all[0].CreatedAt.UTC(), all[0].FirstName, all[0].Status})
		require.Nil(t, all[1].FirstName)
		read := db.Ent().Contact.GetX(ctx, created.ID)
		require.Equal(t, string(read.CustomFields), string(all[0].CustomFields))
		require.Equal(t, 3, db.Ent().Contact.Query().Where(contact.CreatedAtGTE(all[0].CreatedAt), contact.FirstNameIsNil()).CountX(ctx)+2)
		require.Zero(t, db.Ent().Contact.Query().CountX(other))

		err := db.InTx(store.System(ctx), func(ctx context.Context, tx *store.Tx) error {
			return tx.Insert(ctx, contact.Table, contactColumns, rows)
		})
		require.ErrorIs(t, err, store.ErrNoWorkspace, "whose would they be?")
		// The whole transaction fails with a row that does not fit.
		err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			tx.Contact.Create().SetPhone("+15551230000").SaveX(ctx)
			return tx.Insert(ctx, contact.Table, contactColumns, [][]any{contactRow(nil), rows[0]})
		})
		require.Error(t, err)
		require.Equal(t, 3, db.Ent().Contact.Query().CountX(ctx))
	})
}
