package campaign_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/campaign"
	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/messenger"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// outbox keeps messages.
type outbox struct {
	mu   sync.Mutex
	kept []messenger.Message
}

func (o *outbox) Send(_ context.Context, m messenger.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = append(o.kept, m)
	return nil
}

func (o *outbox) all() []messenger.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]messenger.Message(nil), o.kept...)
}

// rounds lets the runner do all that is due.
func (r *rig) rounds() {
	r.t.Helper()
	for {
		busy, err := r.runner.Round(r.t.Context())
		require.NoError(r.t, err)
		if !busy {
			return
		}
	}
}

// claim takes the next call as an engine would.
func (r *rig) claim() *ent.Call {
	r.t.Helper()
	c, err := call.Claim(r.system, r.db, r.workspace, "me", time.Minute)
	require.NoError(r.t, err)
	return c
}

func (r *rig) finish(c *ent.Call, s call.Status) {
	r.t.Helper()
	if s == call.StatusCompleted {
		require.NoError(r.t, call.Answered(r.system, r.db, c.ID, store.Now()))
	}
	require.NoError(r.t, call.Finish(r.system, r.db, c.ID, call.Outcome{Status: s}))
}

func (r *rig) status() string {
	r.t.Helper()
	c, err := campaign.Get(r.ctx, r.db.Ent(), r.campaign)
	require.NoError(r.t, err)
	return c.Status
}

// due makes everything that waits due now, as the clock would.
func (r *rig) due() {
	r.t.Helper()
	require.NoError(r.t, r.db.Ent().Enrollment.Update().SetNextAttemptAt(store.Now()).Exec(r.ctx))
}

func (r *rig) entries(n int) campaign.Request {
	q := campaign.Request{}
	for i := range n {
		q.Contacts = append(q.Contacts, entry(fmt.Sprintf("+1555123%04d", i), map[string]string{"i": fmt.Sprint(i)}))
	}
	return q
}

func TestEveryContactIsCalledOnceAndTheCampaignCompletes(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{})
		r.enroll(r.entries(70))
		r.rounds()
		require.Nil(t, r.claim(), "a draft calls nobody")
		r.start()
		called := map[string]int{}
		for ended := 0; ended < 70; {
			r.rounds()
			var flying []*ent.Call
			for c := r.claim(); c != nil; c = r.claim() {
				flying = append(flying, c)
				require.NotNil(t, c.ContactID)
				require.NotEmpty(t, c.Variables["i"])
			}
			require.NotEmpty(t, flying)
			require.LessOrEqual(t, len(flying), 20, "the plan's slots")
			// The runner died here and another one goes on: it must not call anybody again.
			r.runner = campaign.NewRunner(campaign.Config{DB: db, Messenger: r.sent})
			for _, c := range flying {
				called[c.ToNumber]++
				r.finish(c, call.StatusCompleted)
				ended++
			}
		}
		r.rounds()
		r.rounds()
		require.Len(t, called, 70)
		for number, n := range called {
			require.Equal(t, 1, n, number)
		}
		p, err := campaign.ProgressOf(r.ctx, db.Ent(), r.campaign)
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"completed": 70}, p.Enrollments)
		require.Equal(t, map[string]int64{"completed": 70}, p.Calls)
		require.EqualValues(t, 70, p.Finished)
		require.Equal(t, "completed", r.status())
	})
}

func TestACallThatIsNotAnsweredIsTriedAgainAsScheduled(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		s := allDay()
		s.MaxAttempts, s.RetryMinutes = 3, []int{10, 30}
		r := newRig(t, db, campaign.Input{Schedule: s})
		r.enroll(campaign.Request{Contacts: []campaign.Entry{entry(first, map[string]string{"a": "b"})}})
		r.start()
		for i, pause := range []time.Duration{10 * time.Minute, 30 * time.Minute} {
			r.rounds()
			c := r.claim()
			require.Equal(t, map[string]string{"a": "b"}, c.Variables, "in every call")
			r.finish(c, []call.Status{call.StatusNoAnswer, call.StatusBusy}[i])
			r.rounds()
			require.Nil(t, r.claim(), "not before its time")
			e := r.enrollments()[0]
			ended, err := call.Get(r.ctx, db.Ent(), c.ID)
			require.NoError(t, err)
			require.Equal(t, []any{"waiting", i + 1, ended.EndedAt.Add(pause)}, []any{e.Status, e.Attempts, *e.NextAttemptAt})
			next, err := call.Get(r.ctx, db.Ent(), *e.CallID)
			require.NoError(t, err)
			require.Equal(t, []any{"scheduled", *e.NextAttemptAt}, []any{next.Status, *next.ScheduleTime})
			r.due()
		}
		r.rounds()
		r.finish(r.claim(), call.StatusNoAnswer)
		r.rounds()
		r.rounds()
		require.Equal(t, []any{"failed", 3}, []any{r.enrollments()[0].Status, r.enrollments()[0].Attempts})
		require.Equal(t, "completed", r.status())
	})
}

