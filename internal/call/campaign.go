package call

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/ent/predicate"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/phone"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
)

// Planned is a call that a campaign will make.
type Planned struct {
	ID, AgentID, ContactID, CampaignID, EnrollmentID uuid.UUID
	To, From                                         string
	// Status is not-scheduled, scheduled or paused.
	Status Status
	// ScheduleTime is before when it is not dialed.
	ScheduleTime *time.Time
	Variables    map[string]string
}

// Lock takes the workspace's lock, which everything that counts or plans calls of a workspace takes first.
func Lock(ctx context.Context, tx *store.Tx, workspace uuid.UUID) error {
	return lock(ctx, tx, workspace)
}

// Plan writes the records of calls that wait for their time. They count for nothing of the plan before they are queued
// (Start). The caller has the lock.
func Plan(ctx context.Context, tx *store.Tx, workspace uuid.UUID, calls []Planned) error {
	if len(calls) == 0 {
		return nil
	}
	if err := count(ctx, tx, workspace, int64(len(calls)), false); err != nil {
		return err
	}
	now := createdAt()
	rows := make([][]any, len(calls))
	for i, p := range calls {
		vars, err := VariablesColumn(p.Variables)
		if err != nil {
			return err
		}
		rows[i] = []any{p.ID, now, now, DirectionOutbound, string(p.Status), p.To, p.From, p.AgentID, p.ContactID, p.CampaignID,
			p.EnrollmentID, p.ScheduleTime, vars, "{}", false, false, "", false}
	}
	return tx.Insert(ctx, call.Table, []string{
		call.FieldID, call.FieldCreatedAt, call.FieldUpdatedAt, call.FieldDirection, call.FieldStatus, call.FieldToNumber,
		call.FieldFromNumber, call.FieldAgentID, call.FieldContactID, call.FieldCampaignID, call.FieldEnrollmentID,
		call.FieldScheduleTime, call.FieldVariables, call.FieldMetadata, call.FieldTest, call.FieldInFlight,
		call.FieldLeaseOwner, call.FieldCancelRequested,
	}, rows)
}

// VariablesColumn is how variables are stored; nil when there are none.
func VariablesColumn(vars map[string]string) (any, error) {
	if len(vars) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(vars)
	if err != nil {
		return nil, fmt.Errorf("write variables: %w", err)
	}
	return json.RawMessage(text), nil
}

// From is the number that an agent's planned calls will leave by. Where it has none, the line's own is written when they
// start.
func From(ctx context.Context, c *ent.Client, agentID uuid.UUID) (string, error) {
	return Line{}.FromNumber(ctx, c, agentID)
}

// FromNumber is the number that an agent's calls leave by on the line.
func (l Line) FromNumber(ctx context.Context, c *ent.Client, agentID uuid.UUID) (string, error) {
	return l.leavesBy(ctx, c, agentID, false)
}

// Room is how many more calls of campaigns may be queued: the free slots of the plan, less the calls that wait for one.
func Room(ctx context.Context, c *ent.Client, workspace uuid.UUID, now time.Time) (int, error) {
	free, err := freeSlots(ctx, c, workspace, now)
	if err != nil || free <= 0 {
		return 0, err
	}
	waiting, err := c.Call.Query().Where(call.WorkspaceID(workspace), queued).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count the calls that wait: %w", err)
	}
	return max(free-waiting, 0), nil
}

// Start gives a scheduled call of a campaign a place in the queue, to a number with variables as they are now, if policy
// lets it: else it stays scheduled for a later time, or ends blocked. The returned row says which. usage_limit_reached
// (details.resets_at, RetryAfter) when the plan or the agent has no room: nothing has changed then. The caller has the
// lock.
func (l Line) Start(ctx context.Context, tx *store.Tx, row *ent.Call, a *ent.Agent, to string, vars map[string]string) (*ent.Call, error) {
	if !CanMove(Status(row.Status), StatusQueued) {
		return nil, fmt.Errorf("call %s can not go from %s to queued", row.ID, row.Status)
	}
	if number, err := phone.Parse(to); err == nil {
		row.ToNumber = number
	}
	now := createdAt()
	d, err := l.decide(ctx, tx.Client, row, now, false)
	if err != nil {
		return nil, err
	}
	if d.Allowed {
		if err := admit(ctx, tx.Client, row.WorkspaceID, a, now); err != nil {
			return nil, err
		}
	}
	if err := policy.Record(ctx, tx, row.ID, d); err != nil {
		return nil, err
	}
	if !d.Allowed {
		return refused(ctx, tx, row, d)
	}
	from, err := l.leavesBy(ctx, tx.Client, a.ID, row.Test)
	if err != nil {
		return nil, err
	}
	up := tx.Call.UpdateOne(row).SetStatus(string(StatusQueued)).SetQueuedAt(now).SetToNumber(row.ToNumber).
		SetFromNumber(from).SetUpdatedAt(store.Now())
	if len(vars) > 0 {
		up.SetVariables(vars) // they may have been refreshed since; never taken away
	}
	started, err := up.Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("queue call %s: %w", row.ID, err)
	}
	return started, enqueueDial(ctx, tx, row.WorkspaceID)
}

