package campaign

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/campaign"
	"github.com/callwright/callwright/ent/enrollment"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/messenger"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
)

// batch bounds the steps of one transaction, so that requests of the workspace do not wait long for its lock.
const batch = 50

// starting is one transaction that starts what is due in a workspace.
type starting struct {
	runner    *Runner
	tx        *store.Tx
	workspace uuid.UUID
	now       time.Time
	// room is how many calls may still be queued.
	room     int
	moved    int
	messages []text
}

// text is a message that is sent after the commit.
type text struct {
	enrollment *ent.Enrollment
	message    messenger.Message
}

// queue is what is due in one campaign.
type queue struct {
	*progress
	agent *ent.Agent
	due   []*ent.Enrollment
}

// all starts one due step of each campaign in turn until there is no room.
func (s *starting) all(ctx context.Context, campaigns []uuid.UUID) (err error) {
	if s.room, err = call.Room(ctx, s.tx.Client, s.workspace, s.now); err != nil {
		return err
	}
	var queues []*queue
	for _, id := range campaigns {
		q, err := s.open(ctx, id, max(1, batch/len(campaigns)))
		if err != nil {
			return err
		}
		if q != nil {
			queues = append(queues, q)
		}
	}
	for left := true; left && s.moved < batch; {
		left = false
		for _, q := range queues {
			if len(q.due) == 0 {
				continue
			}
			e := q.due[0]
			q.due = q.due[1:]
			left = true
			if q.steps[e.Step].Type == StepCall && s.room <= 0 {
				continue
			}
			if err := s.step(ctx, q, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// open reads what is due in a campaign; nil when it does not run any more. A campaign whose agent can not call is paused.
func (s *starting) open(ctx context.Context, id uuid.UUID, limit int) (*queue, error) {
	c, err := s.tx.Campaign.Query().Where(campaign.ID(id), campaign.Status(string(StatusRunning))).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	q := &queue{}
	if q.progress, err = newProgress(ctx, s.tx, c); err != nil {
		return nil, err
	}
	if c.AgentID == nil {
		return nil, pauseFor(ctx, s.tx, c, "agent_not_found")
	}
	if q.agent, err = call.Callable(ctx, s.tx.Client, *c.AgentID); err != nil {
		if f := fault.From(err); f.Kind != fault.Internal && f.Kind != fault.Unavailable {
			return nil, pauseFor(ctx, s.tx, c, f.Code)
		}
		return nil, err
	}
	due := s.tx.Enrollment.Query().
		Where(enrollment.CampaignID(id), enrollment.NextAttemptAtLTE(s.now), enrollment.StatusIn(EnrolledPending, EnrolledWaiting))
	if s.room <= 0 {
		due.Where(enrollment.StepIn(q.quiet()...))
	}
	q.due, err = due.Order(enrollment.ByNextAttemptAt(), enrollment.ByID()).Limit(limit).All(ctx)
	return q, err
}

// pauseFor pauses a campaign that can not go on, and says why.
func pauseFor(ctx context.Context, tx *store.Tx, c *ent.Campaign, reason string) error {
	if err := call.Pause(ctx, tx, c.ID); err != nil {
		return err
	}
	return c.Update().SetStatus(string(StatusPaused)).SetPausedReason(reason).SetUpdatedAt(store.Now()).Exec(ctx)
}

func (s *starting) step(ctx context.Context, q *queue, e *ent.Enrollment) error {
	if e.Step >= len(q.steps) {
		return q.end(ctx, e, EnrolledCompleted)
	}
	s.moved++
	switch q.steps[e.Step].Type {
	case StepWait:
		return q.advance(ctx, e, s.now)
	case StepSMS:
		return s.text(ctx, q, e)
	}
	return s.call(ctx, q, e)
}

// call lets the enrollment's call into the queue.
func (s *starting) call(ctx context.Context, q *queue, e *ent.Enrollment) error {
	row, err := q.planned(ctx, e, s.now)
	if err != nil {
		return err
	}
	if call.Status(row.Status) != call.StatusScheduled {
		return e.Update().SetStatus(EnrolledActive).ClearNextAttemptAt().SetUpdatedAt(s.now).Exec(ctx) // settled by what it is
	}
	if e.Attempts > 0 { // the attempt before this one may have been answered late
		late, err := call.AnsweredLate(ctx, s.tx.Client, row)
		if err != nil {
			return err
		}
		if late != nil {
			return s.back(ctx, e, row, late)
		}
	}
	person, err := contact.Get(ctx, s.tx.Client, e.ContactID)
	if err != nil {
		return err
	}
	if person.Status == contact.StatusArchived {
		if err := call.End(ctx, s.tx, row, call.Outcome{
			Status: call.StatusSkipped, Reason: "contact_archived", Message: "The contact is archived.",
		}); err != nil {
			return err
		}
		return q.end(ctx, e, EnrolledSkipped)
	}
	started, err := s.runner.Line.Start(ctx, s.tx, row, q.agent, person.Phone, e.Variables)
	if until, used := call.LimitReset(err, s.now); used {
		return s.wait(ctx, q, until)
	}
	if err != nil {
		return err
	}
	switch call.Status(started.Status) {
	case call.StatusQueued:
		s.room--
		return e.Update().SetStatus(EnrolledActive).ClearNextAttemptAt().SetUpdatedAt(s.now).Exec(ctx)
	case call.StatusScheduled:
		return e.Update().SetNillableNextAttemptAt(started.ScheduleTime).SetUpdatedAt(s.now).Exec(ctx)
	}
	return q.end(ctx, e, EnrolledBlocked)
}

// back calls a retry off and gives the enrollment back to the attempt before it, which came to something after all.
func (s *starting) back(ctx context.Context, e *ent.Enrollment, retry, late *ent.Call) error {
	if err := call.End(ctx, s.tx, retry, call.Outcome{
		Status: call.StatusCanceled, Reason: call.ReasonCanceled, Message: "The call before this one was answered late.",
	}); err != nil {
		return err
	}
	return e.Update().SetCallID(late.ID).SetAttempts(e.Attempts - 1).SetStatus(EnrolledActive).ClearNextAttemptAt().
		SetUpdatedAt(s.now).Exec(ctx)
}

// wait defers a campaign's due calls: the plan or the agent has no room before until.
func (s *starting) wait(ctx context.Context, q *queue, until time.Time) error {
	q.due = nil
	until = until.UTC().Truncate(time.Microsecond)
	if err := call.Defer(ctx, s.tx, q.row.ID, until); err != nil {
		return err
	}
	return s.tx.Enrollment.Update().
		Where(enrollment.CampaignID(q.row.ID), enrollment.NextAttemptAtLT(until), enrollment.StepIn(q.calling()...),
			enrollment.StatusIn(EnrolledPending, EnrolledWaiting)).
		SetNextAttemptAt(until).SetUpdatedAt(s.now).Exec(ctx)
}

// text makes a message ready, if the policy lets it.
func (s *starting) text(ctx context.Context, q *queue, e *ent.Enrollment) error {
	person, err := contact.Get(ctx, s.tx.Client, e.ContactID)
	if err != nil {
		return err
	}
	if person.Status == contact.StatusArchived {
		return q.end(ctx, e, EnrolledSkipped)
	}
	r := q.openings.request
	r.To, r.Now, r.Campaign = person.Phone, s.now, true
	if r.ContactStatus, err = contact.StatusFor(ctx, s.tx.Client, &person.ID, person.Phone); err != nil {
		return err
	}
	d, err := policy.Decide(ctx, s.tx.Client, q.openings.rules, r)
	switch {
	case err != nil:
		return err
	case !d.Allowed && d.NextAllowed == nil:
		return q.end(ctx, e, EnrolledBlocked)
	case !d.Allowed:
		return e.Update().SetNextAttemptAt(*d.NextAllowed).SetUpdatedAt(s.now).Exec(ctx)
	}
	values, err := contact.Values(person)
	if err != nil {
		return err
	}
	from, err := s.runner.Line.FromNumber(ctx, s.tx.Client, q.agent.ID)
	if err != nil {
		return err
	}
	s.messages = append(s.messages, text{e, messenger.Message{
		ID: fmt.Sprintf("%s-%d", e.ID, e.Step), From: from, To: person.Phone,
		// Variables are for calls only. spec: Campaign enrollment, rule 4.
		Text: agent.Render(q.steps[e.Step].Message, nil, values),
	}})
	return e.Update().SetStatus(EnrolledActive).ClearCallID().ClearNextAttemptAt().SetUpdatedAt(s.now).Exec(ctx)
}
