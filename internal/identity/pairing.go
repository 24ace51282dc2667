package identity

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/apikey"
	"github.com/callwright/callwright/ent/pairing"
	"github.com/callwright/callwright/ent/user"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// The states of a pairing (CONTRACT.md §2, Pairing). Each move is one conditional update:
//
//	pending  → approved   a person with the code agrees, in time
//	pending  → denied     the same refuses
//	approved → completed  the client claims its key, in time
//	pending, approved → expired
//
// completed stays, also when a key is claimed again because the answer with the first one got lost.
const (
	PairingPending   = "pending"
	PairingApproved  = "approved"
	PairingCompleted = "completed"
	PairingDenied    = "denied"
	PairingExpired   = "expired"
)

const (
	// pollInterval is the first wait between polls in seconds. Each poll that comes too fast adds pollStep to the
	// pairing's own, up to pollSlowest (RFC 8628 §3.5).
	pollInterval = 5
	pollStep     = 5
	pollSlowest  = 30
	pollGrace    = time.Second
	// pairingKept is how long a pairing that is over is answered for.
	pairingKept = 24 * time.Hour
	// reclaim is how long after the first claim an unused key can be claimed again.
	reclaim = 120 * time.Second
	// startSpan is what PairingStarts counts over.
	startSpan = 10 * time.Minute
)

// codeAlphabet are the letters of user codes: none that is read as another one. 30 of them make 39 bits with 8.
const (
	codeAlphabet = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
	codeLength   = 8
)

// Started is a pairing that has just begun. The device code is shown this once.
type Started struct {
	DeviceCode, UserCode string
	// VerificationURL is a path when Config has no PublicURL.
	VerificationURL, VerificationURLComplete string
	ExpiresIn, Interval                      int // seconds
}

// StartPairing begins a pairing. A client name of more than 64 characters is validation_failed, too many starts from one
// address rate_limited. prefill may be any JSON or none; it is only in the answer.
func (i *Identity) StartPairing(ctx context.Context, clientName string, prefill json.RawMessage) (Started, error) {
	ctx = store.System(ctx)
	name, err := text("client_name", clientName, 0, 64)
	if err != nil {
		return Started{}, err
	}
	if i.pairingStarts > 0 {
		from := try{kind: "pairing_start", address: originOf(ctx)}
		if _, err := i.admit(ctx, from, []bound{{n: i.pairingStarts, span: startSpan, by: byAddress}}); err != nil {
			return Started{}, err
		}
	}
	random := make([]byte, 32)
	rand.Read(random) // never fails: crypto/rand
	device := base64.RawURLEncoding.EncodeToString(random)
	code, err := i.addPairing(ctx, device, name)
	if err != nil {
		return Started{}, err
	}
	s := Started{
		DeviceCode: device, UserCode: showCode(code), VerificationURL: i.public + "/pair",
		ExpiresIn: int(i.pairingLifetime / time.Second), Interval: pollInterval,
	}
	s.VerificationURLComplete = s.VerificationURL + "?code=" + s.UserCode
	if f := fragment(prefill); f != "" {
		s.VerificationURLComplete += "#" + f
	}
	return s, nil
}

// addPairing makes the row under a code that no other has.
func (i *Identity) addPairing(ctx context.Context, device, name string) (code string, err error) {
	now := i.now()
	for range 5 {
		code = newCode()
		err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.Pairing.Create().
				SetDeviceHash(digest(device)).
				SetUserCode(code).
				SetClientName(name).
				SetAddress(originOf(ctx)).
				SetInterval(pollInterval).
				SetCreatedAt(now).
				SetExpiresAt(now.Add(i.pairingLifetime)).
				Exec(ctx)
		})
		if !store.IsUnique(err) {
			break
		}
	}
	return code, err
}

func newCode() string {
	code, b := make([]byte, 0, codeLength), make([]byte, 1)
	for len(code) < codeLength {
		rand.Read(b)
		if n := int(b[0]); n < 256/len(codeAlphabet)*len(codeAlphabet) { // else the first letters come more often
			code = append(code, codeAlphabet[n%len(codeAlphabet)])
		}
	}
	return string(code)
}

// showCode is a code as people see it.
func showCode(code string) string { return code[:codeLength/2] + "-" + code[codeLength/2:] }

// Poll is how a pairing stands, as its client sees it.
type Poll struct {
	// State is pending, completed, denied or expired.
	State string
	// ExpiresIn and Interval are seconds; while pending.
	ExpiresIn, Interval int
	// Key and Workspace are there when completed. The key's secret is shown this once.
	Key       Minted
	Workspace *ent.Workspace
	// BaseURL and MCPURL are paths when Config has no PublicURL.
	BaseURL, MCPURL string
}

var (
	errPairing = fault.Missing("pairing")
	errClaimed = fault.New(fault.Gone, "pairing_already_claimed", "the API key of this pairing was given already")
)

