package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/callcount"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/phone"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
)

// SandboxNumber is what a sandbox call leaves by when its agent has no number of its own (CONTRACT.md §2, Dial policy).
const SandboxNumber = "+15005550000"

// Request is a call to place.
type Request struct {
	// To is E.164.
	To      string
	AgentID uuid.UUID
	// Variables fill {{var.KEY}}; see CheckVariables.
	Variables map[string]string
	// Metadata is a JSON object of up to 4096 bytes that comes back on the call. Empty is {}.
	Metadata json.RawMessage
	// Test is a test conversation, always on the sandbox carrier.
	Test bool
	// Line is where it would leave by.
	Line Line
	// ContactID and CampaignID belong to the workspace; the caller has seen to that.
	ContactID, CampaignID *uuid.UUID
}

// Dial is the job "this workspace may have calls to dial": its worker claims calls until there are none.
type Dial struct {
	WorkspaceID uuid.UUID `json:"workspace_id"`
}

// Kind is the job's name in the queue.
func (Dial) Kind() string { return "call_dial" }

// Ended is the job "this call has ended": it is enqueued in the transaction that ends the call. Its worker analyses.
type Ended struct {
	WorkspaceID uuid.UUID `json:"workspace_id"`
	CallID      uuid.UUID `json:"call_id"`
}

// Kind is the job's name in the queue.
func (Ended) Kind() string { return "call_ended" }

// QueueAfter is the queue of what follows a call.
const QueueAfter = "after"

// QueueVoice is the queue of jobs for processes that hold calls.
const QueueVoice = "voice"

