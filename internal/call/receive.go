package call

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/phone"
	"github.com/callwright/callwright/internal/store"
)

// Inbound is a call that rings.
type Inbound struct {
	// To is our number, From the caller's as far as the line told it.
	To, From string
}

// Receive makes the record of an inbound call: dialing while it rings, in flight for owner with a lease. It counts
// towards the plan's slots and windows but is never refused for them (spec: Usage report). Errors:
// phone_number_not_found when nobody takes calls for the number, agent_inactive when its agent takes none. ctx is
// store.System's.
func Receive(ctx context.Context, db *store.DB, owner string, lease time.Duration, in Inbound) (*ent.Call, *ent.Agent, error) {
	number, err := agent.InboundNumber(ctx, db.Ent(), in.To)
	if err != nil {
		return nil, nil, err
	}
	ctx = store.WithWorkspace(ctx, number.WorkspaceID)
	a, err := agent.Get(ctx, db.Ent(), *number.AgentID)
	if err != nil {
		return nil, nil, err
	}
	if a.Status != agent.StatusActive || a.Modality != agent.ModalityVoice {
		return nil, nil, errInactive(a)
	}
	id := store.NewID()
	var c *ent.Call
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if err := count(ctx, tx, number.WorkspaceID, 1, false); err != nil {
			return err
		}
		now := createdAt()
		c, err = tx.Call.Create().SetID(id).SetDirection(DirectionInbound).SetStatus(string(StatusDialing)).
			SetToNumber(number.Number).SetFromNumber(caller(in.From)).SetAgentID(a.ID).SetMetadata("{}").
			SetDialedAt(now).SetQueuedAt(now).SetCreatedAt(now).SetUpdatedAt(now).
			SetInFlight(true).SetLeaseOwner(owner).SetLeaseUntil(store.Now().Add(lease)).Save(ctx)
		return err
	})
	if errors.Is(err, store.ErrCommitUnknown) {
		if row, lookup := Get(ctx, db.Ent(), id); lookup == nil {
			return row, a, nil
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("record an inbound call: %w", err)
	}
	return c, a, nil
}

// caller is the far side's number: canonical where it is one, else what the line told if that can be shown.
func caller(from string) string {
	if number, err := phone.Parse(from); err == nil {
		return number
	}
	if len(from) > 32 || strings.ContainsFunc(from, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return from
}
