package call

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
)

// Line is where the calls of this installation leave by. The zero value is the sandbox, which takes any possible number
// at any hour (CONTRACT.md §2, Dial policy).
type Line struct {
	// Real lines cost money and ring people: countries, kinds of numbers and caps bind on them.
	Real bool
	// Numbers are the trunks' own. The countries of theirs and the workspace's are allowed by default.
	Numbers []string
	// From is what calls leave by whose agent has no outbound number. Defaults to SandboxNumber.
	From string
}

// decide asks the policy about a call and looks up what it wants to know. Calls already started count only at the moment
// of dialing. The caller holds the workspace's lock; ctx may be store.System's.
func (l Line) decide(ctx context.Context, c *ent.Client, row *ent.Call, now time.Time, dialing bool) (d policy.Decision, err error) {
	ctx = store.WithWorkspace(ctx, row.WorkspaceID)
	w, err := c.Workspace.Get(ctx, row.WorkspaceID)
	if err != nil {
		return d, fmt.Errorf("read the workspace: %w", err)
	}
	rules, err := policy.ParseRules(w.Policy)
	if err != nil {
		return d, fmt.Errorf("policy of workspace %s: %w", w.ID, err)
	}
	r := policy.Request{To: row.ToNumber, Real: l.Real && !row.Test, Now: now}
	if r.ContactStatus, err = contact.StatusFor(ctx, c, row.ContactID, row.ToNumber); err != nil {
		return d, err
	}
	if r.Fallback, err = fallback(ctx, c, row, w.Timezone); err != nil {
		return d, err
	}
	if row.CampaignID != nil {
		r.Campaign = true
		if err := campaignHours(ctx, c, *row.CampaignID, &r); err != nil {
			return d, err
		}
	}
	if r.Real {
		if err := l.lookUp(ctx, c, &r, dialing); err != nil {
			return d, err
		}
	}
	return policy.Decide(ctx, c, rules, r)
}

// fallback are the zones of a call whose number does not tell its place. UTC is what a workspace has that never set one,
// and says nothing.
func fallback(ctx context.Context, c *ent.Client, row *ent.Call, workspace string) ([]string, error) {
	var zones []string
	if row.AgentID != nil {
		a, err := agent.Get(ctx, c, *row.AgentID)
		if err != nil && !fault.Is(err, "agent_not_found") {
			return nil, err
		}
		if a != nil {
			s, err := agent.SettingsOf(a)
			if err != nil {
				return nil, err
			}
			if s.Timezone != nil {
				zones = append(zones, *s.Timezone)
			}
		}
	}
	if workspace != "UTC" {
		zones = append(zones, workspace)
	}
	return zones, nil
}

// campaignHours puts the campaign's schedule into the request.
func campaignHours(ctx context.Context, c *ent.Client, id uuid.UUID, r *policy.Request) error {
	row, err := c.Campaign.Get(ctx, id)
	if ent.IsNotFound(err) {
		return nil // gone: the workspace's hours
	}
	if err != nil {
		return fmt.Errorf("read the campaign: %w", err)
	}
	s, err := policy.ParseSchedule(row.Schedule)
	if err != nil {
		return fmt.Errorf("schedule of campaign %s: %w", id, err)
	}
	return s.Bind(r)
}

// lookUp finds what binds on real lines only.
func (l Line) lookUp(ctx context.Context, c *ent.Client, r *policy.Request, dialing bool) error {
	own, err := agent.OwnNumbers(ctx, c)
	if err != nil {
		return err
	}
	r.HomeNumbers = append(own, l.Numbers...)
	dialed := call.Direction(DirectionOutbound)
	today, err := c.Call.Query().Where(dialed, call.ToNumber(r.To), call.DialedAtGT(r.Now.Add(-day)), call.Test(false)).
		Order(call.ByDialedAt()).Select(call.FieldDialedAt).All(ctx)
	if err != nil {
		return fmt.Errorf("count the calls to the number: %w", err)
	}
	if r.CallsToNumber = len(today); len(today) > 0 {
		r.OldestToNumber = *today[0].DialedAt
	}
	if dialing {
		r.CallsThisSecond, err = c.Call.Query().Where(dialed, call.Test(false), call.QueuedAtGT(r.Now.Add(-30*day)),
			call.DialedAtGT(r.Now.Add(-time.Second))).Count(ctx)
	}
	return err
}

// Transfers are those of an agent's numbers, by name, that the call may be handed to: the ones that the dial policy would
// let it call on this line, whatever the hour and however often (a transfer rings somebody at the trunk's owner's expense, as a call does).
func (l Line) Transfers(ctx context.Context, c *ent.Client, row *ent.Call, numbers map[string]string) (map[string]string, error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	ctx = store.WithWorkspace(ctx, row.WorkspaceID)
	w, err := c.Workspace.Get(ctx, row.WorkspaceID)
	if err != nil {
		return nil, fmt.Errorf("read the workspace: %w", err)
	}
	rules, err := policy.ParseRules(w.Policy)
	if err != nil {
		return nil, fmt.Errorf("policy of workspace %s: %w", w.ID, err)
	}
	rules.QuietHours.SingleCalls = false
	own, err := agent.OwnNumbers(ctx, c)
	if err != nil {
		return nil, err
	}
	allowed := make(map[string]string, len(numbers))
	for name, number := range numbers {
		d, err := policy.Decide(ctx, c, rules, policy.Request{
			To: number, Real: l.Real && !row.Test, HomeNumbers: append(own, l.Numbers...), Now: store.Now(),
		})
		if err != nil {
			return nil, err
		}
		if d.Allowed {
			allowed[name] = number
		}
	}
	return allowed, nil
}

// refused does what follows from a refusal before dialing: a campaign's call waits for its hour, any other ends blocked.
func refused(ctx context.Context, tx *store.Tx, row *ent.Call, d policy.Decision) (*ent.Call, error) {
	if row.CampaignID == nil || d.NextAllowed == nil {
		return end(ctx, tx, row, Outcome{
			Status: StatusBlocked, Reason: d.Reason, Message: d.Message, RetryAfter: d.NextAllowed,
		})
	}
	return tx.Call.UpdateOne(row).SetStatus(string(StatusScheduled)).SetScheduleTime(stored(*d.NextAllowed)).
		ClearQueuedAt().SetUpdatedAt(store.Now()).Save(ctx)
}
