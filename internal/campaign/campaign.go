// Package campaign lets an agent call many contacts, step by step.
//
// # Enrollments and calls
//
// A contact in a campaign is an enrollment. While its step is a call, the record of that call exists from the enrollment
// on: not-scheduled in a draft, scheduled with its time in a running campaign, paused in a paused one. The [Runner] queues
// due calls, never more than the plan has free slots, in the transaction that moves the enrollment; how a call ended is
// read from its record, whoever wrote it and whenever. So nothing has to be remembered between two transactions: a
// process may die anywhere, any number of processes may run, nobody is called twice for one step and nobody is forgotten.
//
// # Locks
//
// Everything here that touches calls takes the workspace's lock first (package call, Locks). It makes enrollments of one
// workspace follow each other, so that identical requests find each other's contacts.
//
// # What ends an enrollment
//
// completed: all steps done. failed: a call step was not answered within its attempts, or the number does not exist.
// blocked: the policy never allows the call. skipped: the contact is archived, or somebody canceled or deleted its call.
// stopped: the campaign was.
package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/campaign"
	"github.com/callwright/callwright/ent/enrollment"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
)

// Types of a step.
const (
	StepCall = "call"
	StepSMS  = "sms"
	StepWait = "wait"
)

// Step is one thing that is done with each contact.
type Step struct {
	Type string `json:"type"`
	// Message of an sms, with {{custom.key}}.
	Message string `json:"message,omitempty"`
	// Minutes of a wait.
	Minutes int `json:"minutes,omitempty"`
}

// Schedule is when a campaign may call, and how often it tries.
type Schedule struct {
	policy.Schedule
	// Not before. Defaults to now.
	StartAt *time.Time `json:"start_at,omitempty"`
	// Calls in a step, 1 to 10. Defaults to 1.
	MaxAttempts int `json:"max_attempts,omitempty"`
	// Minutes before the second, third … attempt; the last one repeats. Defaults to 60.
	RetryMinutes []int `json:"retry_minutes,omitempty"`
}

const (
	maxSteps   = 20
	maxMessage = 1600
	maxMinutes = 43_200
	maxName    = 128
)

func (s Schedule) attempts() int { return max(s.MaxAttempts, 1) }

// pause is how long after the n-th attempt, from 1, the next one comes.
func (s Schedule) pause(n int) time.Duration {
	if len(s.RetryMinutes) == 0 {
		return time.Hour
	}
	return time.Duration(s.RetryMinutes[min(n, len(s.RetryMinutes))-1]) * time.Minute
}

func (s Schedule) check() error {
	if s.MaxAttempts < 0 || s.MaxAttempts > 10 {
		return fault.Invalidf("schedule.max_attempts must be 1 to 10")
	}
	if len(s.RetryMinutes) > 10 {
		return fault.Invalidf("schedule.retry_minutes must have at most 10 entries")
	}
	for i, m := range s.RetryMinutes {
		if m < 1 || m > maxMinutes {
			return fault.Invalidf("schedule.retry_minutes[%d] must be 1 to %d", i, maxMinutes)
		}
	}
	return s.Schedule.Check()
}

func (s Step) check(at string) error {
	n := utf8.RuneCountInString(s.Message)
	switch {
	case !slices.Contains([]string{StepCall, StepSMS, StepWait}, s.Type):
		return fault.Invalidf("%s.type must be call, sms or wait", at)
	case s.Type == StepSMS && (strings.TrimSpace(s.Message) == "" || n > maxMessage):
		return fault.Invalidf("%s.message must have 1 to %d characters", at, maxMessage)
	case s.Type != StepSMS && n > 0:
		return fault.Invalidf("%s.message is for steps of type sms", at)
	case s.Type == StepWait && (s.Minutes < 1 || s.Minutes > maxMinutes):
		return fault.Invalidf("%s.minutes must be 1 to %d", at, maxMinutes)
	case s.Type != StepWait && s.Minutes != 0:
		return fault.Invalidf("%s.minutes is for steps of type wait", at)
	case !utf8.ValidString(s.Message) || strings.IndexByte(s.Message, 0) >= 0:
		return fault.Invalidf("%s.message must be text", at)
	}
	return nil
}

