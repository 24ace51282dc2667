// Package contact keeps the people a workspace calls: contacts, the definitions of their custom fields, and which
// contacts a telephone number belongs to.
//
// Several contacts may share a phone. Custom-field values that do not fit their definition are dropped and reported,
// never refused; what is stored always fits the definition it was written under.
package contact

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/contact"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/phone"
	"github.com/callwright/callwright/internal/store"
)

// What a contact's status may be. A contact that is not active is not enrolled by campaigns; one with do_not_call is never
// called.
const (
	StatusActive    = "active"
	StatusArchived  = "archived"
	StatusDoNotCall = "do_not_call"
)

// Most characters. CONTRACT.md §2, Contacts.
const (
	maxName  = 100
	maxEmail = 254
	maxNotes = 5000
)

// Input is what a request says of a contact; nil is nothing.
type Input struct {
	FirstName, LastName, Email, Notes *string
	// E.164. Required by Create.
	Phone *string
	// active, archived or do_not_call.
	Status *string
	// JSON object: values by key, null takes a key away.
	CustomFields json.RawMessage
	// Update only: names of fields whose value is taken away.
	Clear []string
}

// Create adds a contact. Entries of custom_fields that do not fit are dropped and reported; anything else that does not
// fit is validation_failed and nothing is stored. spec: Contacts, POST /contact.
func Create(ctx context.Context, db *store.DB, in Input) (row *ent.Contact, warnings []Warning, err error) {
	if in.Phone == nil {
		return nil, nil, fault.Invalidf("phone is required")
	}
	if in, err = in.checked(); err != nil {
		return nil, nil, err
	}
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		defs, err := definitions(ctx, tx.Client)
		if err != nil {
			return err
		}
		values, dropped, err := merge(defs, nil, in.CustomFields)
		if err != nil {
			return err
		}
		warnings = dropped
		row, err = creation(tx.Client, in, values).Save(ctx)
		return err
	})
	return row, warnings, err
}

// creation is the insert of a checked input.
func creation(c *ent.Client, in Input, values json.RawMessage) *ent.ContactCreate {
	create := c.Contact.Create().SetPhone(*in.Phone).SetNillableFirstName(in.FirstName).
		SetNillableLastName(in.LastName).SetNillableEmail(in.Email).SetNillableAdditionalNotes(in.Notes).
		SetNillableStatus(in.Status)
	if len(values) > 0 {
		create.SetCustomFields(values)
	}
	return create
}

// Get reads a contact. Errors: contact_not_found.
func Get(ctx context.Context, c *ent.Client, id uuid.UUID) (*ent.Contact, error) {
	row, err := c.Contact.Query().Where(contact.ID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.Missing("contact")
	}
	return row, err
}

// Update changes the fields that the input has. custom_fields are merged: keys sent are written, keys omitted stay, a null
// takes a key away; entries that do not fit are dropped and reported while the rest applies. An update without a field
// leaves updated_at alone. spec: Contacts, PUT /contact/{id}.
func Update(ctx context.Context, db *store.DB, id uuid.UUID, in Input) (row *ent.Contact, warnings []Warning, err error) {
	if in, err = in.checked(); err != nil {
		return nil, nil, err
	}
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err = tx.Contact.Query().Where(contact.ID(id), store.ForUpdate).Only(ctx)
		if ent.IsNotFound(err) {
			return fault.Missing("contact")
		}
		if err != nil {
			return err
		}
		row, warnings, err = refresh(ctx, tx, nil, row, in)
		return err
	})
	return row, warnings, err
}

// refresh writes a checked input into a row that the transaction holds. Definitions are read when defs is nil.
func refresh(ctx context.Context, tx *store.Tx, defs map[string]definition, row *ent.Contact, in Input) (*ent.Contact, []Warning, error) {
	update := row.Update()
	in.apply(update)
	var warnings []Warning
	if len(in.CustomFields) > 0 {
		var err error
		if defs == nil {
			if defs, err = definitions(ctx, tx.Client); err != nil {
				return nil, nil, err
			}
		}
		values, dropped, err := merge(defs, row.CustomFields, in.CustomFields)
		if err != nil {
			return nil, nil, err
		}
		warnings = dropped
		if string(values) != string(encode(row.CustomFields)) {
			update.SetCustomFields(values)
		}
	}
	if len(update.Mutation().Fields()) == 0 && len(update.Mutation().ClearedFields()) == 0 {
		return row, warnings, nil
	}
	changed, err := update.SetUpdatedAt(store.Now()).Save(ctx)
	return changed, warnings, err
}

