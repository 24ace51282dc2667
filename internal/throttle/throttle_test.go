package throttle_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/internal/throttle"
)

func TestRoomComesBackWhenTheOldestRequestIsASpanOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := throttle.New(2, time.Minute)
		require.Equal(t, throttle.Verdict{OK: true, Remaining: 1, Reset: time.Minute}, l.Take(t.Context(), "a"))
		time.Sleep(20 * time.Second)
		require.Equal(t, throttle.Verdict{OK: true, Remaining: 0, Reset: 40 * time.Second}, l.Take(t.Context(), "a"))
		require.Equal(t, throttle.Verdict{Reset: 40 * time.Second}, l.Take(t.Context(), "a"))
		require.True(t, l.Look("b").OK)
		require.True(t, l.Take(t.Context(), "b").OK, "each caller has its own")

		time.Sleep(40*time.Second - 1)
		require.False(t, l.Take(t.Context(), "a").OK, "what was refused did not count, and nothing has aged out")
		time.Sleep(time.Nanosecond)
		require.True(t, l.Take(t.Context(), "a").OK)
		require.Equal(t, throttle.Verdict{Reset: 20 * time.Second}, l.Look("a"))
		require.Equal(t, 2, l.Callers())
	})
}

// common is the log that two processes share, as a list of times would answer, with failures.
type common struct {
	log   *throttle.Log
	asked int
	fails bool
}

func (c *common) take(ctx context.Context, caller string) (throttle.Verdict, error) {
	if c.asked++; c.fails {
		return throttle.Verdict{}, errors.New("away")
	}
	return c.log.Take(ctx, caller), nil
}

// Two processes with a shared log answer as a list of the accepted times does; who is refused is not asked about again.
func TestTwoProcessesShareOneLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
			limit := rapid.IntRange(1, 5).Draw(t, "limit")
			c := &common{log: throttle.New(limit, time.Minute)}
			processes := [2]*throttle.Log{}
			for i := range processes {
				processes[i] = throttle.NewShared(limit, time.Minute, c.take, slog.New(slog.DiscardHandler))
			}
			var accepted []time.Time
			refusedBy := map[*throttle.Log]bool{}
			for range rapid.IntRange(1, 60).Draw(t, "requests") {
				if d := rapid.SampledFrom([]int{0, 0, 0, 1, 999, 10_000, 59_999, 60_000}).Draw(t, "pause ms"); d > 0 {
					time.Sleep(time.Duration(d) * time.Millisecond)
					refusedBy = map[*throttle.Log]bool{}
				}
				now, asked := time.Now(), c.asked
				accepted = slices.DeleteFunc(accepted, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
				l := processes[rapid.IntRange(0, 1).Draw(t, "process")]
				v := l.Take(context.Background(), "a")
				require.Equal(t, len(accepted) < limit, v.OK)
				if v.OK {
					accepted = append(accepted, now)
				}
				require.Equal(t, limit-len(accepted), v.Remaining)
				require.Equal(t, time.Minute-now.Sub(accepted[0]), v.Reset)
				if refusedBy[l] {
					require.Equal(t, asked, c.asked, "known to be refused")
				}
				refusedBy[l] = !v.OK
			}
		})
	})
}

func TestWithoutTheSharedLogEachProcessCountsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &common{log: throttle.New(3, time.Minute)}
		l := throttle.NewShared(3, time.Minute, c.take, slog.New(slog.DiscardHandler))
		require.True(t, l.Take(t.Context(), "a").OK)
		c.fails = true
		require.True(t, l.Take(t.Context(), "a").OK)
		require.True(t, l.Take(t.Context(), "a").OK)
		require.False(t, l.Take(t.Context(), "a").OK, "what it has let pass before counts")
		require.True(t, l.Take(t.Context(), "b").OK)
		require.Equal(t, 2, c.asked, "a log that failed is left alone for a second")
		time.Sleep(time.Second)
		c.fails = false
		require.True(t, l.Take(t.Context(), "b").OK)
		require.Equal(t, 3, c.asked)

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		c.fails = true
		l.Take(gone, "c")
		l.Take(t.Context(), "c")
		require.Equal(t, 5, c.asked, "a client that went away says nothing about the log")
	})
}