// Input is what a request says of a campaign; nil is nothing.
type Input struct {
	Name     *string
	AgentID  *uuid.UUID
	Steps    []Step
	Schedule *Schedule
	// Update only: names of fields whose value is taken away.
	Clear []string
}

func (in Input) checked() (Input, error) {
	if in.Name != nil {
		name := strings.TrimSpace(*in.Name)
		if n := utf8.RuneCountInString(name); n < 1 || n > maxName {
			return in, fault.Invalidf("name must have 1 to %d characters", maxName)
		}
		in.Name = &name
	}
	if len(in.Steps) > maxSteps {
		return in, fault.Invalidf("steps must have at most %d entries", maxSteps)
	}
	for i, s := range in.Steps {
		if err := s.check(fmt.Sprintf("steps[%d]", i)); err != nil {
			return in, err
		}
	}
	if in.Schedule != nil {
		if err := in.Schedule.check(); err != nil {
			return in, err
		}
	}
	for _, f := range in.Clear {
		switch f {
		case "steps":
			in.Steps = []Step{{Type: StepCall}}
		case "schedule":
			in.Schedule = &Schedule{}
		case "name", "agent_id":
			return in, fault.Invalidf("%s must not be null", f)
		}
	}
	return in, nil
}

// Create makes a draft. Errors: validation_failed, agent_not_found.
func Create(ctx context.Context, db *store.DB, in Input) (row *ent.Campaign, err error) {
	switch {
	case in.Name == nil:
		return nil, fault.Invalidf("name is required")
	case in.AgentID == nil:
		return nil, fault.Invalidf("agent_id is required")
	}
	if in, err = in.checked(); err != nil {
		return nil, err
	}
	if len(in.Steps) == 0 {
		in.Steps = []Step{{Type: StepCall}}
	}
	if in.Schedule == nil {
		in.Schedule = &Schedule{}
	}
	steps, schedule, err := in.texts()
	if err != nil {
		return nil, err
	}
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := agent.Get(ctx, tx.Client, *in.AgentID); err != nil {
			return err
		}
		row, err = tx.Campaign.Create().SetName(*in.Name).SetAgentID(*in.AgentID).SetSteps(steps).SetSchedule(schedule).Save(ctx)
		return err
	})
	return row, err
}

func (in Input) texts() (steps, schedule json.RawMessage, err error) {
	steps, err1 := json.Marshal(in.Steps)
	schedule, err2 := json.Marshal(in.Schedule)
	return steps, schedule, errors.Join(err1, err2)
}

// Get reads a campaign. Errors: campaign_not_found.
func Get(ctx context.Context, c *ent.Client, id uuid.UUID) (*ent.Campaign, error) {
	return found(c.Campaign.Query().Where(campaign.ID(id)).Only(ctx))
}

func found(row *ent.Campaign, err error) (*ent.Campaign, error) {
	if ent.IsNotFound(err) {
		return nil, fault.Missing("campaign")
	}
	return row, err
}

// Read takes a campaign's steps and schedule apart.
func Read(row *ent.Campaign) (steps []Step, s Schedule, err error) {
	if err := json.Unmarshal(row.Steps, &steps); err != nil {
		return nil, s, fmt.Errorf("steps of campaign %s: %w", row.ID, err)
	}
	if err := json.Unmarshal(row.Schedule, &s); err != nil {
		return nil, s, fmt.Errorf("schedule of campaign %s: %w", row.ID, err)
	}
	return steps, s, nil
}

// List gives a page of campaigns, newest first, of one status unless it is empty.
func List(ctx context.Context, c *ent.Client, status string, offset int, limit *int) (store.Page[*ent.Campaign], error) {
	match := c.Campaign.Query()
	if status != "" {
		if _, known := moves[Status(status)]; !known {
			return store.Page[*ent.Campaign]{}, fault.Invalidf("status must be draft, running, paused, completed or stopped")
		}
		match.Where(campaign.Status(status))
	}
	return store.ReadPage(ctx, offset, limit, func(ctx context.Context, offset, limit int) ([]*ent.Campaign, error) {
		return match.Clone().Order(campaign.ByCreatedAt(sql.OrderDesc()), campaign.ByID(sql.OrderDesc())).
			Offset(offset).Limit(limit).All(ctx)
	}, match.Clone().Count)
}

