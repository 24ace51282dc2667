package call_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/ent"
	entcall "github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// windowKinds are the windows of a plan: length, and whether they count minutes.
var windowKinds = map[string]struct {
	length  time.Duration
	minutes bool
}{
	"calls_per_hour": {time.Hour, false}, "calls_per_day": {24 * time.Hour, false}, "calls_per_30_days": {720 * time.Hour, false},
	"minutes_per_day": {24 * time.Hour, true}, "minutes_per_30_days": {720 * time.Hour, true},
}

// modelUse is what a window holds, call by call: CONTRACT.md §2, Usage.
func modelUse(rows []*ent.Call, key string, limit int, now time.Time) (used int, resets time.Time) {
	kind := windowKinds[key]
	var inside []*ent.Call
	for _, c := range rows { // oldest first
		dialed := c.Status != "canceled" || c.DialedAt != nil
		switch call.Status(c.Status) {
		case call.StatusNotScheduled, call.StatusScheduled, call.StatusPaused, call.StatusBlocked, call.StatusSkipped:
			dialed = false
		}
		if c.QueuedAt != nil && dialed && c.QueuedAt.After(now.Add(-kind.length)) {
			inside = append(inside, c)
		}
	}
	size := func(c *ent.Call) int {
		switch {
		case !kind.minutes:
			return 1
		case c.Duration != nil:
			return *c.Duration
		case call.Status(c.Status) == call.StatusInProgress:
			return int(now.Sub(*c.AnsweredAt) / time.Second)
		}
		return 0
	}
	sum := 0
	for _, c := range inside {
		sum += size(c)
	}
	unit := 1
	if kind.minutes {
		unit = 60
	}
	used, resets = sum/unit, now
	switch {
	case limit == 0:
		return used, now.Add(kind.length)
	case len(inside) > 0 && used < limit:
		return used, inside[0].QueuedAt.Add(kind.length)
	}
	for _, c := range inside {
		if sum < limit*unit {
			break
		}
		sum -= size(c)
		resets = c.QueuedAt.Add(kind.length)
	}
	return used, resets
}

// Whatever happens to calls by way of rows, one or many in a statement, the windows say what counting each call says.
func TestWindowsAreWhatCountingEachCallSays(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			r := newRig(t, db)
			now := store.Now().Truncate(time.Millisecond)
			when := func() time.Time {
				back := rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour, 24 * time.Hour, 720 * time.Hour}).Draw(rt, "back")
				near := rapid.SampledFrom([]time.Duration{-time.Hour, -time.Minute, -time.Second, -time.Millisecond, 0, time.Millisecond,
					time.Second, time.Minute, 59 * time.Minute}).Draw(rt, "near")
				return now.Add(-back + near)
			}
			status := func() string { return string(rapid.SampledFrom(statuses).Draw(rt, "status")) }
			create := func() *ent.CallCreate {
				c := db.Ent().Call.Create().SetWorkspaceID(r.workspace).SetDirection("outbound").SetStatus(status()).SetToNumber(to).SetFromNumber(to)
				if rapid.IntRange(0, 5).Draw(rt, "waits") > 0 {
					c.SetQueuedAt(when())
				}
				if rapid.Bool().Draw(rt, "dialed") {
					c.SetDialedAt(now)
				}
				return c.SetInFlight(true).SetLeaseUntil(now.Add(time.Hour)).SetAnsweredAt(now.Add(-time.Duration(rapid.IntRange(0, 300).Draw(rt, "talks")) * time.Second))
			}
			for range rapid.IntRange(1, 8).Draw(rt, "steps") {
				some := db.Ent().Call.Update().Where(entcall.QueuedAtGT(when()))
				switch rapid.IntRange(0, 5).Draw(rt, "step") {
				case 0, 1:
					many := make([]*ent.CallCreate, rapid.IntRange(1, 6).Draw(rt, "calls"))
					for i := range many {
						many[i] = create()
					}
					require.NoError(rt, db.Ent().Call.CreateBulk(many...).Exec(r.ctx))
				case 2:
					require.NoError(rt, some.SetStatus(status()).Exec(r.ctx))
				case 3:
					require.NoError(rt, some.SetStatus("completed").SetDuration(rapid.IntRange(0, 400).Draw(rt, "seconds")).Exec(r.ctx))
				case 4:
					_, err := db.Ent().Call.Delete().Where(entcall.QueuedAtGT(when()), entcall.Status(status())).Exec(r.ctx)
					require.NoError(rt, err)
				case 5:
					if rapid.Bool().Draw(rt, "later") {
						require.NoError(rt, some.SetQueuedAt(when()).ClearDuration().Exec(r.ctx))
					} else {
						require.NoError(rt, some.SetStatus("scheduled").ClearQueuedAt().Exec(r.ctx))
					}
				}
			}
			// A call whose duration is known does not talk.
			require.NoError(rt, db.Ent().Call.Update().Where(entcall.DurationNotNil(), entcall.Status("in-progress")).SetStatus("completed").Exec(r.ctx))
			rows, err := db.Ent().Call.Query().Order(entcall.ByQueuedAt(), entcall.ByID()).All(r.ctx)
			require.NoError(rt, err)
			for key := range windowKinds {
				limit := rapid.IntRange(0, 12).Draw(rt, "limit of "+key)
				r.plan(100, fmt.Sprintf(`{"key":%q,"limit":%d}`, key, limit))
				at := now.Add(rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second, time.Minute}).Draw(rt, "asked"))
				u := r.usage(at)[0]
				used, resets := modelUse(rows, key, limit, at)
				require.Equal(rt, used, u.Used, key)
				require.Equal(rt, max(limit-used, 0), u.Remaining, key)
				require.Equal(rt, resets, u.ResetsAt, "%s, limit %d", key, limit)
			}
		})
	})
}