// AnsweredLate is the enrollment's call before a planned one, when an answer that came after its end made it one that is
// in progress or was completed; nil otherwise.
func AnsweredLate(ctx context.Context, c *ent.Client, planned *ent.Call) (*ent.Call, error) {
	if planned.ContactID == nil || planned.EnrollmentID == nil {
		return nil, nil
	}
	before, err := c.Call.Query().Where(call.ContactID(*planned.ContactID), call.EnrollmentID(*planned.EnrollmentID),
		call.IDNEQ(planned.ID), call.DialedAtNotNil()).Order(newest...).First(ctx)
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the call before %s: %w", planned.ID, err)
	}
	// A call of an earlier step came to its end before this one was planned.
	if s := Status(before.Status); s != StatusInProgress && s != StatusCompleted || !before.UpdatedAt.After(planned.CreatedAt) {
		return nil, nil
	}
	return before, nil
}

// End ends a call that has not been dialed, as blocked, skipped or canceled. The caller has the lock.
func End(ctx context.Context, tx *store.Tx, row *ent.Call, o Outcome) error {
	_, err := end(ctx, tx, row, o)
	return err
}

// ofCampaign are a campaign's calls that stand at one of the statuses.
func ofCampaign(campaign uuid.UUID, statuses ...Status) predicate.Call {
	texts := make([]string, len(statuses))
	for i, s := range statuses {
		texts[i] = string(s)
	}
	return call.And(call.CampaignID(campaign), call.StatusIn(texts...))
}

// Pause holds a campaign's calls that have not been dialed, those in the queue among them. The caller has the lock.
func Pause(ctx context.Context, tx *store.Tx, campaign uuid.UUID) error {
	return tx.Call.Update().Where(ofCampaign(campaign, StatusScheduled, StatusQueued)).
		SetStatus(string(StatusPaused)).ClearQueuedAt().SetUpdatedAt(store.Now()).Exec(ctx)
}

// Resume lets a campaign's paused calls wait for their time again. The caller has the lock.
func Resume(ctx context.Context, tx *store.Tx, campaign uuid.UUID) error {
	return tx.Call.Update().Where(ofCampaign(campaign, StatusPaused)).
		SetStatus(string(StatusScheduled)).SetUpdatedAt(store.Now()).Exec(ctx)
}

// Open schedules a draft's calls. The caller has the lock.
func Open(ctx context.Context, tx *store.Tx, campaign uuid.UUID, at time.Time) error {
	return tx.Call.Update().Where(ofCampaign(campaign, StatusNotScheduled)).
		SetStatus(string(StatusScheduled)).SetScheduleTime(stored(at)).SetUpdatedAt(store.Now()).Exec(ctx)
}

// Defer moves a campaign's scheduled calls that are due before at to at. The caller has the lock.
func Defer(ctx context.Context, tx *store.Tx, campaign uuid.UUID, at time.Time) error {
	return tx.Call.Update().Where(ofCampaign(campaign, StatusScheduled), call.ScheduleTimeLT(stored(at))).
		SetScheduleTime(stored(at)).SetUpdatedAt(store.Now()).Exec(ctx)
}

// Reassign gives a campaign's calls that have not been queued another agent. The caller has the lock.
func Reassign(ctx context.Context, tx *store.Tx, campaign, agentID uuid.UUID) error {
	from, err := From(ctx, tx.Client, agentID)
	if err != nil {
		return err
	}
	return tx.Call.Update().Where(ofCampaign(campaign, StatusNotScheduled, StatusScheduled, StatusPaused)).
		SetAgentID(agentID).SetFromNumber(from).SetUpdatedAt(store.Now()).Exec(ctx)
}