// PollPairing tells the client of a device code how its pairing stands, and gives it its key when it was approved
// (CONTRACT.md §2, Pairing). Unknown codes are pairing_not_found, polls that come too fast slow_down, a key that was
// claimed pairing_already_claimed.
//
// Only a pending pairing is slowed down (RFC 8628 §3.5 calls it a variant of "pending"): an answer that ends the polling
// is not held back.
func (i *Identity) PollPairing(ctx context.Context, deviceCode string) (p Poll, err error) {
	if deviceCode == "" {
		return p, fault.Invalidf("device_code must not be empty")
	}
	var refused error // is committed with what it has changed
	err = i.db.InTx(store.System(ctx), func(ctx context.Context, tx *store.Tx) (err error) {
		q := tx.Pairing.Query().Where(pairing.DeviceHash(digest(deviceCode)))
		q.Modify(store.ForUpdate)
		row, err := q.Only(ctx)
		if ent.IsNotFound(err) {
			return errPairing
		}
		if err != nil {
			return err
		}
		p, refused, err = i.poll(ctx, tx, row)
		return err
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return Poll{}, err
	}
	return p, nil
}

// poll answers for a locked row.
func (i *Identity) poll(ctx context.Context, tx *store.Tx, row *ent.Pairing) (p Poll, refused, err error) {
	now := i.now()
	if !now.Before(row.ExpiresAt.Add(pairingKept)) {
		return p, nil, errPairing
	}
	state := row.State
	if (state == PairingPending || state == PairingApproved) && !now.Before(row.ExpiresAt) {
		if err := i.move(ctx, tx, row, state, PairingExpired); err != nil {
			return p, nil, err
		}
		state = PairingExpired
	}
	switch state {
	case PairingPending:
		return i.pollPending(ctx, tx, row, now)
	case PairingApproved:
		p, err = i.claim(ctx, tx, row, now)
	case PairingCompleted:
		return i.claimAgain(ctx, tx, row, now)
	default:
		p = Poll{State: state}
	}
	return p, nil, err
}

// move is a move between two states that takes nothing else along.
func (i *Identity) move(ctx context.Context, tx *store.Tx, row *ent.Pairing, from, to string) error {
	n, err := tx.Pairing.Update().Where(pairing.ID(row.ID), pairing.State(from)).SetState(to).Save(ctx)
	if err == nil && n != 1 {
		err = fmt.Errorf("pairing %s is not %s any more", row.ID, from) // the row is locked
	}
	return err
}

func (i *Identity) pollPending(ctx context.Context, tx *store.Tx, row *ent.Pairing, now time.Time) (p Poll, refused, err error) {
	interval := row.Interval
	if row.PolledAt != nil && now.Sub(*row.PolledAt) < time.Duration(interval)*time.Second-pollGrace {
		interval = min(interval+pollStep, pollSlowest)
		slow := fault.New(fault.TooMany, "slow_down", "poll at most every %d seconds", interval).With("interval", interval)
		slow.RetryAfter = time.Duration(interval) * time.Second
		refused = slow
	}
	err = tx.Pairing.Update().Where(pairing.ID(row.ID), pairing.State(PairingPending)).
		SetInterval(interval).SetPolledAt(now).Exec(ctx)
	left := int(math.Ceil(row.ExpiresAt.Sub(now).Seconds()))
	return Poll{State: PairingPending, ExpiresIn: left, Interval: interval}, refused, err
}

// claim makes the key: before that there is none, so that only its digest is ever stored. Who approved must still be
// somebody who may: an approval does not outlive its giver's membership.
func (i *Identity) claim(ctx context.Context, tx *store.Tx, row *ent.Pairing, now time.Time) (Poll, error) {
	may, err := tx.User.Query().Where(user.ID(*row.DecidedBy), user.WorkspaceID(*row.WorkspaceID)).Only(ctx)
	if err != nil && !ent.IsNotFound(err) {
		return Poll{}, err
	}
	if err != nil || !(Principal{UserID: &may.ID, Role: may.Role}).Allows(ScopeWrite) {
		return Poll{State: PairingExpired}, i.move(ctx, tx, row, PairingApproved, PairingExpired)
	}
	p, err := i.mintPaired(ctx, tx, row)
	if err != nil {
		return Poll{}, err
	}
	n, err := tx.Pairing.Update().Where(pairing.ID(row.ID), pairing.State(PairingApproved)).
		SetState(PairingCompleted).SetKeyID(p.Key.Row.ID).SetClaimedAt(now).Save(ctx)
	if err == nil && n != 1 {
		err = fmt.Errorf("pairing %s is not approved any more", row.ID) // the row is locked
	}
	return p, err
}

// claimAgain gives another key in place of one that nobody has used, in case its answer got lost; the first one dies in
// the same transaction.
func (i *Identity) claimAgain(ctx context.Context, tx *store.Tx, row *ent.Pairing, now time.Time) (p Poll, refused, err error) {
	if now.Sub(*row.ClaimedAt) > reclaim {
		return p, errClaimed, nil
	}
	n, err := tx.APIKey.Delete().Where(apikey.ID(*row.KeyID), apikey.LastUsedAtIsNil()).Exec(ctx)
	if err != nil {
		return p, nil, err
	}
	if n == 0 { // used, or deleted by its owner
		return p, errClaimed, nil
	}
	if p, err = i.mintPaired(ctx, tx, row); err != nil {
		return p, nil, err
	}
	err = tx.Pairing.Update().Where(pairing.ID(row.ID), pairing.KeyID(*row.KeyID)).SetKeyID(p.Key.Row.ID).Exec(ctx)
	return p, nil, err
}

// unnamed is what a client without a name is called.
const unnamed = "Paired assistant"

func (i *Identity) mintPaired(ctx context.Context, tx *store.Tx, row *ent.Pairing) (Poll, error) {
	w, err := tx.Workspace.Get(ctx, *row.WorkspaceID)
	if err != nil {
		return Poll{}, err
	}
	name := row.ClientName
	if name == "" {
		name = unnamed
	}
	p := Poll{State: PairingCompleted, Workspace: w, BaseURL: i.public, MCPURL: i.public + "/mcp"}
	if i.public == "" {
		p.BaseURL = "/"
	}
	p.Key, err = mintKey(ctx, tx, w.ID, NewKey{Name: name, Source: "pairing", CreatedBy: row.DecidedBy})
	if err != nil {
		return Poll{}, err
	}
	return p, i.note(ctx, tx, w.ID, event{Action: "pairing_claimed", Subject: name})
}