func TestSpansThatNoWindowReachesAreDeleted(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r, other := newRig(t, db), newRig(t, db)
		for _, r := range []*rig{r, other} {
			r.aged(r.place(call.Request{}).ID, 29*24*time.Hour)
			r.aged(r.place(call.Request{}).ID, 32*24*time.Hour)
		}
		spans := func(r *rig) int {
			n, err := db.Ent().CallSpan.Query().Count(r.ctx)
			require.NoError(t, err)
			return n
		}
		before := spans(other)
		require.NoError(t, db.InTx(r.ctx, func(ctx context.Context, tx *store.Tx) error {
			return call.ForgetSpans(ctx, tx, r.workspace, store.Now())
		}))
		require.Equal(t, before-2, spans(r), "an hour and a minute")
		require.Equal(t, before, spans(other))
		r.plan(1, `{"key":"calls_per_30_days","limit":5}`)
		require.Equal(t, 1, r.usage(store.Now())[0].Used)
	})
}

// A window with 50,000 calls of a day, half used, beside counting as far as the limit says.
func BenchmarkWindow(b *testing.B) {
	bothDatabases(b, func(b *testing.B, r *rig) {
		const n = 50_000
		start := store.Now().Add(-24 * time.Hour)
		for from := 0; from < n; from += 1000 {
			many := make([]*ent.CallCreate, 1000)
			for i := range many {
				at := start.Add(time.Duration(from+i) * 24 * time.Hour / n)
				many[i] = r.db.Ent().Call.Create().SetWorkspaceID(r.workspace).SetDirection("outbound").SetStatus("completed").
					SetToNumber(to).SetFromNumber(to).SetDuration(rand.IntN(300)).SetCreatedAt(at).SetQueuedAt(at).SetAgentID(r.agent)
			}
			require.NoError(b, r.db.Ent().Call.CreateBulk(many...).Exec(r.system))
		}
		require.NoError(b, r.db.Ent().CallCount.Create().SetWorkspaceID(r.workspace).SetTotal(3*n).Exec(r.system))
		b.Run("counting", func(b *testing.B) {
			for b.Loop() {
				_, err := call.CountedUntil(r.ctx, r.db.Ent(), start, 2*n)
				require.NoError(b, err)
			}
		})
		r.plan(100, fmt.Sprintf(`{"key":"calls_per_day","limit":%d},{"key":"minutes_per_day","limit":%d}`, 2*n, 100*n))
		b.Run("usage", func(b *testing.B) {
			for b.Loop() {
				r.usage(store.Now())
			}
		})
		b.Run("place", func(b *testing.B) {
			for b.Loop() {
				r.place(call.Request{})
			}
		})
		r.plan(100, `{"key":"calls_per_day","limit":100}`)
		b.Run("refuse", func(b *testing.B) {
			for b.Loop() {
				_, err := r.try(call.Request{})
				requireCode(b, err, "usage_limit_reached")
			}
		})
	})
}