// A carrier may report an answer after the call was given up (CONTRACT.md §2, Transitions): who talked is not called again.
func TestALateAnswerCallsTheRetryOff(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		for _, over := range []bool{false, true} { // the talk may be over when the retry is due
			s := allDay()
			s.MaxAttempts = 2
			r := newRig(t, db, campaign.Input{Schedule: s})
			r.enroll(campaign.Request{Contacts: []campaign.Entry{entry(first, nil)}})
			r.start()
			r.rounds()
			c := r.claim()
			r.finish(c, call.StatusNoAnswer)
			r.rounds()
			require.NoError(t, call.Answered(r.system, db, c.ID, store.Now()))
			talk := func() {
				require.NoError(t, call.Finish(r.system, db, c.ID, call.Outcome{Status: call.StatusCompleted}))
			}
			if over {
				talk()
			}
			r.due()
			r.rounds()
			require.Nil(t, r.claim(), "nobody is called a second time")
			if !over {
				require.Equal(t, []any{"active", c.ID}, []any{r.enrollments()[0].Status, *r.enrollments()[0].CallID})
				talk()
			}
			r.rounds()
			r.rounds()
			require.Equal(t, []any{"completed", 1}, []any{r.enrollments()[0].Status, r.enrollments()[0].Attempts})
			p, err := campaign.ProgressOf(r.ctx, db.Ent(), r.campaign)
			require.NoError(t, err)
			require.Equal(t, map[string]int64{"completed": 1, "canceled": 1}, p.Calls)
			require.Equal(t, "completed", r.status())
		}
	})
}

func TestStepsFollowEachOther(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{Steps: []campaign.Step{
			{Type: "call"}, {Type: "wait", Minutes: 5}, {Type: "sms", Message: "Hi {{custom.city}}{{var.a}}!"}, {Type: "call"},
		}})
		_, err := contact.CreateField(r.ctx, db, contact.Field{Key: new("city"), Type: new("text")})
		require.NoError(t, err)
		e := entry(first, map[string]string{"a": "b"})
		e.CustomFields = []byte(`{"city":"Bonn"}`)
		r.enroll(campaign.Request{Contacts: []campaign.Entry{e}})
		r.start()
		r.rounds()
		r.finish(r.claim(), call.StatusCompleted)
		r.rounds()
		require.Equal(t, []any{"waiting", 1}, []any{r.enrollments()[0].Status, r.enrollments()[0].Step})
		require.WithinDuration(t, store.Now().Add(5*time.Minute), *r.enrollments()[0].NextAttemptAt, time.Minute)
		r.due()
		require.Eventually(t, func() bool { r.rounds(); return r.enrollments()[0].Step == 3 }, 20*time.Second, time.Millisecond)
		require.Len(t, r.sent.all(), 1)
		require.Equal(t, "Hi Bonn!", r.sent.all()[0].Text, "variables are for calls only")
		require.Equal(t, first, r.sent.all()[0].To)
		r.rounds()
		c := r.claim()
		require.Equal(t, map[string]string{"a": "b"}, c.Variables, "in later steps too")
		r.finish(c, call.StatusCompleted)
		r.rounds()
		require.Equal(t, "completed", r.enrollments()[0].Status)
	})
}