// Place accepts an outbound call of the workspace in ctx: the row, queued, and a Dial job are committed together. It is
// accepted also when all slots of the plan are taken; then it waits. A call that the policy refuses is accepted too, and
// has ended blocked.
//
// Errors: validation_failed (to, metadata, an agent that does not speak), invalid_variables, agent_not_found,
// agent_inactive (409: an agent that is inactive or a draft takes only test conversations), usage_limit_reached (429,
// details.key and details.resets_at; no record is left).
func Place(ctx context.Context, db *store.DB, r Request) (*ent.Call, error) {
	to, err := phone.Parse(r.To)
	if err != nil {
		return nil, fault.Invalidf("to %s", err)
	}
	if err := CheckVariables(r.Variables); err != nil {
		return nil, err
	}
	metadata, err := checkMetadata(r.Metadata)
	if err != nil {
		return nil, err
	}
	workspace, ok := store.Workspace(ctx)
	if !ok {
		return nil, store.ErrNoWorkspace
	}
	id := store.NewID()
	var c *ent.Call
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		a, err := callable(ctx, tx.Client, r)
		if err != nil {
			return err
		}
		if err := count(ctx, tx, workspace, 1, r.Test); err != nil { // the lock, see the package's comment
			return err
		}
		now := createdAt()
		if err := admit(ctx, tx.Client, workspace, a, now); err != nil {
			return err
		}
		from, err := r.Line.leavesBy(ctx, tx.Client, r.AgentID, r.Test)
		if err != nil {
			return err
		}
		create := tx.Call.Create().SetID(id).SetDirection(DirectionOutbound).SetStatus(string(StatusQueued)).
			SetToNumber(to).SetFromNumber(from).SetAgentID(r.AgentID).SetMetadata(metadata).SetTest(r.Test).
			SetNillableContactID(r.ContactID).SetNillableCampaignID(r.CampaignID).SetCreatedAt(now).SetUpdatedAt(now).SetQueuedAt(now)
		if len(r.Variables) > 0 {
			create.SetVariables(r.Variables)
		}
		if c, err = create.Save(ctx); err != nil {
			return fmt.Errorf("create the call: %w", err)
		}
		c, err = r.Line.admitted(ctx, tx, c, now)
		return err
	})
	if errors.Is(err, store.ErrCommitUnknown) {
		if c, lookup := Get(ctx, db.Ent(), id); lookup == nil {
			return c, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// admitted asks the policy about a new call: it waits for its turn, or ends blocked.
func (l Line) admitted(ctx context.Context, tx *store.Tx, c *ent.Call, now time.Time) (*ent.Call, error) {
	d, err := l.decide(ctx, tx.Client, c, now, false)
	if err != nil {
		return nil, err
	}
	if err := policy.Record(ctx, tx, c.ID, d); err != nil {
		return nil, err
	}
	if !d.Allowed {
		return refused(ctx, tx, c, d)
	}
	return c, enqueueDial(ctx, tx, c.WorkspaceID)
}

// createdAt is the time of a new call: see Time in the package's comment.
func createdAt() time.Time { return store.Now().Truncate(time.Millisecond) }

// callable reads the agent and refuses one that can not hold this call. Drafts and inactive agents can be tried out.
func callable(ctx context.Context, c *ent.Client, r Request) (*ent.Agent, error) {
	a, err := agent.Get(ctx, c, r.AgentID)
	switch {
	case err != nil:
		return nil, err
	case a.Modality != agent.ModalityVoice:
		return nil, fault.Invalidf("agent_id: the agent's modality is %s; calls need one of modality voice", a.Modality)
	case a.Status != agent.StatusActive && !r.Test:
		return nil, errInactive(a)
	}
	return a, nil
}

func errInactive(a *ent.Agent) error {
	return fault.New(fault.Conflict, "agent_inactive",
		"The agent's status is %s: it takes test conversations only. Make it active to let it call.", a.Status)
}

// leavesBy is the number of a call: its agent's outbound one, else the trunk's; on the sandbox, where test conversations
// always are, SandboxNumber.
func (l Line) leavesBy(ctx context.Context, c *ent.Client, agentID uuid.UUID, test bool) (string, error) {
	number, ok, err := agent.OutboundNumber(ctx, c, agentID)
	switch {
	case err != nil || ok:
		return number, err
	case l.From == "" || test:
		return SandboxNumber, nil
	}
	return l.From, nil
}

// count changes how many calls the workspace has and with that takes its lock until the transaction ends.
func count(ctx context.Context, tx *store.Tx, workspace uuid.UUID, by int64, test bool) error {
	tests := int64(0)
	if test {
		tests = by
	}
	err := tx.CallCount.Create().SetWorkspaceID(workspace).SetTotal(by).SetTest(tests).
		OnConflictColumns(callcount.FieldWorkspaceID).
		Update(func(u *ent.CallCountUpsert) { u.AddTotal(by).AddTest(tests) }).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("count calls: %w", err)
	}
	if by > 0 && rand.IntN(sweepSpans) == 0 {
		return forgetSpans(ctx, tx, workspace, store.Now())
	}
	return nil
}

// lock takes the lock of a workspace that has calls, without changing anything.
func lock(ctx context.Context, tx *store.Tx, workspace uuid.UUID) error {
	err := count(ctx, tx, workspace, 0, false)
	if store.IsForeignKey(err) {
		return fault.Missing("workspace").Wrap(err)
	}
	return err
}

func enqueueDial(ctx context.Context, tx *store.Tx, workspace uuid.UUID) error {
	return tx.Enqueue(ctx, Dial{WorkspaceID: workspace}, &river.InsertOpts{Queue: QueueVoice})
}

func enqueueEnded(ctx context.Context, tx *store.Tx, c *ent.Call) error {
	return tx.Enqueue(ctx, Ended{WorkspaceID: c.WorkspaceID, CallID: c.ID}, &river.InsertOpts{Queue: QueueAfter, MaxAttempts: 25})
}

// total is how many calls the workspace of ctx has, tests among them; it is kept, not counted.
func total(ctx context.Context, c *ent.Client) (int64, error) {
	n, err := c.CallCount.Query().Only(ctx)
	if ent.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the number of calls: %w", err)
	}
	return n.Total, nil
}
