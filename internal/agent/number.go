package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/agent"
	"github.com/callwright/callwright/ent/phonenumber"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/phone"
	"github.com/callwright/callwright/internal/store"
)

// Number are the fields of a phone number that people set. nil is absent: in an update it leaves the field as it is.
type Number struct {
	// Number is E.164, unique in the workspace. Required on create.
	Number *string
	// Label has up to 128 characters; an empty one is none.
	Label *string
	// AgentID is an agent of the workspace: inbound calls reach it, its outbound calls leave by this number.
	AgentID *uuid.UUID
	// Inbound and Outbound default to true.
	Inbound, Outbound *bool
}

func (n Number) validate() (Number, error) {
	if n.Number != nil {
		number, err := phone.Parse(*n.Number)
		if err != nil {
			return n, fault.Invalidf("number %s", err)
		}
		n.Number = &number
	}
	if n.Label != nil {
		if err := checkText(*n.Label, 128); err != nil {
			return n, fault.Invalidf("label %s", err)
		}
	}
	return n, nil
}

// CreateNumber adds a phone number. One that the workspace has already is already_exists with details.existing_id; an
// agent that it does not have is agent_not_found.
func CreateNumber(ctx context.Context, db *store.DB, in Number) (*ent.PhoneNumber, error) {
	in, err := in.validate()
	if err != nil {
		return nil, err
	}
	if in.Number == nil {
		return nil, fault.Invalidf("number is required")
	}
	if in.Label != nil && *in.Label == "" {
		in.Label = nil
	}
	var n *ent.PhoneNumber
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if err := owned(ctx, tx, in.AgentID); err != nil {
			return err
		}
		now := store.Now()
		n, err = tx.PhoneNumber.Create().SetNumber(*in.Number).SetNillableLabel(in.Label).SetNillableAgentID(in.AgentID).
			SetNillableInbound(in.Inbound).SetNillableOutbound(in.Outbound).SetCreatedAt(now).SetUpdatedAt(now).Save(ctx)
		return err
	})
	if err != nil {
		return nil, explain(ctx, db, in, err)
	}
	return n, nil
}

// owned refuses an agent of another workspace before the foreign key does: it can not tell which reference was wrong.
func owned(ctx context.Context, tx *store.Tx, id *uuid.UUID) error {
	if id == nil {
		return nil
	}
	ok, err := tx.Agent.Query().Where(agent.ID(*id)).Exist(ctx)
	if err == nil && !ok {
		return fault.Missing("agent")
	}
	return err
}

// explain says in the caller's terms which constraint refused a number. It reads outside of the failed transaction.
func explain(ctx context.Context, db *store.DB, in Number, err error) error {
	switch {
	case store.IsForeignKey(err):
		return fault.Missing("agent").Wrap(err) // deleted in this moment
	case !store.IsUnique(err) || in.Number == nil:
		return err
	}
	other, lookup := db.Ent().PhoneNumber.Query().Where(phonenumber.Number(*in.Number)).OnlyID(ctx)
	if lookup != nil {
		return errors.Join(err, lookup)
	}
	return fault.New(fault.Exists, "already_exists", "The workspace has this number already.").
		With("existing_id", other.String()).Wrap(err)
}

// GetNumber reads a phone number of the workspace; phone_number_not_found when it has none with this id.
func GetNumber(ctx context.Context, c *ent.Client, id uuid.UUID) (*ent.PhoneNumber, error) {
	return foundNumber(c.PhoneNumber.Query().Where(phonenumber.ID(id)).Only(ctx))
}

func foundNumber(n *ent.PhoneNumber, err error) (*ent.PhoneNumber, error) {
	if ent.IsNotFound(err) {
		return nil, fault.Missing("phone_number")
	}
	return n, err
}

// UpdateNumber changes the fields that in has and takes those in clear away: label, agent_id. An update that changes
// nothing leaves updated_at as it is. Errors as in CreateNumber.
func UpdateNumber(ctx context.Context, db *store.DB, id uuid.UUID, in Number, clear []string) (*ent.PhoneNumber, error) {
	in, err := in.validate()
	if err != nil {
		return nil, err
	}
	for _, name := range clear {
		switch {
		case name == "label" && in.Label != nil, name == "agent_id" && in.AgentID != nil:
			return nil, fault.Invalidf("%s is both set and cleared", name)
		case name != "label" && name != "agent_id" && !slices.Contains(own, name):
			return nil, fault.Invalidf("%s can not be taken away", name)
		}
	}
	var n *ent.PhoneNumber
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		n, err = foundNumber(tx.PhoneNumber.Query().Where(phonenumber.ID(id), store.ForUpdate).Only(ctx))
		if err != nil {
			return err
		}
		if err := owned(ctx, tx, in.AgentID); err != nil {
			return err
		}
		up, changed := change(tx.PhoneNumber.UpdateOne(n), n, in, clear)
		if changed {
			n, err = up.SetUpdatedAt(store.Now()).Save(ctx)
		}
		return err
	})
	if err != nil {
		return nil, explain(ctx, db, in, err)
	}
	return n, nil
}