// Update changes the fields that the input has. A name may always change; agent, steps and schedule only in a draft or a
// paused campaign (409 campaign_running, campaign_ended), the number and types of steps only while nobody is enrolled, since
// contacts stand in the middle of them (409 campaign_has_contacts). Calls that wait go to the new agent.
func Update(ctx context.Context, db *store.DB, id uuid.UUID, in Input) (row *ent.Campaign, err error) {
	if in, err = in.checked(); err != nil {
		return nil, err
	}
	err = locked(ctx, db, id, func(ctx context.Context, tx *store.Tx, c *ent.Campaign) error {
		up := c.Update()
		if in.Name != nil && *in.Name != c.Name {
			up.SetName(*in.Name)
		}
		if in.AgentID != nil || len(in.Steps) > 0 || in.Schedule != nil {
			if c.Status != string(StatusDraft) && c.Status != string(StatusPaused) {
				return wrongState(c.Status, "changed but for its name; pause it first")
			}
		}
		if err := in.reassign(ctx, tx, c, up); err != nil {
			return err
		}
		if err := in.replan(ctx, tx, c, up); err != nil {
			return err
		}
		row = c
		if len(up.Mutation().Fields()) == 0 {
			return nil
		}
		row, err = up.SetUpdatedAt(store.Now()).Save(ctx)
		return err
	})
	return row, err
}

func (in Input) reassign(ctx context.Context, tx *store.Tx, c *ent.Campaign, up *ent.CampaignUpdateOne) error {
	if in.AgentID == nil || c.AgentID != nil && *c.AgentID == *in.AgentID {
		return nil
	}
	if _, err := agent.Get(ctx, tx.Client, *in.AgentID); err != nil {
		return err
	}
	up.SetAgentID(*in.AgentID)
	return call.Reassign(ctx, tx, c.ID, *in.AgentID)
}

func (in Input) replan(ctx context.Context, tx *store.Tx, c *ent.Campaign, up *ent.CampaignUpdateOne) error {
	before, _, err := Read(c)
	if err != nil {
		return err
	}
	if len(in.Steps) > 0 {
		same := slices.EqualFunc(before, in.Steps, func(a, b Step) bool { return a.Type == b.Type })
		if !same {
			enrolled, err := tx.Enrollment.Query().Where(enrollment.CampaignID(c.ID)).Exist(ctx)
			if err != nil {
				return err
			}
			if enrolled {
				return fault.New(fault.Conflict, "campaign_has_contacts",
					"Contacts stand in the middle of the steps: their number and types can not change any more.")
			}
		}
		steps, err := json.Marshal(in.Steps)
		if err != nil {
			return err
		}
		up.SetSteps(steps)
	}
	if in.Schedule != nil {
		schedule, err := json.Marshal(in.Schedule)
		if err != nil {
			return err
		}
		up.SetSchedule(schedule)
	}
	return nil
}

// locked gives f the campaign with the workspace's lock and its row held.
func locked(ctx context.Context, db *store.DB, id uuid.UUID, f func(context.Context, *store.Tx, *ent.Campaign) error) error {
	workspace, ok := store.Workspace(ctx)
	if !ok {
		return store.ErrNoWorkspace
	}
	return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := call.Lock(ctx, tx, workspace); err != nil {
			return err
		}
		c, err := found(tx.Campaign.Query().Where(campaign.ID(id), store.ForUpdate).Only(ctx))
		if err != nil {
			return err
		}
		return f(ctx, tx, c)
	})
}

// Delete takes a campaign that is not running away with its enrollments; calls that wait are called off, the others stay.
func Delete(ctx context.Context, db *store.DB, id uuid.UUID) error {
	return locked(ctx, db, id, func(ctx context.Context, tx *store.Tx, c *ent.Campaign) error {
		if c.Status == string(StatusRunning) {
			return wrongState(c.Status, "deleted; stop or pause it first")
		}
		if err := call.CallOff(ctx, tx, c.WorkspaceID, &c.ID); err != nil {
			return err
		}
		return tx.Campaign.DeleteOne(c).Exec(ctx)
	})
}
