package call

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
)

const day = 24 * time.Hour

// windows say what the keys of a plan's windows mean (CONTRACT.md §2, Usage).
var windows = map[string]struct {
	label   string
	length  time.Duration
	minutes bool
}{
	"calls_per_hour":      {"Calls per hour", time.Hour, false},
	"calls_per_day":       {"Calls per day", day, false},
	"calls_per_30_days":   {"Calls per 30 days", 30 * day, false},
	"minutes_per_day":     {"Minutes per day", day, true},
	"minutes_per_30_days": {"Minutes per 30 days", 30 * day, true},
}

// WindowUse is a rolling window of the plan as it stands (spec: Usage report).
type WindowUse struct {
	Key, Label string
	Limit      int
	// Used is what counts: calls that wait, are dialed or run and those that have ended, inbound and outbound; not those
	// that ended before they were dialed. Minutes are whole ones; calls in progress count by the time they have taken.
	Used int
	// Remaining is never below 0.
	Remaining int
	// ResetsAt is when the oldest call in the window ages out (now, when it is empty) while something remains; else the
	// instant from which a call would be accepted again.
	ResetsAt time.Time
}

// Usage reports the windows of a plan for the workspace in ctx, in the plan's order.
func Usage(ctx context.Context, c *ent.Client, plan identity.Plan, now time.Time) ([]WindowUse, error) {
	out := make([]WindowUse, 0, len(plan.Windows))
	for _, w := range plan.Windows {
		u, err := use(ctx, c, w, now)
		if err != nil {
			return nil, fmt.Errorf("count the window %s: %w", w.Key, err)
		}
		out = append(out, u)
	}
	return out, nil
}

func use(ctx context.Context, c *ent.Client, w identity.Window, now time.Time) (WindowUse, error) {
	kind := windows[w.Key]
	u := WindowUse{Key: w.Key, Label: kind.label, Limit: w.Limit, ResetsAt: now}
	since := windowSince(c, now.Add(-kind.length))
	used, full, err := since.used(ctx, kind.minutes, w.Limit, now)
	if err != nil {
		return u, err
	}
	u.Used = used
	u.Remaining = max(w.Limit-u.Used, 0)
	switch {
	case w.Limit == 0:
		u.ResetsAt = now.Add(kind.length)
		return u, nil
	case u.Remaining > 0:
		full, err = since.first(ctx)
	}
	if err == nil && full != nil {
		u.ResetsAt = full.Add(kind.length)
	}
	return u, err
}

// firstTime is the queued_at of the first row; nil without one. It is read from the index alone.
func firstTime(ctx context.Context, q *ent.CallQuery) (*time.Time, error) {
	c, err := q.Limit(1).Select(call.FieldQueuedAt).All(ctx)
	if err != nil || len(c) == 0 {
		return nil, err
	}
	return c[0].QueuedAt, nil
}

// admit refuses a call for which a window of the plan, or the agent's own limit, has no room (429 usage_limit_reached).
// Of several full windows the one is named that stays full longest. The caller holds the workspace's lock and has counted
// the call already.
func admit(ctx context.Context, c *ent.Client, workspace uuid.UUID, a *ent.Agent, now time.Time) error {
	plan, err := identity.PlanOf(ctx, c, workspace)
	if err != nil {
		return err
	}
	all, err := total(ctx, c)
	if err != nil {
		return err
	}
	var key, what string
	var until time.Time
	for _, w := range plan.Windows {
		if !windows[w.Key].minutes && all <= int64(w.Limit) {
			continue // all calls there are would fit
		}
		resets, err := fullUntil(ctx, c, w, now)
		if err != nil {
			return fmt.Errorf("look into the window %s: %w", w.Key, err)
		}
		if resets != nil && resets.After(until) {
			key, until = w.Key, *resets
			what = fmt.Sprintf("The plan's limit of %d (%s)", w.Limit, windows[w.Key].label)
		}
	}
	switch resets, limit, err := agentFullUntil(ctx, c, a, now); {
	case err != nil:
		return err
	case resets != nil && resets.After(until):
		key, until, what = "agent_calls_per_day", *resets, fmt.Sprintf("The agent's limit of %d calls per day", limit)
	}
	if key == "" {
		return nil
	}
	at := until.Format("2006-01-02T15:04:05.000Z")
	e := fault.New(fault.TooMany, "usage_limit_reached", "%s is used up until %s.", what, at)
	e = e.With("key", key).With("resets_at", at)
	e.RetryAfter = max(until.Sub(now), time.Second)
	return e
}

