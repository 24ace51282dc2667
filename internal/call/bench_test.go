package call_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// benchRows is how many calls the workspace has: 1,000, or BENCH_CALLS (1000000 takes minutes to fill).
func benchRows(b *testing.B) int {
	b.Helper()
	n, err := strconv.Atoi(os.Getenv("BENCH_CALLS"))
	if err != nil {
		return 1000
	}
	return n
}

func bothDatabases(b *testing.B, f func(b *testing.B, r *rig)) {
	for name, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(name, func(b *testing.B) { f(b, newRig(b, open(b))) })
	}
}

func BenchmarkCalls(b *testing.B) {
	bothDatabases(b, func(b *testing.B, r *rig) {
		n := benchRows(b)
		all := r.many(n)
		b.Run("get", func(b *testing.B) {
			for b.Loop() {
				_, err := call.Get(r.ctx, r.db.Ent(), all[rand.IntN(n)])
				require.NoError(b, err)
			}
		})
		for name, q := range map[string]call.Query{
			"list 50":            {Take: ptr(50)},
			"list 50, deep":      {Take: ptr(50), Skip: n - 50},
			"list 50, by status": {Take: ptr(50), Where: `{"status":"failed"}`},
			"list 50, by day":    {Take: ptr(50), Where: `{"created_at":{"gte":"2020-01-01"}}`},
		} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					_, err := call.List(r.ctx, r.db.Ent(), q)
					require.NoError(b, err)
				}
			})
		}
		b.Run("place", func(b *testing.B) {
			r.plan(100, `{"key":"calls_per_day","limit":100000000},{"key":"calls_per_hour","limit":100000000}`)
			for b.Loop() {
				r.place(call.Request{})
			}
		})
		// With more calls in the workspace than the limit the window must be looked into: here half of it is used.
		b.Run("place, half the window used", func(b *testing.B) {
			require.NoError(b, r.db.Ent().CallCount.Update().AddTotal(int64(3*n)).Exec(r.ctx))
			r.plan(100, fmt.Sprintf(`{"key":"calls_per_day","limit":%d},{"key":"minutes_per_day","limit":%d}`, 2*n, 100*n))
			for b.Loop() {
				r.place(call.Request{})
			}
		})
		b.Run("claim and finish", func(b *testing.B) {
			for b.Loop() {
				c, err := call.Claim(r.system, r.db, r.workspace, "me", time.Minute)
				require.NoError(b, err)
				if c == nil {
					b.StopTimer()
					r.place(call.Request{})
					b.StartTimer()
					continue
				}
				r.finish(c.ID, call.Outcome{Status: call.StatusBusy})
			}
		})
	})
}
