package call_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestTheOldestQueuedCallIsClaimedFirstAndCommittedAsDialing(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		require.Nil(t, r.claim("me"), "nothing is queued")
		first, second := r.place(call.Request{}), r.place(call.Request{Test: true})
		got := r.claim("me")
		require.Equal(t, first.ID, got.ID)
		stored := r.get(first.ID)
		require.Equal(t, "dialing", stored.Status)
		require.True(t, stored.InFlight)
		require.Equal(t, "me", stored.LeaseOwner)
		require.NotNil(t, stored.DialedAt)
		require.Equal(t, time.Minute, stored.LeaseUntil.Sub(*stored.DialedAt))
		require.Equal(t, second.ID, r.claim("you").ID)
		require.Nil(t, r.claim("me"))
	})
}

func TestNoMoreCallsAreInFlightThanThePlanAllows(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(2, "")
		for range 4 {
			r.place(call.Request{})
		}
		_, _, err := call.Receive(r.system, db, "me", time.Minute, call.Inbound{To: r.inbound("+14155550142")})
		require.NoError(t, err)
		one := r.claim("me")
		require.NotNil(t, one, "an inbound call holds the other slot")
		require.Nil(t, r.claim("me"))
		waiting, err := call.Waiting(r.system, db.Ent())
		require.NoError(t, err)
		require.Empty(t, waiting, "nothing can be claimed")

		// a lease that ran out holds no slot
		require.NoError(t, db.Ent().Call.UpdateOneID(one.ID).SetLeaseUntil(store.Now().Add(-time.Second)).Exec(r.ctx))
		waiting, err = call.Waiting(r.system, db.Ent())
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{r.workspace}, waiting)
		require.NotNil(t, r.claim("me"))
		require.Nil(t, r.claim("me"))
	})
}

func TestWorkspacesDoNotTakeEachOthersSlotsOrCalls(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		a, b := newRig(t, db), newRig(t, db)
		a.plan(1, "")
		a.place(call.Request{})
		a.place(call.Request{})
		mine := b.place(call.Request{})
		require.NotNil(t, a.claim("me"))
		require.Nil(t, a.claim("me"))
		require.Equal(t, mine.ID, b.claim("me").ID)
	})
}

// 16 processes claim 60 calls with room for 7: each call is claimed once, never more than 7 run.
func TestManyProcessesClaimEachCallOnce(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(7, "")
		const calls = 60
		for range calls {
			r.place(call.Request{})
		}
		var mu sync.Mutex
		claimed := map[uuid.UUID]int{}
		var running, most atomic.Int32
		var g errgroup.Group
		for range 16 {
			g.Go(func() error {
				for {
					mu.Lock()
					done := len(claimed) == calls
					mu.Unlock()
					if done {
						return nil
					}
					c, err := call.Claim(r.system, db, r.workspace, "me", time.Minute)
					if err != nil {
						return err
					}
					if c == nil {
						continue
					}
					n := running.Add(1)
					for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
					}
					mu.Lock()
					claimed[c.ID]++
					mu.Unlock()
					running.Add(-1)
					err = call.Finish(r.system, db, c.ID, call.Outcome{Status: call.StatusBusy})
					if err != nil {
						return err
					}
				}
			})
		}
		require.NoError(t, g.Wait())
		for id, n := range claimed {
			require.Equal(t, 1, n, id)
		}
		require.LessOrEqual(t, most.Load(), int32(7))
		require.EqualValues(t, calls, r.total())
	})
}

