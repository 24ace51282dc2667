package call_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store/storetest"
)

// BenchmarkListAtSizes lists calls of a workspace with 1,000 of them and of one with many in the same database, in turns:
// 20,000, or BENCH_CALLS. Both p50 should be within 20 percent of each other.
func BenchmarkListAtSizes(b *testing.B) {
	n := 20_000
	if many, err := strconv.Atoi(os.Getenv("BENCH_CALLS")); err == nil {
		n = many
	}
	bothDatabases(b, func(b *testing.B, large *rig) {
		small := newRig(b, large.db)
		small.many(1000)
		large.many(n)
		storetest.Settle(b, large.db)
		for name, q := range map[string]call.Query{
			"first page": {}, "fifty": {Take: ptr(50)}, "far": {Take: ptr(50), Skip: 900},
			"by status": {Where: `{"status":"completed"}`, Take: ptr(1)},
		} {
			b.Run(name, func(b *testing.B) {
				took := map[*rig][]time.Duration{}
				for b.Loop() {
					for _, r := range []*rig{small, large} {
						start := time.Now()
						p, err := call.List(r.ctx, r.db.Ent(), q)
						took[r] = append(took[r], time.Since(start))
						require.NoError(b, err)
						require.NotEmpty(b, p.Calls)
					}
				}
				p50 := func(r *rig) float64 {
					slices.Sort(took[r])
					return float64(took[r][len(took[r])/2].Microseconds())
				}
				b.ReportMetric(p50(small), "p50-µs-1000")
				b.ReportMetric(p50(large), fmt.Sprintf("p50-µs-%d", n))
				b.ReportMetric(p50(large)/p50(small), "ratio")
				b.ReportMetric(0, "ns/op")
			})
		}
	})
}
