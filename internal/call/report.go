package call

import (
	"context"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// UsageReport is what is left of a workspace's plan. spec: Usage report.
type UsageReport struct {
	Plan identity.Plan
	// Windows are empty when the plan is not limited.
	Windows []WindowUse
}

// Report reads the plan of the workspace in ctx and how far its windows are used. spec: Usage, GET /v1/usage.
func Report(ctx context.Context, c *ent.Client, now time.Time) (r UsageReport, err error) {
	workspace, ok := store.Workspace(ctx)
	if !ok {
		return r, store.ErrNoWorkspace
	}
	if r.Plan, err = identity.PlanOf(ctx, c, workspace); err != nil || !r.Plan.Limited {
		return r, err
	}
	r.Windows, err = Usage(ctx, c, r.Plan, now)
	return r, err
}
