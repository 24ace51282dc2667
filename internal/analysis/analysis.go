// Package analysis keeps what was concluded after a call, and the call tags, the workspace's labels for it.
//
// An analysis refers to at most one tag. A tag's row is locked while it is deleted and the reference is a foreign key, so
// that no association is lost: a reference that comes at the same time is counted, or finds no tag.
package analysis

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/callanalysis"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
)

// Of is the analysis of a call as everybody may see it; nil while there is none. A row without analyzed_at only carries a
// tag. Of a redacted call the tag is all that is shown.
func Of(ctx context.Context, c *ent.Client, row *ent.Call) (*ent.CallAnalysis, error) {
	a, err := Whole(ctx, c, row.ID)
	if a == nil || err != nil {
		return nil, err
	}
	redacted, err := call.Redaction(ctx, c, row)
	if err != nil {
		return nil, err
	}
	if redacted != "" {
		a.Summary, a.Personalized, a.Checks, a.Extracted = nil, nil, nil, nil
	}
	return a, nil
}

// Whole is Of without the redaction: for webhooks whose action asks for it (CONTRACT.md §2, HIPAA workspaces). Nothing of
// it may be shown or logged.
func Whole(ctx context.Context, c *ent.Client, callID uuid.UUID) (*ent.CallAnalysis, error) {
	row, err := c.CallAnalysis.Query().Where(callanalysis.CallID(callID)).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the analysis of call %s: %w", callID, err)
	}
	return row, nil
}

// Summaries are the summaries of those of the calls that have one and are not redacted; redacted says why not, as
// call.RedactionsOf tells it.
func Summaries(ctx context.Context, c *ent.Client, redacted map[uuid.UUID]string, calls ...*ent.Call) (map[uuid.UUID]string, error) {
	var ids []uuid.UUID
	for _, row := range calls {
		if redacted[row.ID] == "" {
			ids = append(ids, row.ID)
		}
	}
	out := map[uuid.UUID]string{}
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := c.CallAnalysis.Query().Where(callanalysis.CallIDIn(ids...), callanalysis.SummaryNotNil()).
		Select(callanalysis.FieldCallID, callanalysis.FieldSummary).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read summaries: %w", err)
	}
	for _, a := range rows {
		out[a.CallID] = *a.Summary
	}
	return out, nil
}

// Erase deletes what was concluded of calls; their tags stay.
func Erase(ctx context.Context, tx *store.Tx, calls []uuid.UUID) error {
	err := tx.CallAnalysis.Update().Where(callanalysis.CallIDIn(calls...)).
		ClearSummary().ClearPersonalized().ClearChecks().ClearExtracted().SetUpdatedAt(store.Now()).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete analyses: %w", err)
	}
	return nil
}
