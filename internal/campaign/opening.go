package campaign

import (
	"context"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/policy"
)

// openings tell when somebody may be called; numbers of the same place share an answer.
type openings struct {
	rules   policy.Rules
	request policy.Request
	known   map[string]time.Time
	asked   time.Time
}

func newOpenings(ctx context.Context, c *ent.Client, row *ent.Campaign, s Schedule) (*openings, error) {
	o := &openings{known: map[string]time.Time{}}
	w, err := c.Workspace.Get(ctx, row.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if o.rules, err = policy.ParseRules(w.Policy); err != nil {
		return nil, err
	}
	if row.AgentID != nil {
		a, err := agent.Get(ctx, c, *row.AgentID)
		if err != nil && !fault.Is(err, "agent_not_found") {
			return nil, err
		}
		if a != nil {
			settings, err := agent.SettingsOf(a)
			if err != nil {
				return nil, err
			}
			if settings.Timezone != nil {
				o.request.Fallback = append(o.request.Fallback, *settings.Timezone)
			}
		}
	}
	if w.Timezone != "UTC" { // what a workspace has that never set one
		o.request.Fallback = append(o.request.Fallback, w.Timezone)
	}
	return o, s.Bind(&o.request)
}

// from is the earliest instant from t on at which the number may be called; t itself when there is none, so that the
// decision at that time says why.
func (o *openings) from(t time.Time, number string) (time.Time, error) {
	if !t.Equal(o.asked) {
		clear(o.known)
		o.asked = t
	}
	key := joined(policy.ZonesOf(number, o.request.FixedZone, o.request.Fallback))
	if at, ok := o.known[key]; ok {
		return at, nil
	}
	r := o.request
	r.To, r.Now = number, t
	at, ok, err := policy.Opening(o.rules, r)
	if !ok {
		at = t
	}
	o.known[key] = at
	return at, err
}