// fullUntil is nil while a window has room; else the instant from which it has.
func fullUntil(ctx context.Context, c *ent.Client, w identity.Window, now time.Time) (*time.Time, error) {
	kind := windows[w.Key]
	if w.Limit == 0 {
		never := now.Add(kind.length) // no call will do; ask again when everything has changed
		return &never, nil
	}
	_, full, err := windowSince(c, now.Add(-kind.length)).used(ctx, kind.minutes, w.Limit, now)
	if err != nil || full == nil {
		return nil, err
	}
	resets := full.Add(kind.length)
	return &resets, nil
}

// used is how much of a limit is used, in calls or whole minutes. When all of it is, full is when the call was queued that
// must age out before another is accepted. Inbound calls are never refused, so there may be more than the limit, and the
// oldest one ageing out would free nothing.
func (w window) used(ctx context.Context, minutes bool, limit int, now time.Time) (used int, full *time.Time, err error) {
	sum, err := w.total(ctx)
	if err != nil {
		return 0, nil, err
	}
	if !minutes {
		if sum.Calls >= limit && limit > 0 {
			full, err = w.passes(ctx, sum.Calls-limit+1, func(p part) int { return p.Calls })
		}
		return sum.Calls, full, err
	}
	talking, err := w.running(ctx, now)
	if err != nil {
		return 0, nil, err
	}
	seconds := sum.Seconds + talking.in(nil)
	if limit *= 60; seconds >= limit && limit > 0 {
		full, err = w.passes(ctx, seconds-limit+1, func(p part) int { return p.Seconds + talking.in(&p) })
	}
	return seconds / 60, full, err
}

// agentFullUntil is the same for the agent's own call_limit of a day, and the limit.
func agentFullUntil(ctx context.Context, c *ent.Client, a *ent.Agent, now time.Time) (*time.Time, int, error) {
	s, err := agent.SettingsOf(a)
	if err != nil || s.CallLimit == nil || *s.CallLimit == 0 {
		return nil, 0, err
	}
	resets, err := nthNewest(ctx, inWindow(c, now.Add(-day)).Where(call.AgentID(a.ID)), *s.CallLimit, day)
	return resets, *s.CallLimit, err
}

// nthNewest is when a window with n calls or more has room again: when the n-th newest of them ages out.
func nthNewest(ctx context.Context, q *ent.CallQuery, n int, length time.Duration) (*time.Time, error) {
	made, err := firstTime(ctx, q.Order(call.ByQueuedAt(sql.OrderDesc())).Offset(n-1))
	if err != nil || made == nil {
		return nil, err
	}
	resets := made.Add(length)
	return &resets, nil
}

// inWindow are the calls that count and were made after since.
func inWindow(c *ent.Client, since time.Time) *ent.CallQuery {
	return c.Call.Query().Where(call.QueuedAtGT(since), counts)
}

// counts leaves out what was never dialed and never will be by itself: refused, skipped, canceled before dialing, and
// calls of a campaign whose time has not come.
var counts = call.And(
	call.StatusNotIn(string(StatusNotScheduled), string(StatusScheduled), string(StatusPaused), string(StatusBlocked),
		string(StatusSkipped)),
	call.Or(call.StatusNEQ(string(StatusCanceled)), call.DialedAtNotNil()),
)

// seconds is what a call counts.
func seconds(c *ent.Call, now time.Time) int {
	switch {
	case c.Duration != nil:
		return *c.Duration
	case c.AnsweredAt == nil:
		return 0
	}
	return max(int(now.Sub(*c.AnsweredAt)/time.Second), 0)
}
