package contact

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/contact"
	"github.com/callwright/callwright/internal/store"
)

// Check holds an input against its bounds, as Create does, and gives it its stored form.
func (in Input) Check() (Input, error) { return in.checked() }

// Upserted is what became of one input.
type Upserted struct {
	ID uuid.UUID
	// Phone is canonical.
	Phone string
	// Matches are the contacts that had the phone before; the newest was taken. 0 says that the contact is new.
	Matches  int
	Warnings []Warning
}

// Upsert finds or creates a contact for each checked input: the newest one with its phone gets the input's custom_fields,
// a phone that nobody has makes a contact, which later inputs with the same phone refresh. With duplicates every input
// makes a contact. The caller holds a lock under which no other Upsert of the workspace runs.
// spec: Campaign enrollment, rules 1–3.
func Upsert(ctx context.Context, tx *store.Tx, inputs []Input, duplicates bool) ([]Upserted, error) {
	defs, err := definitions(ctx, tx.Client)
	if err != nil {
		return nil, err
	}
	var known map[string]match
	if !duplicates {
		if known, err = matches(ctx, tx.Client, inputs); err != nil {
			return nil, err
		}
	}
	out := make([]Upserted, len(inputs))
	changed := map[uuid.UUID]*ent.Contact{}
	made := map[string]*draft{}
	var drafts []*draft
	for i, in := range inputs {
		out[i].Phone = *in.Phone
		m, there := known[*in.Phone]
		d := made[*in.Phone]
		if there && !duplicates {
			out[i].ID, out[i].Matches = m.newest.ID, m.count
			values, dropped, err := merge(defs, m.newest.CustomFields, in.CustomFields)
			if err != nil {
				return nil, err
			}
			out[i].Warnings = dropped
			if len(in.CustomFields) > 0 && string(values) != string(encode(m.newest.CustomFields)) {
				m.newest.CustomFields = values
				changed[m.newest.ID] = m.newest
			}
			continue
		}
		if d == nil || duplicates {
			d = &draft{id: store.NewID(), in: in}
			made[*in.Phone] = d
			drafts = append(drafts, d)
		}
		out[i].ID = d.id
		if d.values, out[i].Warnings, err = merge(defs, d.values, in.CustomFields); err != nil {
			return nil, err
		}
	}
	if err := rewrite(ctx, tx, changed); err != nil {
		return nil, err
	}
	return out, insert(ctx, tx, drafts)
}

// rewrite writes the values of many contacts that are there.
func rewrite(ctx context.Context, tx *store.Tx, changed map[uuid.UUID]*ent.Contact) error {
	ids := slices.SortedFunc(maps.Keys(changed), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	now := store.Now()
	for part := range slices.Chunk(ids, 1000) {
		rows := make([]*ent.ContactCreate, len(part))
		for i, id := range part {
			row := changed[id]
			rows[i] = tx.Contact.Create().SetID(id).SetWorkspaceID(row.WorkspaceID).SetPhone(row.Phone).
				SetCustomFields(row.CustomFields).SetUpdatedAt(now)
		}
		err := tx.Contact.CreateBulk(rows...).OnConflictColumns(contact.FieldWorkspaceID, contact.FieldID).
			Update(func(u *ent.ContactUpsert) { u.UpdateCustomFields().UpdateUpdatedAt() }).Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// match is who has a phone.
type match struct {
	newest *ent.Contact
	count  int
}

// draft is a contact that is not written yet.
type draft struct {
	id     uuid.UUID
	in     Input
	values json.RawMessage
}

func matches(ctx context.Context, c *ent.Client, inputs []Input) (map[string]match, error) {
	phones := make([]string, len(inputs))
	for i, in := range inputs {
		phones[i] = *in.Phone
	}
	slices.Sort(phones)
	known := map[string]match{}
	for part := range slices.Chunk(slices.Compact(phones), 5000) {
		rows, err := c.Contact.Query().Where(contact.PhoneIn(part...)).Order(contact.ByCreatedAt(), contact.ByID()).All(ctx)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			known[row.Phone] = match{row, known[row.Phone].count + 1} // the last is the newest
		}
	}
	return known, nil
}

func insert(ctx context.Context, tx *store.Tx, drafts []*draft) error {
	now := store.Now()
	rows := make([][]any, len(drafts))
	for i, d := range drafts {
		status, values := StatusActive, d.values
		if d.in.Status != nil {
			status = *d.in.Status
		}
		if len(values) == 0 {
			values = json.RawMessage("{}")
		}
		rows[i] = []any{d.id, now, now, *d.in.Phone, d.in.FirstName, d.in.LastName, d.in.Email, d.in.Notes, status, values}
	}
	return tx.Insert(ctx, contact.Table, []string{
		contact.FieldID, contact.FieldCreatedAt, contact.FieldUpdatedAt, contact.FieldPhone, contact.FieldFirstName,
		contact.FieldLastName, contact.FieldEmail, contact.FieldAdditionalNotes, contact.FieldStatus, contact.FieldCustomFields,
	}, rows)
}
