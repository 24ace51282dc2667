package webhook

import (
	"context"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/delivery"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Query is a page of deliveries.
type Query struct {
	// Only those of this call.
	CallID *uuid.UUID
	// Only those that stand there.
	Status string
	Offset int
	// Defaults to 50; more than 200 count as 200.
	Limit *int
}

// List gives a page of deliveries, newest first. CONTRACT.md §3, webhook-deliveries.
func List(ctx context.Context, c *ent.Client, q Query) (store.Page[*ent.Delivery], error) {
	match := c.Delivery.Query()
	if q.CallID != nil {
		match.Where(delivery.CallID(*q.CallID))
	}
	if q.Status != "" {
		match.Where(delivery.Status(q.Status))
	}
	return store.ReadPage(ctx, q.Offset, q.Limit, func(ctx context.Context, offset, limit int) ([]*ent.Delivery, error) {
		return match.Clone().Order(delivery.ByCreatedAt(sql.OrderDesc()), delivery.ByID(sql.OrderDesc())).
			Offset(offset).Limit(limit).All(ctx)
	}, match.Count)
}

// Get reads a delivery. Errors: delivery_not_found.
func Get(ctx context.Context, c *ent.Client, id uuid.UUID) (*ent.Delivery, error) {
	d, err := c.Delivery.Query().Where(delivery.ID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.Missing("delivery")
	}
	return d, err
}

// Retry starts an abandoned delivery again, with five fresh attempts, and makes one that waits due at once. Errors:
// delivery_not_found; already_delivered (409).
func Retry(ctx context.Context, db *store.DB, id uuid.UUID) (d *ent.Delivery, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		d, err = byID(ctx, tx, id)
		if ent.IsNotFound(err) {
			return fault.Missing("delivery")
		}
		if err != nil {
			return err
		}
		up := d.Update().SetNextAttemptAt(store.Now()).SetUpdatedAt(store.Now())
		switch d.Status {
		case Delivered:
			return fault.New(fault.Conflict, "already_delivered", "the receiver has confirmed this delivery; it is not sent again")
		case Abandoned:
			up.SetStatus(Pending).SetAttempt(0).ClearLeaseUntil()
		}
		d, err = up.Save(ctx)
		return err
	})
	return d, err
}
