package call_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	entcall "github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// Calls start, end and lose their process all at once, in two workspaces over several processes. At no instant are more of
// them in flight than the plan has slots; no slot is lost with a dead process once its lease is over; nobody is dialed
// twice; the window takes exactly what it has room for.
func TestSlotsUnderRacingStartsEndsAndKills(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		const slots, window, asked, processes = 3, 40, 60, 6
		ours, theirs := newRig(t, db), newRig(t, db)
		for _, r := range []*rig{ours, theirs} {
			r.plan(slots, `{"key":"calls_per_hour","limit":40}`)
		}
		inFlight := func(r *rig) (int, error) {
			return db.Ent().Call.Query().Where(entcall.InFlight(true), entcall.LeaseUntilGT(store.Now())).Count(r.ctx)
		}
		var mu sync.Mutex
		dialed := map[uuid.UUID]int{}
		var placed, ended, killed atomic.Int64
		var placing, g errgroup.Group
		for _, r := range []*rig{ours, theirs} {
			for range asked / 20 {
				placing.Go(func() error {
					for range 20 {
						switch _, err := r.try(call.Request{}); {
						case err == nil:
							placed.Add(1)
						case !fault.Is(err, "usage_limit_reached"):
							return err
						}
					}
					return nil
				})
			}
		}
		var stop atomic.Bool
		for i := range processes {
			owner := string(rune('a' + i))
			g.Go(func() error {
				random := rand.New(rand.NewPCG(uint64(i), 7))
				for !stop.Load() {
					r := ours
					if random.IntN(2) == 0 {
						r = theirs
					}
					c, err := call.Claim(r.system, db, r.workspace, owner, time.Minute)
					if err != nil {
						return err
					}
					if n, err := inFlight(r); err != nil || n > slots {
						t.Errorf("%d in flight: %v", n, err)
					}
					if c == nil {
						continue
					}
					mu.Lock()
					dialed[c.ID]++
					mu.Unlock()
					if random.IntN(3) == 0 { // the process dies; its minute is over at once
						killed.Add(1)
						err = db.Ent().Call.UpdateOneID(c.ID).SetLeaseUntil(store.Now().Add(-time.Second)).Exec(r.ctx)
					} else {
						ended.Add(1)
						err = call.Finish(r.system, db, c.ID, call.Outcome{Status: call.StatusNoAnswer})
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		g.Go(func() error { // what looks after calls that nobody holds
			for !stop.Load() {
				lost, err := call.Orphans(ours.system, db, store.Now(), 100)
				if err != nil {
					return err
				}
				for _, c := range lost {
					err := call.Finish(ours.system, db, c.ID, call.Outcome{Status: call.StatusFailed, Reason: "worker_lost"})
					if err != nil {
						return err
					}
					ended.Add(1)
				}
			}
			return nil
		})
		require.NoError(t, placing.Wait())
		require.EqualValues(t, 2*window, placed.Load(), "exactly the window's room in each workspace")
		require.Eventually(t, func() bool { return ended.Load() == 2*window }, 60*time.Second, 5*time.Millisecond)
		stop.Store(true)
		require.NoError(t, g.Wait())

		require.Len(t, dialed, 2*window)
		for id, n := range dialed {
			require.Equal(t, 1, n, id)
		}
		require.Positive(t, killed.Load())
		for _, r := range []*rig{ours, theirs} {
			n, err := inFlight(r)
			require.NoError(t, err)
			require.Zero(t, n)
			require.Equal(t, window, r.usage(store.Now())[0].Used)
			require.EqualValues(t, window, r.total())
			r.plan(slots, "")
			for range slots + 1 {
				r.place(call.Request{})
			}
			for range slots {
				require.NotNil(t, r.claim("me"), "every slot is there")
			}
			require.Nil(t, r.claim("me"))
		}
	})
}
