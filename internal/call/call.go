// Package call keeps the record of a call from the request to its end: who may be called, when it is a call's turn,
// where it stands, how it ended, and what is kept of it.
//
// # Statuses
//
// The table in status.go is the whole machine (CONTRACT.md §2). A call is placed as queued, claimed as dialing, answered
// into in-progress, and ends once: what was written first stays, later endings are [ErrEnded]. The one way back is a
// late answer of the carrier, within 30 seconds after no-answer or failed.
//
// # At most once
//
// Nobody is rung twice. [Claim] commits dialing before anybody dials, and no call returns to queued: a process that dies
// with a claimed call leaves a lease that runs out, [Orphans] finds it, and the call ends failed. Losing a call is
// preferred to repeating it.
//
// # Slots and leases
//
// A call holds a slot of the plan while it is in_flight with a live lease; inbound calls hold one too, and are never
// refused. The process that holds calls renews their leases ([Renew]) and learns from it who wants them ended and which
// it has lost.
//
// # Locks
//
// The workspace's row of call_counts is the lock of everything that counts: placing, claiming, ending, canceling and
// deleting calls of a workspace follow each other. It is taken first; then calls, then the rest. Therefore windows are
// exact, slots are never given twice, and an ending that frees a slot sees every call that waits for it: no Dial job is
// missing. Reads and the progress of a single call (leases, turns, leg) do not take it.
//
// # Time
//
// created_at is in milliseconds, as the API shows it, so that filters by a time that a client has read mean that call.
package call

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/ent/turn"
	"github.com/callwright/callwright/internal/fault"
)

// ErrEnded says that a call has ended already, or is not in flight any more: what came is too late and changed nothing.
var ErrEnded = errors.New("call: it has ended already")

// Get reads a call; call_not_found when the workspace has none with this id.
func Get(ctx context.Context, c *ent.Client, id uuid.UUID) (*ent.Call, error) {
	return found(c.Call.Query().Where(call.ID(id)).Only(ctx))
}

func found(c *ent.Call, err error) (*ent.Call, error) {
	if ent.IsNotFound(err) {
		return nil, fault.Missing("call")
	}
	return c, err
}

// RedactionHIPAA is why content of a HIPAA workspace is withheld (spec: Tool server, redaction_reason).
const RedactionHIPAA = "hipaa"

// Redaction is why the contents of a workspace's calls are withheld from everybody; empty when they are not.
func Redaction(ctx context.Context, c *ent.Client, workspace uuid.UUID) (string, error) {
	w, err := c.Workspace.Get(ctx, workspace)
	if err != nil {
		return "", fmt.Errorf("read the workspace: %w", err)
	}
	if w.Hipaa {
		return RedactionHIPAA, nil
	}
	return "", nil
}

// Turns reads what was said and done in a call, in order; nothing when the workspace's content is redacted.
func Turns(ctx context.Context, c *ent.Client, id uuid.UUID) ([]*ent.Turn, error) {
	row, err := Get(ctx, c, id)
	if err != nil {
		return nil, err
	}
	switch redacted, err := Redaction(ctx, c, row.WorkspaceID); {
	case err != nil:
		return nil, err
	case redacted != "":
		return nil, nil
	}
	return said(ctx, c, row)
}

// Said is Turns without the redaction: for what concludes a call, and for webhooks whose action asks for it
// (CONTRACT.md §2, HIPAA workspaces). Nothing of it may be shown or logged.
func Said(ctx context.Context, c *ent.Client, id uuid.UUID) ([]*ent.Turn, error) {
	row, err := Get(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return said(ctx, c, row)
}

func said(ctx context.Context, c *ent.Client, row *ent.Call) ([]*ent.Turn, error) {
	turns, err := c.Turn.Query().Where(turn.WorkspaceID(row.WorkspaceID), turn.CallID(row.ID)).Order(turn.BySeq()).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the turns of call %s: %w", row.ID, err)
	}
	return turns, nil
}

// Roles of a turn (spec: Webhook payload, transcript_object).
const (
	RoleAgent          = "agent"
	RoleUser           = "user"
	RoleFunctionCall   = "function_call"
	RoleFunctionResult = "function_result"
)

// Transcript is one "role: content" line for each thing said, without function entries; empty when nothing was said.
func Transcript(turns []*ent.Turn) string {
	var lines []string
	for _, t := range turns {
		if t.Role == RoleAgent || t.Role == RoleUser {
			// A line is a turn: the content's own line breaks would look like turns without a role.
			lines = append(lines, t.Role+": "+strings.Join(strings.Fields(t.Content), " "))
		}
	}
	return strings.Join(lines, "\n")
}

// Latency are the measured times of a conversation, in milliseconds.
type Latency struct {
	// GreetingMS is from the answer to the agent's first sound.
	GreetingMS *int `json:"greeting_ms,omitempty"`
	// TurnP50MS is the median time from the end of the caller's words to the first sound of the reply.
	TurnP50MS *int `json:"turn_p50_ms,omitempty"`
	// TurnMaxMS is the slowest of them.
	TurnMaxMS *int `json:"turn_max_ms,omitempty"`
}
