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
)

// Of is the analysis of a call; nil while there is none. A row without analyzed_at only carries a tag.
func Of(ctx context.Context, c *ent.Client, callID uuid.UUID) (*ent.CallAnalysis, error) {
	row, err := c.CallAnalysis.Query().Where(callanalysis.CallID(callID)).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the analysis of call %s: %w", callID, err)
	}
	return row, nil
}