// CallOff cancels the calls of a campaign that have not been dialed; without a campaign those whose enrollment is gone.
// Each leaves an Ended job, as any end does. The caller has the lock.
func CallOff(ctx context.Context, tx *store.Tx, workspace uuid.UUID, campaign *uuid.UUID) error {
	match := call.And(call.WorkspaceID(workspace), call.CampaignIDNotNil(), orphaned)
	if campaign != nil {
		match = ofCampaign(*campaign, StatusNotScheduled, StatusScheduled, StatusPaused, StatusQueued)
	}
	ids, err := tx.Call.Query().Where(match).IDs(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	now := store.Now()
	jobs := make([]river.InsertManyParams, len(ids))
	for i, id := range ids {
		jobs[i] = river.InsertManyParams{
			Args:       Ended{WorkspaceID: workspace, CallID: id},
			InsertOpts: &river.InsertOpts{Queue: QueueAfter, MaxAttempts: 25},
		}
	}
	err = tx.Call.Update().Where(match).SetStatus(string(StatusCanceled)).SetEndedAt(now).SetUpdatedAt(now).
		SetEndedReason(ReasonCanceled).SetEndedMessage("The call was canceled before it was dialed.").Exec(ctx)
	if err != nil {
		return fmt.Errorf("call off calls: %w", err)
	}
	for part := range slices.Chunk(jobs, 1000) {
		if err := tx.EnqueueMany(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// orphaned are calls that wait for an enrollment that was deleted with its contact.
func orphaned(s *sql.Selector) {
	s.Where(sql.ExprP(s.C(call.FieldStatus) + " IN ('not-scheduled', 'scheduled', 'paused') AND NOT EXISTS " +
		"(SELECT 1 FROM enrollments WHERE enrollments.id = " + s.C(call.FieldEnrollmentID) + ")"))
}

// Orphaned lists the workspaces that have such calls. ctx is store.System's.
func Orphaned(ctx context.Context, c *ent.Client) (ids []uuid.UUID, err error) {
	err = c.Call.Query().Where(call.CampaignIDNotNil(), orphaned).GroupBy(call.FieldWorkspaceID).Scan(ctx, &ids)
	return ids, err
}

// ByIDs are those of the calls that there are.
func ByIDs(ctx context.Context, c *ent.Client, ids []uuid.UUID) (map[uuid.UUID]*ent.Call, error) {
	found := make(map[uuid.UUID]*ent.Call, len(ids))
	for part := range slices.Chunk(ids, 5000) {
		rows, err := c.Call.Query().Where(call.IDIn(part...)).All(ctx)
		if err != nil {
			return nil, fmt.Errorf("read calls: %w", err)
		}
		for _, row := range rows {
			found[row.ID] = row
		}
	}
	return found, nil
}

// Tally counts a campaign's calls by status.
func Tally(ctx context.Context, c *ent.Client, campaign uuid.UUID) (map[string]int64, error) {
	var rows []struct {
		Status string `json:"status"`
		Count  int64  `json:"count"`
	}
	err := c.Call.Query().Where(call.CampaignID(campaign)).GroupBy(call.FieldStatus).Aggregate(ent.Count()).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("count a campaign's calls: %w", err)
	}
	out := map[string]int64{}
	for _, r := range rows {
		out[r.Status] = r.Count
	}
	return out, nil
}

// elsewhere are endings of failed calls that say something of the person called or of our own processes, not of the line.
var elsewhere = []string{"declined", "invalid_number", "worker_lost", "service_shutdown", ReasonCanceled}

// Troubled counts how many of a campaign's last calls since a time, at most n, failed for technical reasons, and how many
// were looked at.
func Troubled(ctx context.Context, c *ent.Client, campaign uuid.UUID, since time.Time, n int) (bad, of int, err error) {
	rows, err := c.Call.Query().Where(call.CampaignID(campaign), call.DialedAtGT(since), call.EndedAtNotNil()).
		Order(call.ByEndedAt(sql.OrderDesc())).Limit(n).Select(call.FieldStatus, call.FieldEndedReason).All(ctx)
	for _, r := range rows {
		if Status(r.Status) == StatusFailed && (r.EndedReason == nil || !slices.Contains(elsewhere, *r.EndedReason)) {
			bad++
		}
	}
	return bad, len(rows), err
}

// Callable reads a campaign's agent: agent_not_found, agent_inactive or validation_failed when it can not call.
func Callable(ctx context.Context, c *ent.Client, agentID uuid.UUID) (*ent.Agent, error) {
	return callable(ctx, c, Request{AgentID: agentID})
}

// LimitReset is until when a usage_limit_reached lasts.
func LimitReset(err error, now time.Time) (time.Time, bool) {
	if !fault.Is(err, "usage_limit_reached") {
		return time.Time{}, false
	}
	return now.Add(fault.From(err).RetryAfter), true
}
