package contact_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func text(s string) *string { return &s }

func refused(t *testing.T, err error, message string) {
	t.Helper()
	require.ErrorContains(t, err, message)
	require.Equal(t, "validation_failed", fault.From(err).Code)
}

func TestAContactReadsBackAsItWasWritten(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		_, err := contact.CreateField(ctx, db, contact.Field{Key: text("crm_id"), Type: text("number")})
		require.NoError(t, err)

		made, warnings, err := contact.Create(ctx, db, contact.Input{
			FirstName: text("Zoë"), LastName: text(""), Phone: text("+15551234567"), Email: text("zoe@example.com"),
			CustomFields: json.RawMessage(`{"crm_id":12345678901234567,"nope":1,"phone":"x"}`),
		})
		require.NoError(t, err)
		require.Equal(t, []string{"nope", "phone"}, []string{warnings[0].Key, warnings[1].Key}, "dropped, but created")

		row, err := contact.Get(ctx, db.Ent(), made.ID)
		require.NoError(t, err)
		require.Equal(t, "Zoë", *row.FirstName)
		require.Nil(t, row.LastName, "an empty text is no value")
		require.Equal(t, contact.StatusActive, row.Status)
		require.JSONEq(t, `{"crm_id":12345678901234567}`, string(row.CustomFields))
		values, err := contact.Values(row)
		require.NoError(t, err)
		require.Equal(t, json.Number("12345678901234567"), values["crm_id"])

		again, _, err := contact.Create(ctx, db, contact.Input{Phone: text("+15551234567")})
		require.NoError(t, err, "several contacts may share a phone")
		same, err := contact.ByPhone(ctx, db.Ent(), "+15551234567")
		require.NoError(t, err)
		require.Equal(t, again.ID, same[0].ID, "newest first")
		require.Len(t, same, 2)
	})
}

func TestAnUpdateMergesAndAppliesWhatFits(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		for _, key := range []string{"a", "b", "c"} {
			_, err := contact.CreateField(ctx, db, contact.Field{Key: text(key), Type: text("text")})
			require.NoError(t, err)
		}
		made, _, err := contact.Create(ctx, db, contact.Input{
			Phone: text("+15551234567"), Email: text("a@b.co"), CustomFields: json.RawMessage(`{"a":"1","b":"2"}`),
		})
		require.NoError(t, err)

		row, warnings, err := contact.Update(ctx, db, made.ID, contact.Input{
			FirstName: text("Ann"), Clear: []string{"email"}, CustomFields: json.RawMessage(`{"b":null,"c":"3","a":5}`),
		})
		require.NoError(t, err)
		require.Equal(t, contact.TypeMismatch, warnings[0].Code)
		require.JSONEq(t, `{"a":"1","c":"3"}`, string(row.CustomFields))
		require.Equal(t, "Ann", *row.FirstName)
		require.Nil(t, row.Email)
		require.Equal(t, "+15551234567", row.Phone)
		require.True(t, row.UpdatedAt.After(made.UpdatedAt))

		same, warnings, err := contact.Update(ctx, db, made.ID, contact.Input{})
		require.NoError(t, err)
		require.Empty(t, warnings)
		require.True(t, same.UpdatedAt.Equal(row.UpdatedAt), "nothing was changed")
	})
}

func TestWhatIsOutOfBoundsIsRefusedWhole(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		base := func(change func(*contact.Input)) contact.Input {
			in := contact.Input{Phone: text("+15551234567")}
			change(&in)
			return in
		}
		for message, in := range map[string]contact.Input{
			"first_name must have at most 100": base(func(in *contact.Input) { in.FirstName = text(strings.Repeat("ä", 101)) }),
			"last_name must have at most 100":  base(func(in *contact.Input) { in.LastName = text(strings.Repeat("ä", 101)) }),
			"email must have at most 254":      base(func(in *contact.Input) { in.Email = text(strings.Repeat("a", 250) + "@b.co") }),
			"email must be":                    base(func(in *contact.Input) { in.Email = text("nobody") }),
			"additional_notes must have":       base(func(in *contact.Input) { in.Notes = text(strings.Repeat("x", 5001)) }),
			"phone must be":                    base(func(in *contact.Input) { in.Phone = text("5551234567") }),
			"phone is not":                     base(func(in *contact.Input) { in.Phone = text("+1555") }),
			"phone is required":                base(func(in *contact.Input) { in.Phone = nil }),
			"status must be":                   base(func(in *contact.Input) { in.Status = text("gone") }),
			"custom_fields must be an object":  base(func(in *contact.Input) { in.CustomFields = json.RawMessage(`[1]`) }),
		} {
			_, _, err := contact.Create(ctx, db, in)
			refused(t, err, message)
		}
		n, err := db.Ent().Contact.Query().Count(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
		_, _, err = contact.Create(ctx, db, contact.Input{
			Phone: text("+15551234567"), FirstName: text(strings.Repeat("ä", 100)), Notes: text(strings.Repeat("€", 5000)),
			Email: text(strings.Repeat("a", 249) + "@b.co"), Status: text(contact.StatusDoNotCall),
		})
		require.NoError(t, err, "at its bounds everything fits")
	})
}

