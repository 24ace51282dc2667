package call_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// resetsAt reads when a refusal says that a call would be accepted again.
func resetsAt(t *testing.T, f *fault.Error) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05.000Z", f.Details["resets_at"].(string))
	require.NoError(t, err)
	return at
}

func (r *rig) usage(now time.Time) []call.WindowUse {
	r.t.Helper()
	u, err := call.Report(r.ctx, r.db.Ent(), now)
	require.NoError(r.t, err)
	return u.Windows
}

func TestAFullWindowRefusesWithoutARecord(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(100, `{"key":"calls_per_hour","limit":3}`)
		first := r.place(call.Request{})
		r.place(call.Request{Test: true})
		r.place(call.Request{})
		_, err := r.try(call.Request{})
		f := requireCode(t, err, "usage_limit_reached")
		require.Equal(t, fault.TooMany, f.Kind)
		require.Equal(t, "calls_per_hour", f.Details["key"])
		require.Equal(t, first.CreatedAt.Add(time.Hour), resetsAt(t, f), "when the oldest call ages out")
		require.InDelta(t, time.Hour.Seconds(), f.RetryAfter.Seconds(), 60)
		require.EqualValues(t, 3, r.total())

		r.aged(first.ID, time.Hour)
		r.place(call.Request{})
		_, err = r.try(call.Request{})
		requireCode(t, err, "usage_limit_reached")
	})
}

func TestOfFullWindowsTheOneIsNamedThatStaysFullLongest(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(100, `{"key":"calls_per_hour","limit":1},{"key":"calls_per_30_days","limit":1},{"key":"calls_per_day","limit":1}`)
		c := r.place(call.Request{})
		_, err := r.try(call.Request{})
		f := requireCode(t, err, "usage_limit_reached")
		require.Equal(t, "calls_per_30_days", f.Details["key"])
		require.Equal(t, c.CreatedAt.Add(30*24*time.Hour), resetsAt(t, f))
	})
}

func TestALimitOfZeroRefusesEveryCall(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(100, `{"key":"minutes_per_day","limit":0}`)
		_, err := r.try(call.Request{})
		requireCode(t, err, "usage_limit_reached")
		require.Zero(t, r.usage(store.Now())[0].Remaining)
	})
}

func TestAPlanWithoutLimitsRefusesNothing(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(1, "")
		for range 5 {
			r.place(call.Request{})
		}
		u, err := call.Report(r.ctx, db.Ent(), store.Now())
		require.NoError(t, err)
		require.Equal(t, call.UsageReport{Plan: identity.Plan{ConcurrentCalls: 1, MaxCallMinutes: 60, Windows: []identity.Window{}}}, u)
		_, err = call.Report(t.Context(), db.Ent(), store.Now())
		require.ErrorIs(t, err, store.ErrNoWorkspace)
	})
}

func TestCallsThatWereNeverDialedDoNotCount(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		want := 0
		for _, s := range statuses {
			c := r.standing(s)
			switch s {
			case call.StatusQueued, call.StatusDialing, call.StatusInProgress, call.StatusCompleted, call.StatusFailed,
				call.StatusNoAnswer, call.StatusBusy:
				want++
			case call.StatusCanceled:
				dialed := r.standing(s)
				require.NoError(t, db.Ent().Call.UpdateOne(dialed).SetDialedAt(store.Now()).Exec(r.ctx))
				want++
			}
			_ = c
		}
		r.plan(100, `{"key":"calls_per_day","limit":100}`)
		u := r.usage(store.Now())[0]
		require.Equal(t, want, u.Used)
		require.Equal(t, 100-want, u.Remaining)
		require.Equal(t, "Calls per day", u.Label)
	})
}

func TestInboundCallsCountAndAreNeverRefused(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(1, `{"key":"calls_per_day","limit":2}`)
		number := r.inbound("+14155550142")
		var last time.Time
		for range 3 {
			c, _, err := call.Receive(r.system, db, "me", time.Minute, call.Inbound{To: number, From: to})
			require.NoError(t, err)
			last = c.CreatedAt
			r.aged(c.ID, time.Hour)
			last = last.Add(-time.Hour)
		}
		u := r.usage(store.Now())[0]
		require.Equal(t, 3, u.Used)
		require.Zero(t, u.Remaining, "never below 0")
		_, err := r.try(call.Request{})
		f := requireCode(t, err, "usage_limit_reached")
		require.False(t, resetsAt(t, f).After(last.Add(24*time.Hour)))
		require.Equal(t, u.ResetsAt, resetsAt(t, f), "the oldest call ageing out frees nothing: the second newest does")
	})
}

