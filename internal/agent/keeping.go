package agent

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/agent"
)

// HIPAACompliant says which of the agents are flagged is_hipaa_compliant; those that are gone are not.
func HIPAACompliant(ctx context.Context, c *ent.Client, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	flagged := map[uuid.UUID]bool{}
	if len(ids) == 0 {
		return flagged, nil
	}
	rows, err := c.Agent.Query().Where(agent.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read agents: %w", err)
	}
	for _, a := range rows {
		s, err := SettingsOf(a)
		if err != nil {
			return nil, err
		}
		flagged[a.ID] = s.IsHIPAACompliant != nil && *s.IsHIPAACompliant
	}
	return flagged, nil
}

// Keeping is what an agent says about how long content of its calls is kept.
type Keeping struct {
	WorkspaceID, AgentID uuid.UUID
	// HIPAA is is_hipaa_compliant.
	HIPAA bool
	// Days are the retention_period; nil without one.
	Days *int
}

// EachKeeping gives f all agents of all workspaces that do not keep content forever. ctx is store.System's.
func EachKeeping(ctx context.Context, c *ent.Client, f func(Keeping) error) error {
	const batch = 500
	var after uuid.UUID
	for {
		rows, err := c.Agent.Query().Where(agent.IDGT(after)).Order(agent.ByID()).Limit(batch).All(ctx)
		if err != nil {
			return fmt.Errorf("read agents: %w", err)
		}
		for _, a := range rows {
			s, err := SettingsOf(a)
			if err != nil {
				return err
			}
			k := Keeping{a.WorkspaceID, a.ID, s.IsHIPAACompliant != nil && *s.IsHIPAACompliant, s.RetentionPeriod}
			if !k.HIPAA && k.Days == nil {
				continue
			}
			if err := f(k); err != nil {
				return err
			}
		}
		if len(rows) < batch {
			return nil
		}
		after = rows[len(rows)-1].ID
	}
}