func TestAForeignContactIsNoContact(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		other, _ := storetest.Workspace(t, db)
		theirs, _, err := contact.Create(other, db, contact.Input{Phone: text("+15551234567")})
		require.NoError(t, err)

		_, err = contact.Get(ctx, db.Ent(), theirs.ID)
		require.Equal(t, "contact_not_found", fault.From(err).Code)
		_, _, err = contact.Update(ctx, db, theirs.ID, contact.Input{FirstName: text("x")})
		require.Equal(t, "contact_not_found", fault.From(err).Code)
		require.Equal(t, "contact_not_found", fault.From(contact.Delete(ctx, db, theirs.ID)).Code)
		require.NoError(t, contact.Delete(other, db, theirs.ID))
		require.Equal(t, "contact_not_found", fault.From(contact.Delete(other, db, theirs.ID)).Code)
	})
}

func TestDefinitionsKeepTheirKeyAndType(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		tier, err := contact.CreateField(ctx, db, contact.Field{Key: text("tier"), Type: text("select"), Options: []string{" gold ", "silver"}})
		require.NoError(t, err)
		require.Equal(t, "tier", tier.Label)
		require.Equal(t, []string{"gold", "silver"}, tier.Options)

		_, err = contact.CreateField(ctx, db, contact.Field{Key: text("tier"), Type: text("text")})
		require.Equal(t, "already_exists", fault.From(err).Code)
		require.Equal(t, tier.ID.String(), fault.From(err).Details["existing_id"])
		_, err = contact.UpdateField(ctx, db, tier.ID, contact.Field{Key: text("level")})
		refused(t, err, "key can not change")
		_, err = contact.UpdateField(ctx, db, tier.ID, contact.Field{Type: text("text")})
		refused(t, err, "type can not change")
		_, err = contact.UpdateField(ctx, db, tier.ID, contact.Field{Clear: []string{"options"}})
		refused(t, err, "options must have")

		row, err := contact.UpdateField(ctx, db, tier.ID, contact.Field{Label: text("Level"), Options: []string{"gold"}, Archived: new(bool)})
		require.NoError(t, err)
		require.Equal(t, "Level", row.Label)
		same, err := contact.UpdateField(ctx, db, tier.ID, contact.Field{})
		require.NoError(t, err)
		require.True(t, same.UpdatedAt.Equal(row.UpdatedAt))

		for message, in := range map[string]contact.Field{
			"key must match":     {Key: text("Tier"), Type: text("text")},
			"a field of the":     {Key: text("email"), Type: text("text")},
			"type must be one":   {Key: text("x"), Type: text("colour")},
			"options must have":  {Key: text("x"), Type: text("multi_select")},
			"options have no":    {Key: text("x"), Type: text("text"), Options: []string{"a"}},
			"stands there twice": {Key: text("x"), Type: text("select"), Options: []string{"a", "a "}},
			"max_length has no":  {Key: text("x"), Type: text("number"), MaxLength: new(int)},
			"label must have":    {Key: text("x"), Type: text("text"), Label: text(" ")},
		} {
			if in.MaxLength != nil {
				*in.MaxLength = 5
			}
			_, err := contact.CreateField(ctx, db, in)
			refused(t, err, message)
		}
	})
}

func TestADefinitionWithValuesIsArchivedInsteadOfDeleted(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		used, err := contact.CreateField(ctx, db, contact.Field{Key: text("used"), Type: text("text")})
		require.NoError(t, err)
		unused, err := contact.CreateField(ctx, db, contact.Field{Key: text("unused"), Type: text("text")})
		require.NoError(t, err)
		made, _, err := contact.Create(ctx, db, contact.Input{Phone: text("+15551234567"), CustomFields: json.RawMessage(`{"used":"x"}`)})
		require.NoError(t, err)

		archived, err := contact.DeleteField(ctx, db, used.ID)
		require.NoError(t, err)
		require.True(t, archived)
		archived, err = contact.DeleteField(ctx, db, unused.ID)
		require.NoError(t, err)
		require.False(t, archived)
		_, err = contact.GetField(ctx, db.Ent(), unused.ID)
		require.Equal(t, "custom_field_not_found", fault.From(err).Code)

		row, warnings, err := contact.Update(ctx, db, made.ID, contact.Input{CustomFields: json.RawMessage(`{"used":"y"}`)})
		require.NoError(t, err)
		require.Equal(t, contact.ArchivedKey, warnings[0].Code)
		require.JSONEq(t, `{"used":"x"}`, string(row.CustomFields), "archived keys keep their values")
		require.WithinDuration(t, made.UpdatedAt, row.UpdatedAt, time.Microsecond)

		page, err := contact.ListFields(ctx, db.Ent(), nil, 0, nil)
		require.NoError(t, err)
		require.Equal(t, 1, page.Total)
		require.True(t, page.Rows[0].Archived)
		page, err = contact.ListFields(ctx, db.Ent(), new(bool), 0, nil)
		require.NoError(t, err)
		require.Empty(t, page.Rows)
	})
}
