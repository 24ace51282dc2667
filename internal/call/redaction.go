package call

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/ent/turn"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/store"
)

// RedactionHIPAA is why content under HIPAA is withheld (spec: Tool server, redaction_reason).
const RedactionHIPAA = "hipaa"

// RedactionsOf says for each of the calls of one workspace why what was said, concluded and recorded of it is withheld
// from everybody; calls that are not in the result show theirs. A call is redacted when its workspace or its agent is
// flagged now, or was when the content was erased. CONTRACT.md §2, HIPAA workspaces; spec: Tool server.
func RedactionsOf(ctx context.Context, c *ent.Client, rows ...*ent.Call) (map[uuid.UUID]string, error) {
	out := map[uuid.UUID]string{}
	if len(rows) == 0 {
		return out, nil
	}
	w, err := c.Workspace.Get(ctx, rows[0].WorkspaceID)
	if err != nil {
		return nil, fmt.Errorf("read the workspace: %w", err)
	}
	agents := map[uuid.UUID]bool{}
	if !w.Hipaa {
		ctx := store.WithWorkspace(ctx, w.ID)
		if agents, err = agent.HIPAACompliant(ctx, c, agentsOf(rows)); err != nil {
			return nil, err
		}
	}
	for _, row := range rows {
		switch {
		case w.Hipaa, row.AgentID != nil && agents[*row.AgentID], row.ErasedFor != nil && *row.ErasedFor == RedactionHIPAA:
			out[row.ID] = RedactionHIPAA
		}
	}
	return out, nil
}

// RedactionsByID is RedactionsOf for calls of the context's workspace that only their ids are known of.
func RedactionsByID(ctx context.Context, c *ent.Client, ids ...uuid.UUID) (map[uuid.UUID]string, error) {
	rows, err := c.Call.Query().Where(call.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read calls: %w", err)
	}
	return RedactionsOf(ctx, c, rows...)
}

func agentsOf(rows []*ent.Call) (ids []uuid.UUID) {
	seen := map[uuid.UUID]bool{}
	for _, row := range rows {
		if row.AgentID != nil && !seen[*row.AgentID] {
			seen[*row.AgentID] = true
			ids = append(ids, *row.AgentID)
		}
	}
	return ids
}

// Redaction is RedactionsOf for one call; empty when its content is shown.
func Redaction(ctx context.Context, c *ent.Client, row *ent.Call) (string, error) {
	all, err := RedactionsOf(ctx, c, row)
	return all[row.ID], err
}

// Turns reads what was said and done in a call, in order; nothing when the call's content is redacted.
func Turns(ctx context.Context, c *ent.Client, id uuid.UUID) ([]*ent.Turn, error) {
	row, err := Get(ctx, c, id)
	if err != nil {
		return nil, err
	}
	switch redacted, err := Redaction(ctx, c, row); {
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