// change puts into up what differs from n.
func change(up *ent.PhoneNumberUpdateOne, n *ent.PhoneNumber, in Number, clear []string) (_ *ent.PhoneNumberUpdateOne, changed bool) {
	if in.Number != nil && *in.Number != n.Number {
		up, changed = up.SetNumber(*in.Number), true
	}
	if in.Inbound != nil && *in.Inbound != n.Inbound {
		up, changed = up.SetInbound(*in.Inbound), true
	}
	if in.Outbound != nil && *in.Outbound != n.Outbound {
		up, changed = up.SetOutbound(*in.Outbound), true
	}
	switch noLabel := slices.Contains(clear, "label") || in.Label != nil && *in.Label == ""; {
	case noLabel && n.Label != nil:
		up, changed = up.ClearLabel(), true
	case !noLabel && in.Label != nil && (n.Label == nil || *in.Label != *n.Label):
		up, changed = up.SetLabel(*in.Label), true
	}
	switch noAgent := slices.Contains(clear, "agent_id"); {
	case noAgent && n.AgentID != nil:
		up, changed = up.ClearAgentID(), true
	case in.AgentID != nil && (n.AgentID == nil || *in.AgentID != *n.AgentID):
		up, changed = up.SetAgentID(*in.AgentID), true
	}
	return up, changed
}

// DeleteNumber removes a phone number from the workspace.
func DeleteNumber(ctx context.Context, db *store.DB, id uuid.UUID) error {
	n, err := db.Ent().PhoneNumber.Delete().Where(phonenumber.ID(id)).Exec(ctx)
	if err == nil && n == 0 {
		return fault.Missing("phone_number")
	}
	return err
}

// NumberQuery selects a page of phone numbers, newest first.
type NumberQuery struct {
	// Offset is how many rows to skip, 0 or more.
	Offset int
	// Limit is how many to return, 1 or more; more than 200 count as 200. Defaults to 50.
	Limit *int
	// AgentID keeps the numbers of one agent; one that the workspace does not have matches nothing.
	AgentID *uuid.UUID
}

// NumberPage is what ListNumbers returns.
type NumberPage struct {
	Numbers       []*ent.PhoneNumber
	Offset, Limit int
	Total         int
}

// ListNumbers returns a page of the workspace's phone numbers.
func ListNumbers(ctx context.Context, c *ent.Client, q NumberQuery) (NumberPage, error) {
	p := NumberPage{Offset: q.Offset}
	var err error
	if p.Limit, err = store.Limit(q.Offset, q.Limit); err != nil {
		return p, err
	}
	matching := c.PhoneNumber.Query()
	if q.AgentID != nil {
		matching.Where(phonenumber.AgentID(*q.AgentID))
	}
	p.Numbers, err = matching.Clone().
		Order(phonenumber.ByCreatedAt(sql.OrderDesc()), phonenumber.ByID(sql.OrderDesc())).
		Offset(q.Offset).Limit(p.Limit).All(ctx)
	if err != nil {
		return p, fmt.Errorf("list phone numbers: %w", err)
	}
	p.Total, err = store.Total(ctx, q.Offset, p.Limit, len(p.Numbers), matching.Count)
	return p, err
}

// OutboundNumber is the number that an agent's calls leave by: its oldest one for outbound calls.
func OutboundNumber(ctx context.Context, c *ent.Client, agentID uuid.UUID) (string, bool, error) {
	n, err := c.PhoneNumber.Query().Where(phonenumber.AgentID(agentID), phonenumber.Outbound(true)).
		Order(phonenumber.ByCreatedAt(), phonenumber.ByID()).First(ctx)
	if ent.IsNotFound(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read the outbound number: %w", err)
	}
	return n.Number, true, nil
}

// OwnNumbers are all numbers of the workspace in ctx.
func OwnNumbers(ctx context.Context, c *ent.Client) ([]string, error) {
	rows, err := c.PhoneNumber.Query().Select(phonenumber.FieldNumber).Limit(1000).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the workspace's numbers: %w", err)
	}
	numbers := make([]string, len(rows))
	for i, r := range rows {
		numbers[i] = r.Number
	}
	return numbers, nil
}

// InboundNumber finds the number that was called, with ctx of store.System: who calls us names no workspace. When
// several workspaces have entered the same number, the first to do so is meant. phone_number_not_found when no
// workspace takes calls for it.
func InboundNumber(ctx context.Context, c *ent.Client, number string) (*ent.PhoneNumber, error) {
	if canonical, err := phone.Parse(number); err == nil {
		number = canonical
	}
	return foundNumber(c.PhoneNumber.Query().
		Where(phonenumber.Number(number), phonenumber.Inbound(true), phonenumber.AgentIDNotNil()).
		Order(phonenumber.ByCreatedAt(), phonenumber.ByID()).First(ctx))
}