// apply puts the plain fields of the input into an update.
func (in Input) apply(u *ent.ContactUpdateOne) {
	if in.FirstName != nil {
		u.SetFirstName(*in.FirstName)
	}
	if in.LastName != nil {
		u.SetLastName(*in.LastName)
	}
	if in.Email != nil {
		u.SetEmail(*in.Email)
	}
	if in.Notes != nil {
		u.SetAdditionalNotes(*in.Notes)
	}
	if in.Phone != nil {
		u.SetPhone(*in.Phone)
	}
	if in.Status != nil {
		u.SetStatus(*in.Status)
	}
	for _, field := range in.Clear {
		switch field {
		case "first_name":
			u.ClearFirstName()
		case "last_name":
			u.ClearLastName()
		case "email":
			u.ClearEmail()
		case "additional_notes":
			u.ClearAdditionalNotes()
		}
	}
}

// Delete takes a contact away, and its enrollments with it. Its calls stay. Errors: contact_not_found.
// spec: Contacts, DELETE /contact/{id}.
func Delete(ctx context.Context, db *store.DB, id uuid.UUID) error {
	return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.Contact.Delete().Where(contact.ID(id)).Exec(ctx)
		if err == nil && n == 0 {
			return fault.Missing("contact")
		}
		return err
	})
}

// ByPhone are the workspace's contacts with a number, newest first: newest is created_at, then id.
func ByPhone(ctx context.Context, c *ent.Client, number string) ([]*ent.Contact, error) {
	return c.Contact.Query().Where(contact.Phone(number)).
		Order(contact.ByCreatedAt(sql.OrderDesc()), contact.ByID(sql.OrderDesc())).All(ctx)
}

// ByIDs are those of the ids that the workspace has.
func ByIDs(ctx context.Context, c *ent.Client, ids []uuid.UUID) (map[uuid.UUID]*ent.Contact, error) {
	found := make(map[uuid.UUID]*ent.Contact, len(ids))
	for part := range slices.Chunk(ids, 5000) {
		rows, err := c.Contact.Query().Where(contact.IDIn(part...)).All(ctx)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			found[row.ID] = row
		}
	}
	return found, nil
}

// checked holds the input against its bounds and gives it its stored form. An empty text is no value.
func (in Input) checked() (Input, error) {
	for _, f := range []struct {
		name string
		text **string
		max  int
	}{
		{"first_name", &in.FirstName, maxName}, {"last_name", &in.LastName, maxName},
		{"email", &in.Email, maxEmail}, {"additional_notes", &in.Notes, maxNotes},
	} {
		if *f.text == nil {
			continue
		}
		if utf8.RuneCountInString(**f.text) > f.max {
			return in, fault.Invalidf("%s must have at most %d characters", f.name, f.max)
		}
		if strings.TrimSpace(**f.text) == "" {
			*f.text = nil
			in.Clear = append(slices.Clone(in.Clear), f.name)
		}
	}
	if in.Email != nil {
		local, domain, _ := strings.Cut(*in.Email, "@")
		if local == "" || domain == "" || strings.ContainsAny(*in.Email, " \t\r\n") || strings.Contains(domain, "@") {
			return in, fault.Invalidf("email must be an e-mail address")
		}
	}
	if in.Phone != nil {
		number, err := phone.Parse(*in.Phone)
		if err != nil {
			return in, fault.Invalidf("phone %s", err)
		}
		in.Phone = &number
	}
	if in.Status != nil && !slices.Contains([]string{StatusActive, StatusArchived, StatusDoNotCall}, *in.Status) {
		return in, fault.Invalidf("status must be %s, %s or %s", StatusActive, StatusArchived, StatusDoNotCall)
	}
	for _, required := range []string{"phone", "status", "custom_fields"} {
		if slices.Contains(in.Clear, required) {
			return in, fault.Invalidf("%s must not be null", required)
		}
	}
	return in, nil
}

// Values are a contact's custom-field values by key, for prompts. Numbers keep their digits.
func Values(row *ent.Contact) (map[string]any, error) {
	values := map[string]any{}
	d := json.NewDecoder(strings.NewReader(string(row.CustomFields)))
	d.UseNumber()
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("custom fields of contact %s: %w", row.ID, err)
	}
	return values, nil
}