func TestPauseResumeAndStopTakeEffectAtOnce(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{})
		r.enroll(r.entries(3))
		r.start()
		r.rounds()
		flying := r.claim()
		_, err := campaign.Pause(r.ctx, db, r.campaign)
		require.NoError(t, err)
		require.Nil(t, r.claim(), "nothing waits any more")
		r.rounds()
		p, err := campaign.ProgressOf(r.ctx, db.Ent(), r.campaign)
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"dialing": 1, "paused": 2}, p.Calls)
		require.Equal(t, map[string]int64{"active": 1, "pending": 2}, p.Enrollments)
		out := r.enroll(campaign.Request{Contacts: []campaign.Entry{entry("+15551239999", nil)}})
		require.Equal(t, call.StatusPaused, out.Status)
		r.finish(flying, call.StatusCompleted)
		r.rounds()
		require.Equal(t, "completed", r.enrollments()[0].Status, "what was under way goes on")
		_, err = campaign.Resume(r.ctx, db, r.campaign)
		require.NoError(t, err)
		r.rounds()
		second := r.claim()
		require.NotNil(t, second)
		_, err = campaign.Stop(r.ctx, db, r.campaign)
		require.NoError(t, err)
		require.Nil(t, r.claim())
		r.finish(second, call.StatusNoAnswer)
		r.rounds()
		p, err = campaign.ProgressOf(r.ctx, db.Ent(), r.campaign)
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"completed": 1, "no-answer": 1, "canceled": 2}, p.Calls)
		require.Equal(t, map[string]int64{"completed": 1, "failed": 1, "stopped": 2}, p.Enrollments)
	})
}

func TestADoNotCallEntryBindsWhatIsDialedAfterIt(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{})
		r.enroll(campaign.Request{Contacts: []campaign.Entry{entry(first, nil), entry(second, nil)}})
		unwilling := r.contact(third)
		_, _, err := contact.Update(r.ctx, db, unwilling, contact.Input{Status: new(contact.StatusDoNotCall)})
		require.NoError(t, err)
		r.enroll(campaign.Request{ContactIDs: []uuid.UUID{unwilling}})
		r.start()
		r.rounds() // queued
		_, _, err = policy.Forbid(r.ctx, db, first, nil)
		require.NoError(t, err)
		c := r.claim()
		require.Equal(t, second, c.ToNumber)
		require.Nil(t, r.claim())
		r.finish(c, call.StatusCompleted)
		r.rounds()
		r.rounds()
		p, err := campaign.ProgressOf(r.ctx, db.Ent(), r.campaign)
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"completed": 1, "blocked": 2}, p.Calls)
		require.Equal(t, map[string]int64{"completed": 1, "blocked": 2}, p.Enrollments)
		for _, c := range r.calls() {
			if c.Status == "blocked" {
				require.Equal(t, "policy_do_not_call", *c.EndedReason)
				require.Nil(t, c.DialedAt)
			}
		}
	})
}

func TestQuietHoursAndFullWindowsDeferCalls(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		now := time.Now().UTC()
		s := allDay()
		s.Days = []string{[]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}[(now.Weekday()+3)%7]}
		r := newRig(t, db, campaign.Input{Schedule: s})
		r.start()
		out := r.enroll(campaign.Request{Contacts: []campaign.Entry{entry(first, nil)}})
		opens := time.Date(now.Year(), now.Month(), now.Day()+3, 0, 0, 0, 0, time.UTC)
		require.Equal(t, []any{call.StatusScheduled, opens}, []any{out.Status, out.ScheduledTime})
		out = r.enroll(campaign.Request{Contacts: []campaign.Entry{entry(first, nil)}})
		require.Equal(t, []any{call.StatusScheduled, opens}, []any{out.Status, out.ScheduledTime}, "who is enrolled waits for the same time")
		r.due() // also when the runner looks too early
		r.rounds()
		require.Nil(t, r.claim())
		require.Equal(t, []any{"scheduled", opens}, []any{r.calls()[0].Status, *r.calls()[0].ScheduleTime})

		r = newRig(t, db, campaign.Input{})
		plan := `{"limited":true,"concurrent_calls":5,"max_call_minutes":60,"windows":[{"key":"calls_per_day","limit":2}]}`
		require.NoError(t, db.Ent().Workspace.UpdateOneID(r.workspace).SetPlan([]byte(plan)).Exec(r.system))
		r.start()
		r.enroll(r.entries(4))
		report, err := call.Report(r.ctx, db.Ent(), time.Now())
		require.NoError(t, err)
		require.Zero(t, report.Windows[0].Used, "calls count from when they are queued")
		r.rounds()
		p, err := campaign.ProgressOf(r.ctx, db.Ent(), r.campaign)
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"queued": 2, "scheduled": 2}, p.Calls)
		report, err = call.Report(r.ctx, db.Ent(), time.Now())
		require.NoError(t, err)
		require.Equal(t, 2, report.Windows[0].Used)
		require.WithinDuration(t, report.Windows[0].ResetsAt, *p.NextAttemptAt, time.Second)
	})
}

