package identity

import (
	"context"
	"strings"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/pairing"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// codeBounds limit wrong codes: 5 for a person and 10 for an address in 15 minutes, and 300 a minute in all. Beyond the
// last a person's first code of those 15 minutes still passes, so that an attack by many does not lock out who has a
// right code at hand.
//
// A code has 39 bits. Even 1,000 people guessing at these limits, at 1,000 codes that are alive, find one with less than
// 1 in 100,000 while those live.
var codeBounds = []bound{
	{n: 5, span: 15 * time.Minute, by: byActor},
	{n: 10, span: 15 * time.Minute, by: byAddress},
	{n: 300, span: time.Minute, by: byAll, spare: true},
}

// readCode reads a code as people type it: in any case, with or without hyphen and spaces. Empty when it can be none.
func readCode(typed string) string {
	code := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-‐‑–— \t\u00a0", r) {
			return -1
		}
		return r
	}, strings.ToUpper(typed))
	if len(code) != codeLength || strings.Trim(code, codeAlphabet) != "" {
		return ""
	}
	return code
}

// ShowCode is the user code of a row as people see it.
func ShowCode(row *ent.Pairing) string { return showCode(row.UserCode) }

// LookUpPairing tells a person what a code asks for. A wrong code is pairing_not_found, too many of them rate_limited.
func (i *Identity) LookUpPairing(ctx context.Context, userCode string) (*ent.Pairing, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	code := readCode(userCode)
	if code == "" {
		return nil, errPairing // can not be right, so it tells nothing about those that are
	}
	id, err := i.admit(ctx, try{"pairing_code", p.UserID.String(), originOf(ctx)}, codeBounds)
	if err != nil {
		return nil, err
	}
	now := i.now()
	row, err := i.db.Ent().Pairing.Query().
		Where(pairing.UserCode(code), pairing.ExpiresAtGT(now.Add(-pairingKept))).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, errPairing
	}
	i.forgive(ctx, id)
	if err != nil {
		return nil, err
	}
	if (row.State == PairingPending || row.State == PairingApproved) && !now.Before(row.ExpiresAt) {
		row.State = PairingExpired // the move is made by whoever writes
	}
	return row, nil
}

// DecidePairing approves or denies a pairing for the caller's workspace; viewers may not. A wrong code is as in
// LookUpPairing, one that is too old pairing_expired, one that somebody decided before pairing_decided.
func (i *Identity) DecidePairing(ctx context.Context, userCode string, approve bool) (*ent.Pairing, error) {
	p, err := writer(ctx)
	if err != nil {
		return nil, err
	}
	found, err := i.LookUpPairing(ctx, userCode)
	if err != nil {
		return nil, err
	}
	var row *ent.Pairing
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		up := tx.Pairing.Update().
			Where(pairing.ID(found.ID), pairing.State(PairingPending), pairing.ExpiresAtGT(i.now())).
			SetDecidedBy(*p.UserID)
		action := "pairing_denied"
		if approve {
			up.SetState(PairingApproved).SetWorkspaceID(p.WorkspaceID)
			action = "pairing_approved"
		} else {
			up.SetState(PairingDenied)
		}
		n, err := up.Save(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			return tooLate(ctx, tx, found, i.now())
		}
		if row, err = tx.Pairing.Get(ctx, found.ID); err != nil {
			return err
		}
		name := row.ClientName
		if name == "" {
			name = unnamed
		}
		return i.note(ctx, tx, p.WorkspaceID, event{Action: action, Subject: name})
	})
	return row, err
}

// tooLate says why a pairing can not be decided any more.
func tooLate(ctx context.Context, tx *store.Tx, row *ent.Pairing, now time.Time) error {
	row, err := tx.Pairing.Get(ctx, row.ID)
	if err != nil {
		return err
	}
	if row.State == PairingExpired || row.State == PairingPending || row.State == PairingApproved && !now.Before(row.ExpiresAt) {
		return fault.New(fault.Conflict, "pairing_expired", "this code is too old: let the assistant ask for a new one")
	}
	return fault.New(fault.Conflict, "pairing_decided", "this code was approved or denied already")
}
