package campaign

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/campaign"
	"github.com/callwright/callwright/ent/enrollment"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
)

const (
	// messageLost is after how long a message counts as sent whose process died: it is never sent twice.
	messageLost = 2 * time.Minute
	// messageAttempts is how often a message is tried when the provider does not take it.
	messageAttempts = 3
	// The breaker: so many of the last calls failed for technical reasons.
	breakerBad, breakerOf = 20, 25
)

// settle moves on the enrollments whose call is not under way any more.
func (r *Runner) settle(ctx context.Context) error {
	active, err := r.DB.Ent().Enrollment.Query().Where(enrollment.Status(EnrolledActive)).All(ctx)
	if err != nil || len(active) == 0 {
		return err
	}
	ids := make([]uuid.UUID, 0, len(active))
	for _, e := range active {
		if e.CallID != nil {
			ids = append(ids, *e.CallID)
		}
	}
	calls, err := call.ByIDs(ctx, r.DB.Ent(), ids)
	if err != nil {
		return err
	}
	done := map[uuid.UUID][]uuid.UUID{}
	for _, e := range active {
		if !underWay(e, calls) {
			done[e.WorkspaceID] = append(done[e.WorkspaceID], e.ID)
		}
	}
	for workspace, ids := range done {
		for part := range slices.Chunk(ids, batch) {
			err := r.DB.InTx(store.WithWorkspace(ctx, workspace), func(ctx context.Context, tx *store.Tx) error {
				if err := call.Lock(ctx, tx, workspace); err != nil {
					return err
				}
				return settleAll(ctx, tx, part)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// underWay reports whether the enrollment's call, or message, has not come to anything yet.
func underWay(e *ent.Enrollment, calls map[uuid.UUID]*ent.Call) bool {
	if e.CallID == nil {
		return store.Now().Sub(e.UpdatedAt) < messageLost
	}
	c := calls[*e.CallID]
	if c == nil {
		return false
	}
	s := call.Status(c.Status)
	return s == call.StatusQueued || s.Active()
}

func settleAll(ctx context.Context, tx *store.Tx, ids []uuid.UUID) error {
	rows, err := tx.Enrollment.Query().Where(enrollment.IDIn(ids...), enrollment.Status(EnrolledActive)).
		Order(enrollment.ByCreatedAt(), enrollment.ByID()).All(ctx)
	if err != nil {
		return err
	}
	var with []uuid.UUID
	for _, e := range rows {
		if e.CallID != nil {
			with = append(with, *e.CallID)
		}
	}
	calls, err := call.ByIDs(ctx, tx.Client, with)
	if err != nil {
		return err
	}
	campaigns := map[uuid.UUID]*progress{}
	for _, e := range rows {
		if underWay(e, calls) {
			continue
		}
		p := campaigns[e.CampaignID]
		if p == nil {
			c, err := tx.Campaign.Query().Where(campaign.ID(e.CampaignID)).Only(ctx)
			if err != nil {
				return err
			}
			if p, err = newProgress(ctx, tx, c); err != nil {
				return err
			}
			campaigns[e.CampaignID] = p
		}
		var c *ent.Call
		if e.CallID != nil {
			c = calls[*e.CallID]
		}
		if err := p.settle(ctx, e, c); err != nil {
			return err
		}
	}
	for _, p := range campaigns {
		if err := p.breakCircuit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// progress moves the enrollments of one campaign inside a transaction that has the workspace's lock.
type progress struct {
	tx       *store.Tx
	row      *ent.Campaign
	steps    []Step
	schedule Schedule
	openings *openings
	failed   bool
}

func newProgress(ctx context.Context, tx *store.Tx, row *ent.Campaign) (*progress, error) {
	p := &progress{tx: tx, row: row}
	var err error
	if p.steps, p.schedule, err = Read(row); err != nil {
		return nil, err
	}
	p.openings, err = newOpenings(ctx, tx.Client, row, p.schedule)
	return p, err
}

// calling are the positions of call steps, quiet those of the others.
func (p *progress) calling() []int { return p.positions(func(t string) bool { return t == StepCall }) }
func (p *progress) quiet() []int   { return p.positions(func(t string) bool { return t != StepCall }) }

func (p *progress) positions(is func(string) bool) []int {
	at := []int{}
	for i, s := range p.steps {
		if is(s.Type) {
			at = append(at, i)
		}
	}
	return at
}

// settle moves an enrollment on by how its call ended; c is nil for a message, and for a call that was deleted.
func (p *progress) settle(ctx context.Context, e *ent.Enrollment, c *ent.Call) error {
	now := store.Now()
	if c == nil {
		if e.CallID != nil {
			return p.end(ctx, e, EnrolledSkipped)
		}
		return p.advance(ctx, e, now)
	}
	switch s := call.Status(c.Status); s {
	case call.StatusCompleted:
		return p.advance(ctx, e, now)
	case call.StatusNoAnswer, call.StatusBusy, call.StatusFailed:
		p.failed = p.failed || s == call.StatusFailed
		return p.again(ctx, e, c, now)
	case call.StatusBlocked:
		return p.end(ctx, e, EnrolledBlocked)
	case call.StatusCanceled:
		if Status(p.row.Status) == StatusStopped {
			return p.end(ctx, e, EnrolledStopped)
		}
		return p.end(ctx, e, EnrolledSkipped)
	case call.StatusSkipped:
		return p.end(ctx, e, EnrolledSkipped)
	}
	// Scheduled or paused again: its hour had passed before it was dialed, or the campaign was paused.
	back := EnrolledWaiting
	if e.Step == 0 && e.Attempts == 0 {
		back = EnrolledPending
	}
	at := now
	if c.ScheduleTime != nil && c.ScheduleTime.After(now) {
		at = *c.ScheduleTime
	}
	return e.Update().SetStatus(back).SetNextAttemptAt(at).SetUpdatedAt(now).Exec(ctx)
}

func (p *progress) end(ctx context.Context, e *ent.Enrollment, status string) error {
	return e.Update().SetStatus(status).ClearNextAttemptAt().SetUpdatedAt(store.Now()).Exec(ctx)
}

// again plans another attempt of the step, if there is one.
func (p *progress) again(ctx context.Context, e *ent.Enrollment, c *ent.Call, now time.Time) error {
	e.Attempts++
	hopeless := c.EndedReason != nil && *c.EndedReason == "invalid_number"
	up := e.Update().SetAttempts(e.Attempts)
	switch {
	case hopeless || e.Attempts >= p.schedule.attempts():
		return up.SetStatus(EnrolledFailed).ClearNextAttemptAt().SetUpdatedAt(now).Exec(ctx)
	case Status(p.row.Status).Ended():
		return up.SetStatus(EnrolledStopped).ClearNextAttemptAt().SetUpdatedAt(now).Exec(ctx)
	}
	from := now
	if c.EndedAt != nil {
		from = *c.EndedAt
	}
	at := from.Add(p.schedule.pause(e.Attempts))
	if c.RetryAfter != nil && c.RetryAfter.After(at) {
		at = *c.RetryAfter
	}
	return p.plan(ctx, e, up.SetStatus(EnrolledWaiting), c.ToNumber, at)
}

// advance takes an enrollment to its next step, or to its end.
func (p *progress) advance(ctx context.Context, e *ent.Enrollment, now time.Time) error {
	made := e.Attempts
	if e.CallID != nil && p.steps[e.Step].Type == StepCall {
		made++
	}
	if e.Step+1 >= len(p.steps) {
		return e.Update().SetStatus(EnrolledCompleted).SetAttempts(made).ClearNextAttemptAt().SetUpdatedAt(now).Exec(ctx)
	}
	if Status(p.row.Status).Ended() {
		return p.end(ctx, e, EnrolledStopped)
	}
	e.Step, e.Attempts = e.Step+1, 0
	up := e.Update().SetStep(e.Step).SetAttempts(0).SetStatus(EnrolledWaiting)
	switch next := p.steps[e.Step]; next.Type {
	case StepWait:
		return up.ClearCallID().SetNextAttemptAt(now.Add(time.Duration(next.Minutes) * time.Minute)).SetUpdatedAt(now).Exec(ctx)
	case StepSMS:
		return up.ClearCallID().SetNextAttemptAt(now).SetUpdatedAt(now).Exec(ctx)
	}
	return p.plan(ctx, e, up, "", now)
}

// plan writes the record of an enrollment's next call, to be made from at on.
func (p *progress) plan(ctx context.Context, e *ent.Enrollment, up *ent.EnrollmentUpdateOne, to string, at time.Time) error {
	if p.row.AgentID == nil {
		return up.ClearCallID().SetNextAttemptAt(at).SetUpdatedAt(store.Now()).Exec(ctx)
	}
	if to == "" {
		person, err := p.tx.Contact.Get(ctx, e.ContactID)
		if err != nil {
			return err
		}
		to = person.Phone
	}
	at, err := p.openings.from(at, to)
	if err != nil {
		return err
	}
	from, err := call.From(ctx, p.tx.Client, *p.row.AgentID)
	if err != nil {
		return err
	}
	status := call.StatusScheduled
	if Status(p.row.Status) == StatusPaused {
		status = call.StatusPaused
	}
	id := store.NewID()
	err = call.Plan(ctx, p.tx, p.row.WorkspaceID, []call.Planned{{
		ID: id, AgentID: *p.row.AgentID, ContactID: e.ContactID, CampaignID: p.row.ID, EnrollmentID: e.ID,
		To: to, From: from, Status: status, ScheduleTime: &at, Variables: e.Variables,
	}})
	if err != nil {
		return err
	}
	return up.SetCallID(id).SetNextAttemptAt(at).SetUpdatedAt(store.Now()).Exec(ctx)
}

// planned is the record of the enrollment's next call; it is written now if it was not.
func (p *progress) planned(ctx context.Context, e *ent.Enrollment, now time.Time) (*ent.Call, error) {
	if e.CallID == nil {
		if err := p.plan(ctx, e, e.Update(), "", now); err != nil {
			return nil, err
		}
		var err error
		if e, err = p.tx.Enrollment.Get(ctx, e.ID); err != nil {
			return nil, err
		}
	}
	calls, err := call.ByIDs(ctx, p.tx.Client, []uuid.UUID{*e.CallID})
	if err != nil {
		return nil, err
	}
	if c := calls[*e.CallID]; c != nil {
		return c, nil
	}
	return &ent.Call{Status: string(call.StatusCanceled)}, nil // somebody deleted it
}

// breakCircuit pauses a running campaign most of whose calls fail.
func (p *progress) breakCircuit(ctx context.Context) error {
	if !p.failed || Status(p.row.Status) != StatusRunning || p.row.StartedAt == nil {
		return nil
	}
	bad, of, err := call.Troubled(ctx, p.tx.Client, p.row.ID, *p.row.StartedAt, breakerOf)
	if err != nil || of < breakerOf || bad < breakerBad {
		return err
	}
	return pauseFor(ctx, p.tx, p.row, fmt.Sprintf("%d of the last %d calls failed for technical reasons", bad, of))
}