// Neither the older campaign nor the larger one, nor a larger workspace, comes first.
func TestCampaignsAndWorkspacesTakeTurns(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{})
		large := r.campaign
		r.enroll(r.entries(100))
		r.start()
		small, err := campaign.Create(r.ctx, db, campaign.Input{Name: new("Later"), AgentID: &r.agent, Schedule: allDay()})
		require.NoError(t, err)
		r.campaign = small.ID
		q := campaign.Request{}
		for i := range 15 {
			q.Contacts = append(q.Contacts, entry(fmt.Sprintf("+1555124%04d", i), nil))
		}
		r.enroll(q)
		r.start()
		other := newRig(t, db, campaign.Input{})
		other.enroll(campaign.Request{Contacts: []campaign.Entry{entry(first, nil)}})
		other.start()

		_, err = r.runner.Round(t.Context())
		require.NoError(t, err)
		require.NotNil(t, other.claim(), "one call of another workspace does not wait for a hundred")
		r.rounds()
		of := map[uuid.UUID]int{}
		for c := r.claim(); c != nil; c = r.claim() {
			of[*c.CampaignID]++
		}
		require.Equal(t, map[uuid.UUID]int{large: 10, small.ID: 10}, of, "the plan's 20 slots are shared")
	})
}

// Deleting a contact takes its enrollment and the calls that wait; an archived one is passed over.
func TestContactsThatAreGoneOrArchivedAreNotCalled(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{Steps: []campaign.Step{{Type: "call"}, {Type: "sms", Message: "Hi"}}})
		gone, archived, kept := r.contact(first), r.contact(second), r.contact(third)
		r.enroll(campaign.Request{ContactIDs: []uuid.UUID{gone, archived, kept}})
		require.NoError(t, contact.Delete(r.ctx, db, gone))
		_, _, err := contact.Update(r.ctx, db, archived, contact.Input{Status: new(contact.StatusArchived)})
		require.NoError(t, err)
		require.Len(t, r.enrollments(), 2, "the enrollment went with the contact")
		r.start()
		r.rounds()
		c := r.claim()
		require.Equal(t, kept, *c.ContactID)
		require.Nil(t, r.claim())
		// Between two steps, too.
		_, _, err = contact.Update(r.ctx, db, kept, contact.Input{Status: new(contact.StatusArchived)})
		require.NoError(t, err)
		r.finish(c, call.StatusCompleted)
		r.rounds()
		r.rounds()
		require.Empty(t, r.sent.all())
		p, err := campaign.ProgressOf(r.ctx, db.Ent(), r.campaign)
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"skipped": 2}, p.Enrollments)
		require.Equal(t, map[string]int64{"canceled": 1, "skipped": 1, "completed": 1}, p.Calls)
		for _, c := range r.calls() {
			if c.Status == "skipped" {
				require.Equal(t, "contact_archived", *c.EndedReason)
			}
		}
	})
}

func TestACampaignWhoseCallsFailPausesAndSaysWhy(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{})
		r.enroll(r.entries(60))
		r.start()
		for range 60 {
			r.rounds()
			c := r.claim()
			if c == nil {
				break
			}
			r.finish(c, call.StatusFailed)
		}
		r.rounds()
		c, err := campaign.Get(r.ctx, db.Ent(), r.campaign)
		require.NoError(t, err)
		require.Equal(t, "paused", c.Status)
		require.Contains(t, *c.PausedReason, "of the last 25 calls failed")
		p, err := campaign.ProgressOf(r.ctx, db.Ent(), r.campaign)
		require.NoError(t, err)
		require.EqualValues(t, 35, p.Calls["paused"])
	})
}

func TestACampaignMovesOnlyAsItsTableSays(t *testing.T) {
	all := []campaign.Status{"draft", "running", "paused", "completed", "stopped"}
	allowed := map[[2]campaign.Status]bool{
		{"draft", "running"}: true, {"draft", "stopped"}: true, {"running", "paused"}: true, {"running", "completed"}: true,
		{"running", "stopped"}: true, {"paused", "running"}: true, {"paused", "stopped"}: true,
	}
	for _, from := range all {
		for _, to := range all {
			require.Equal(t, allowed[[2]campaign.Status{from, to}], campaign.CanMove(from, to), "%s → %s", from, to)
		}
	}
}