// Every interleaving of placing, claiming and ending leaves either a job or nothing to do.
func TestNoWaitingCallIsForgotten(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(1, "")
		const calls = 30
		var dialed atomic.Int32
		workers := river.NewWorkers()
		river.AddWorker(workers, &dialer{r: r, dialed: &dialed})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- db.RunJobs(ctx, store.JobsConfig{Workers: workers, Queues: map[string]int{call.QueueVoice: 4}})
		}()
		var g errgroup.Group
		for range 3 {
			g.Go(func() error {
				for range calls / 3 {
					if _, err := r.try(call.Request{}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		require.Eventually(t, func() bool { return dialed.Load() == calls }, 30*time.Second, 5*time.Millisecond)
		stop()
		require.NoError(t, <-done)
	})
}

// dialer claims one call for each job and ends it at once: a job that is missing leaves a call behind.
type dialer struct {
	river.WorkerDefaults[call.Dial]
	r      *rig
	dialed *atomic.Int32
}

func (d *dialer) Work(ctx context.Context, job *river.Job[call.Dial]) error {
	ctx = store.System(ctx)
	c, err := call.Claim(ctx, d.r.db, job.Args.WorkspaceID, "me", time.Minute)
	if err != nil || c == nil {
		return err
	}
	d.dialed.Add(1)
	return call.Finish(ctx, d.r.db, c.ID, call.Outcome{Status: call.StatusNoAnswer})
}

func TestLeasesAreRenewedByTheirOwnerOnly(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		for range 5 {
			r.place(call.Request{})
		}
		kept, canceled, ended, foreign, late := r.claim("me"), r.claim("me"), r.claim("me"), r.claim("you"), r.claim("me")
		r.finish(ended.ID, call.Outcome{Status: call.StatusBusy})
		_, err := call.Cancel(r.ctx, db, canceled.ID)
		require.NoError(t, err)
		require.NoError(t, db.Ent().Call.UpdateOneID(late.ID).SetLeaseUntil(store.Now().Add(-time.Second)).Exec(r.ctx))

		ids := []uuid.UUID{kept.ID, canceled.ID, ended.ID, foreign.ID, late.ID, uuid.Nil}
		got, lost, err := call.Renew(r.system, db, "me", ids, time.Hour)
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{canceled.ID}, got)
		require.ElementsMatch(t, []uuid.UUID{ended.ID, foreign.ID, uuid.Nil}, lost)
		for _, id := range []uuid.UUID{kept.ID, canceled.ID, late.ID} {
			require.Greater(t, time.Until(*r.get(id).LeaseUntil), 50*time.Minute)
		}
		require.Less(t, time.Until(*r.get(foreign.ID).LeaseUntil), 2*time.Minute)

		wanted, err := call.CancelRequested(r.system, db.Ent(), "me")
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{canceled.ID}, wanted)
		wanted, err = call.CancelRequested(r.system, db.Ent(), "you")
		require.NoError(t, err)
		require.Empty(t, wanted)

		none, lost, err := call.Renew(r.system, db, "me", nil, time.Hour)
		require.NoError(t, err)
		require.Empty(t, none)
		require.Empty(t, lost)
	})
}

func TestCallsWhoseLeaseRanOutAreOrphans(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		for range 3 {
			r.place(call.Request{})
		}
		a, b, c := r.claim("dead"), r.claim("dead"), r.claim("dead")
		r.finish(c.ID, call.Outcome{Status: call.StatusBusy})
		orphans, err := call.Orphans(r.system, db, store.Now(), 10)
		require.NoError(t, err)
		require.Empty(t, orphans)
		orphans, err = call.Orphans(r.system, db, store.Now().Add(2*time.Minute), 10)
		require.NoError(t, err)
		require.Len(t, orphans, 2)
		require.Equal(t, a.ID, orphans[0].ID)
		require.Equal(t, b.ID, orphans[1].ID)
		orphans, err = call.Orphans(r.system, db, store.Now().Add(2*time.Minute), 1)
		require.NoError(t, err)
		require.Len(t, orphans, 1)
	})
}

func TestAnInboundCallIsRecordedForTheNumbersAgent(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		number := r.inbound("+14155550142")
		for from, want := range map[string]string{
			"+4401632960961": "+441632960961", "anonymous": "anonymous", "": "", "a b": "", "ü": "", "\x00": "",
		} {
			c, a, err := call.Receive(r.system, db, "me", time.Minute, call.Inbound{To: number, From: from})
			require.NoError(t, err, from)
			require.Equal(t, r.agent, a.ID)
			got := r.get(c.ID)
			require.Equal(t, "inbound", got.Direction)
			require.Equal(t, "dialing", got.Status)
			require.Equal(t, number, got.ToNumber)
			require.Equal(t, want, got.FromNumber)
			require.True(t, got.InFlight)
			require.Equal(t, "me", got.LeaseOwner)
			require.Empty(t, got.Variables)
			require.Equal(t, "{}", got.Metadata)
		}
		require.EqualValues(t, 6, r.total())

		_, _, err := call.Receive(r.system, db, "me", time.Minute, call.Inbound{To: "+14155550199"})
		requireCode(t, err, "phone_number_not_found")
		_, err = agent.Update(r.ctx, db, r.agent, agent.Settings{Status: ptr("inactive")}, nil)
		require.NoError(t, err)
		_, _, err = call.Receive(r.system, db, "me", time.Minute, call.Inbound{To: number})
		requireCode(t, err, "agent_inactive")
		require.EqualValues(t, 6, r.total())
	})
}
