package call_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// question is a filter of list_calls.
type question struct {
	name string
	ask  func(*call.Search)
}

// year fills a workspace with a year of n mixed calls: half of them one agent's, 1 in 100 a test. It returns filters that
// match many of them, few and none.
func (r *rig) year(n int) []question {
	r.t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []uuid.UUID {
		ids := make([]uuid.UUID, n)
		for i := range ids {
			ids[i] = store.NewID()
		}
		return ids
	}
	agents, contacts, campaigns := draw(20), draw(max(n/10, 1)), draw(50)
	end := store.Now().Truncate(time.Second)
	tests := 0
	for from := 0; from < n; from += 1000 {
		var batch []*ent.CallCreate
		for i := from; i < min(from+1000, n); i++ {
			at := end.Add(-time.Duration(n-i) * (365 * 24 * time.Hour / time.Duration(n)))
			person := random.IntN(len(contacts))
			c := r.db.Ent().Call.Create().SetWorkspaceID(r.workspace).SetCreatedAt(at).SetQueuedAt(at).SetDialedAt(at).SetEndedAt(at).
				SetDirection("outbound").SetToNumber(fmt.Sprintf("+1500%07d", person)).SetFromNumber(fmt.Sprintf("+1600%07d", i%10)).
				SetAgentID(agents[0]).SetContactID(contacts[person]).SetMetadata(`{"order":"12345678"}`)
			if i%2 == 1 {
				c.SetAgentID(agents[random.IntN(20)])
			}
			switch p := random.IntN(100); {
			case p < 20:
				c.SetDirection("inbound")
			case p < 80:
				c.SetCampaignID(campaigns[random.IntN(50)])
			}
			switch p := random.IntN(100); {
			case p < 45:
				c.SetStatus("completed").SetAnsweredBy("human").SetDuration(random.IntN(600))
			case p < 60:
				c.SetStatus("completed").SetAnsweredBy("voicemail").SetDuration(random.IntN(60))
			case p < 61:
				c.SetStatus("completed").SetAnsweredBy("ivr").SetDuration(random.IntN(60))
			case p < 85:
				c.SetStatus("no-answer")
			default:
				c.SetStatus("failed")
			}
			if random.IntN(100) == 0 {
				tests++
				c.SetTest(true)
			}
			batch = append(batch, c)
		}
		require.NoError(r.t, r.db.Ent().Call.CreateBulk(batch...).Exec(r.system))
	}
	require.NoError(r.t, r.db.Ent().CallCount.Create().SetWorkspaceID(r.workspace).SetTotal(int64(n)).SetTest(int64(tests)).Exec(r.system))
	storetest.Settle(r.t, r.db)
	none := uuid.New()
	day := func(ago int) string { return end.AddDate(0, 0, -ago).Format(time.DateOnly) }
	return []question{
		{"agent", func(q *call.Search) { q.AgentID = &agents[0] }},
		{"agent without calls", func(q *call.Search) { q.AgentID = &none }},
		{"contact", func(q *call.Search) { q.ContactID = &contacts[0] }},
		{"campaign", func(q *call.Search) { q.CampaignID = &campaigns[0] }},
		{"status", func(q *call.Search) { q.Status = "completed" }},
		{"status of none", func(q *call.Search) { q.Status = "skipped" }},
		{"direction", func(q *call.Search) { q.Direction = "outbound" }},
		{"from_date", func(q *call.Search) { q.From = day(300) }},
		{"to_date", func(q *call.Search) { q.To = day(20) }},
		{"to_number", func(q *call.Search) { q.ToNumber = "+15000000000" }},
		{"from_number", func(q *call.Search) { q.FromNumber = "+16000000003" }},
		{"from_number of none", func(q *call.Search) { q.FromNumber = "+16000000099" }},
		{"min_duration", func(q *call.Search) { q.MinDuration = ptr(10) }},
		{"min_duration of none", func(q *call.Search) { q.MinDuration = ptr(100000) }},
		{"max_duration", func(q *call.Search) { q.MaxDuration = ptr(500) }},
		{"answered_by", func(q *call.Search) { q.AnsweredBy = "human" }},
		{"answered_by, rare", func(q *call.Search) { q.AnsweredBy = "ivr" }},
	}
}

// BenchmarkFind is list_calls of the tool server: alone and with each filter, on the first page and on the last one that
// can be asked for; and the slowest pair of filters. The goal is 300 ms for each at BENCH_CALLS=1000000.
func BenchmarkFind(b *testing.B) {
	bothDatabases(b, func(b *testing.B, r *rig) {
		filters := r.year(benchRows(b))
		find := func(b *testing.B, ask ...func(*call.Search)) {
			q := call.Search{Limit: 20}
			for _, f := range ask {
				f(&q)
			}
			_, _, err := call.Find(r.ctx, r.db.Ent(), q)
			require.NoError(b, err)
		}
		last := func(q *call.Search) { q.Offset = 1_000_000 }
		alone := append([]question{
			{"all", func(*call.Search) {}},
			{"tests too", func(q *call.Search) { q.IncludeTest = true }},
			{"oldest first", func(q *call.Search) { q.OldestFirst = true }},
		}, filters...)
		for _, f := range alone {
			b.Run(f.name+"/first page", func(b *testing.B) { median(b, func() { find(b, f.ask) }) })
			b.Run(f.name+"/offset 1000000", func(b *testing.B) { median(b, func() { find(b, f.ask, last) }) })
		}
		b.Run("pairs", func(b *testing.B) {
			var worst time.Duration
			var which string
			for i, f := range filters {
				for _, g := range filters[:i] {
					took := time.Duration(1<<63 - 1)
					for range 2 {
						began := time.Now()
						find(b, f.ask, g.ask)
						took = min(took, time.Since(began))
					}
					if took > worst {
						worst, which = took, g.name+" and "+f.name
					}
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(worst.Microseconds())/1000, "slowest-ms")
			b.Log("the slowest pair: ", which)
		})
	})
}

// median runs f and reports the middle of what it took, and what it took of this process's processors: on SQLite that is
// what it takes on a quiet machine.
func median(b *testing.B, f func()) {
	var took []time.Duration
	before := processors(b)
	defer func() {
		b.ReportMetric(float64((processors(b)-before).Microseconds())/1000/float64(len(took)), "cpu-ms")
	}()
	for b.Loop() {
		began := time.Now()
		f()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}

func processors(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
