package contact

import (
	"context"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/contact"
)

// For is the contact of a call: the one it was placed for, else the newest one with the far side's number; nil when
// there is none.
func For(ctx context.Context, c *ent.Client, id *uuid.UUID, number string) (*ent.Contact, error) {
	match := contact.Phone(number)
	if id != nil {
		match = contact.ID(*id)
	}
	row, err := c.Contact.Query().Where(match).
		Order(contact.ByCreatedAt(sql.OrderDesc()), contact.ByID(sql.OrderDesc())).First(ctx)
	if ent.IsNotFound(err) {
		return nil, nil
	}
	return row, err
}

// StatusFor is the status that binds a call to a number: do_not_call when any contact with it wishes so, whoever the call
// is for; else that of the contact it is for, empty without one.
func StatusFor(ctx context.Context, c *ent.Client, id *uuid.UUID, number string) (string, error) {
	unwilling, err := c.Contact.Query().Where(contact.Phone(number), contact.Status(StatusDoNotCall)).Exist(ctx)
	if err != nil || unwilling {
		return StatusDoNotCall, err
	}
	if id == nil {
		return "", nil
	}
	row, err := For(ctx, c, id, number)
	if err != nil || row == nil {
		return "", err
	}
	return row.Status, nil
}