func (r *rig) inbound(number string) string {
	r.t.Helper()
	_, err := agent.CreateNumber(r.ctx, r.db, agent.Number{Number: &number, AgentID: &r.agent})
	require.NoError(r.t, err)
	return number
}

func TestMinutesCountAtTheEndAndWhileACallRuns(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(100, `{"key":"minutes_per_day","limit":3}`)
		older, newer := r.standing(call.StatusInProgress), r.standing(call.StatusInProgress)
		r.finish(older.ID, call.Outcome{Status: call.StatusCompleted, Duration: ptr(100)})
		r.finish(newer.ID, call.Outcome{Status: call.StatusCompleted, Duration: ptr(79)})
		r.aged(older.ID, 2*time.Hour)
		older = r.get(older.ID)
		now := store.Now()
		u := r.usage(now)[0]
		require.Equal(t, 2, u.Used, "179 seconds")
		require.Equal(t, 1, u.Remaining)
		require.Equal(t, older.CreatedAt.Add(24*time.Hour), u.ResetsAt)

		running := r.standing(call.StatusInProgress)
		require.NoError(t, db.Ent().Call.UpdateOne(running).SetAnsweredAt(now.Add(-time.Second)).Exec(r.ctx))
		u = r.usage(now)[0]
		require.Equal(t, 3, u.Used)
		require.Zero(t, u.Remaining)
		require.Equal(t, older.CreatedAt.Add(24*time.Hour), u.ResetsAt, "when 100 seconds age out, there is room")
		_, err := r.try(call.Request{})
		f := requireCode(t, err, "usage_limit_reached")
		require.Equal(t, "minutes_per_day", f.Details["key"])

		r.finish(running.ID, call.Outcome{Status: call.StatusCompleted, Duration: ptr(200)})
		u = r.usage(now)[0]
		require.Equal(t, 6, u.Used, "379 seconds")
		require.Equal(t, r.get(running.ID).CreatedAt.Add(24*time.Hour), u.ResetsAt, "only the last one makes room")
	})
}

func TestAnEmptyWindowResetsNow(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(100, `{"key":"calls_per_day","limit":3},{"key":"minutes_per_30_days","limit":3}`)
		now := store.Now()
		for _, u := range r.usage(now) {
			require.Zero(t, u.Used)
			require.Equal(t, 3, u.Remaining)
			require.Equal(t, now, u.ResetsAt)
		}
		c := r.place(call.Request{})
		require.Equal(t, c.CreatedAt.Add(24*time.Hour), r.usage(store.Now())[0].ResetsAt, "while something remains, when the oldest ages out")
		require.Zero(t, r.usage(c.CreatedAt.Add(24 * time.Hour))[0].Used, "at that instant it has")
		require.Equal(t, 1, r.usage(c.CreatedAt.Add(24*time.Hour - time.Millisecond))[0].Used)
	})
}

func TestTheAgentsOwnLimitOfADay(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		limited := r.newAgent(agent.Settings{CallLimit: ptr(2)}).ID
		first := r.place(call.Request{AgentID: limited})
		r.place(call.Request{AgentID: limited})
		_, err := r.try(call.Request{AgentID: limited})
		f := requireCode(t, err, "usage_limit_reached")
		require.Equal(t, "agent_calls_per_day", f.Details["key"])
		require.Equal(t, first.CreatedAt.Add(24*time.Hour), resetsAt(t, f))
		r.place(call.Request{})
		unlimited := r.newAgent(agent.Settings{CallLimit: ptr(0)}).ID
		r.place(call.Request{AgentID: unlimited})
	})
}

// 32 clients, 12 requests each, 60 a day: exactly 60 are taken, whatever the interleaving.
func TestAdmissionIsExactUnderConcurrency(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(5, `{"key":"calls_per_day","limit":60}`)
		old := r.place(call.Request{})
		r.aged(old.ID, time.Hour)
		var admitted, refused atomic.Int32
		var g errgroup.Group
		for range 32 {
			g.Go(func() error {
				for range 12 {
					switch _, err := r.try(call.Request{}); {
					case err == nil:
						admitted.Add(1)
					case fault.Is(err, "usage_limit_reached"):
						refused.Add(1)
					default:
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		require.EqualValues(t, 59, admitted.Load())
		require.EqualValues(t, 32*12-59, refused.Load())
		require.EqualValues(t, 60, r.total())
		u := r.usage(store.Now())[0]
		require.Equal(t, 60, u.Used)
		require.Equal(t, r.get(old.ID).CreatedAt.Add(24*time.Hour), u.ResetsAt)
	})
}
