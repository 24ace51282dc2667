package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/delivery"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
)

// Erase deletes what receivers answered about calls: an answer may repeat what was said. When and how often each call was
// delivered stays. It belongs into the transaction that deletes the calls' content.
func Erase(ctx context.Context, tx *store.Tx, calls []uuid.UUID) error {
	rows, err := tx.Delivery.Query().Where(delivery.CallIDIn(calls...), delivery.AttemptsNotNil(), store.ForUpdate).All(ctx)
	if err != nil {
		return fmt.Errorf("find the deliveries of erased calls: %w", err)
	}
	for _, d := range rows {
		all, err := Attempts(d)
		if err != nil {
			return err
		}
		told := false
		for i := range all {
			told = told || all[i].Response != ""
			all[i].Response = ""
		}
		if !told {
			continue
		}
		raw, err := json.Marshal(all)
		if err != nil {
			return fmt.Errorf("write the attempts of delivery %s: %w", d.ID, err)
		}
		if err := d.Update().SetAttempts(raw).Exec(ctx); err != nil {
			return fmt.Errorf("erase the answers to delivery %s: %w", d.ID, err)
		}
	}
	return nil
}

// Withheld says which of the deliveries' calls are redacted now: what receivers answered about those is shown to nobody.
func Withheld(ctx context.Context, c *ent.Client, rows ...*ent.Delivery) (map[uuid.UUID]bool, error) {
	out := map[uuid.UUID]bool{}
	var ids []uuid.UUID
	for _, d := range rows {
		ids = append(ids, d.CallID)
	}
	redacted, err := call.RedactionsByID(ctx, c, ids...)
	for id := range redacted {
		out[id] = true
	}
	return out, err
}
