package store_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// two opens a PostgreSQL database as two processes do.
func two(t testing.TB) [2]*store.DB {
	t.Helper()
	c := store.Config{DatabaseURL: storetest.PostgresURL(t)}
	return [2]*store.DB{migrated(t, c), migrated(t, c)}
}

func TestSQLiteHasNoLogOfSeveralProcesses(t *testing.T) {
	require.Nil(t, storetest.SQLite(t).SlidingLog("rest", 100, time.Minute))
	require.Nil(t, storetest.Postgres(t).SlidingLog("rest", store.MaxShared+1, time.Minute))
}

// Over any sequence of requests to one or two processes, no span holds more than the limit, and none is refused with room.
func TestASharedLogAnswersAsAListOfTheAcceptedTimesDoes(t *testing.T) {
	dbs := two(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		limit := rapid.IntRange(1, 5).Draw(rt, "limit")
		processes := rapid.IntRange(1, 2).Draw(rt, "processes")
		now := time.Unix(1_800_000_000, 0)
		var logs [2]*store.SlidingLog
		for i := range logs {
			logs[i] = dbs[i].SlidingLog(fmt.Sprint("run ", run), limit, time.Minute)
			logs[i].SetNow(func() time.Time { return now })
		}
		accepted := map[string][]time.Time{}
		for range rapid.IntRange(1, 40).Draw(rt, "requests") {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, 0, time.Microsecond, time.Second, 20 * time.Second,
				time.Minute - time.Microsecond, time.Minute, 3 * time.Minute}).Draw(rt, "pause"))
			caller := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "caller")
			var inside []time.Time
			for _, at := range accepted[caller] {
				if now.Sub(at) < time.Minute {
					inside = append(inside, at)
				}
			}
			ok, remaining, reset, err := logs[rapid.IntRange(0, processes-1).Draw(rt, "process")].Take(t.Context(), caller)
			require.NoError(rt, err)
			require.Equal(rt, len(inside) < limit, ok)
			if ok {
				inside = append(inside, now)
			}
			accepted[caller] = inside
			require.Equal(rt, limit-len(inside), remaining)
			require.Equal(rt, time.Minute-now.Sub(inside[0]), reset)
		}
	})
}

func TestRacingRequestsToTwoProcessesAreCountedExactly(t *testing.T) {
	dbs := two(t)
	logs := [2]*store.SlidingLog{dbs[0].SlidingLog("x", 100, time.Minute), dbs[1].SlidingLog("x", 100, time.Minute)}
	other := dbs[0].SlidingLog("y", 100, time.Minute)
	var accepted atomic.Int64
	var g errgroup.Group
	for i := range 16 {
		g.Go(func() error {
			for range 25 {
				ok, _, reset, err := logs[i%2].Take(t.Context(), "a")
				if err != nil || reset <= 0 || reset > time.Minute {
					return fmt.Errorf("reset %s: %w", reset, err)
				}
				if ok {
					accepted.Add(1)
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.EqualValues(t, 100, accepted.Load())
	ok, remaining, _, err := other.Take(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, ok, "another name is another log")
	require.Equal(t, 99, remaining)
}

func TestALoweredLimitHolds(t *testing.T) {
	db := storetest.Postgres(t)
	now := time.Unix(1_800_000_000, 0)
	before, after := db.SlidingLog("x", 4, time.Minute), db.SlidingLog("x", 2, time.Minute)
	for _, l := range []*store.SlidingLog{before, after} {
		l.SetNow(func() time.Time { return now })
	}
	for range 4 {
		_, _, _, err := before.Take(t.Context(), "a")
		require.NoError(t, err)
		now = now.Add(10 * time.Second)
	}
	ok, remaining, reset, err := after.Take(t.Context(), "a")
	require.NoError(t, err)
	require.False(t, ok)
	require.Zero(t, remaining)
	require.Equal(t, 40*time.Second, reset, "when the third of the four has aged out, one is left")
	now = now.Add(reset)
	ok, _, _, err = after.Take(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, ok)
}

func TestIdleCallersAreDeleted(t *testing.T) {
	c := store.Config{DatabaseURL: storetest.PostgresURL(t)}
	db := migrated(t, c)
	l := db.SlidingLog("x", 4, time.Minute)
	_, _, _, err := l.Take(t.Context(), "active")
	require.NoError(t, err)
	l.SetNow(func() time.Time { return time.Now().Add(-2 * time.Hour) })
	for i := range 20 {
		_, _, _, err := l.Take(t.Context(), fmt.Sprint("idle", i))
		require.NoError(t, err)
	}
	require.NoError(t, l.Forget(t.Context(), time.Hour))
	var n int
	require.NoError(t, raw(t, c).QueryRow("SELECT count(*) FROM throttle").Scan(&n))
	require.Equal(t, 1, n)
}

func BenchmarkSlidingLog(b *testing.B) {
	l := storetest.Postgres(b).SlidingLog("x", 100, time.Minute)
	for name, callers := range map[string]int{"one caller": 1, "a thousand": 1000} {
		b.Run(name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, _, _, err := l.Take(b.Context(), fmt.Sprint(name, rand.IntN(callers))); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
