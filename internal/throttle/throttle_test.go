package throttle_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

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
