// Package carriertest holds the promises of carrier.Media as a test that every line has to pass.
package carriertest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

// Line is a leg's sound as the test needs it.
type Line struct {
	carrier.Media
	// Marks takes the marks that were passed since the last time.
	Marks func() []carrier.Event
	// End ends the leg.
	End func()
}

// Media tests the sound of legs that open makes; each test has its own. It must run in a bubble of testing/synctest.
func Media(t *testing.T, open func(t *testing.T) Line) {
	var turns sync.Mutex // the line writes down, or the test looks
	frames := func(l Line, n int) (at []time.Duration) {
		turns.Lock()
		//lint:ignore SA2001 what the line has written down, it has written before
		turns.Unlock()
		var f carrier.Frame
		for range n {
			require.NoError(t, l.ReadFrame(&f))
			at = append(at, f.At)
		}
		return at
	}
	l := open(t)
	var agent []int16
	var ticks []time.Duration
	l.Tap(func(k carrier.Tick) {
		turns.Lock()
		defer turns.Unlock()
		agent, ticks = append(agent, k.Agent[:]...), append(ticks, k.At)
	})

	// Time goes in frames of 20 ms, for the reader and for the tap alike.
	first := frames(l, 5)
	for i, at := range first {
		require.Equal(t, time.Duration(i+1)*audio.FrameTime, at)
	}
	require.Equal(t, first, ticks[:5])

	// Sound is played whole and in order, and marks are told when they are passed.
	one, two := audio.Tone(400, 0.3, 100*time.Millisecond), audio.Tone(700, 0.3, 100*time.Millisecond)
	require.NoError(t, l.Enqueue(1, one))
	require.NoError(t, l.Mark(1, "between"))
	require.NoError(t, l.Enqueue(2, two))
	require.NoError(t, l.Mark(2, "end"))
	frames(l, 12)
	at := contains(agent, slices.Concat(one, two))
	require.GreaterOrEqual(t, at, 0)
	marks := l.Marks()
	require.Len(t, marks, 2)
	require.Equal(t, []any{"between", uint64(1), "end", uint64(2)}, []any{marks[0].Mark, marks[0].Turn, marks[1].Mark, marks[1].Turn})
	require.Equal(t, audio.Duration(len(one)), marks[1].At-marks[0].At, "as far apart as the sound between them")

	// A mark with nothing queued is told with the next frame.
	require.NoError(t, l.Mark(3, "idle"))
	frames(l, 2)
	require.Len(t, l.Marks(), 1)

	// Barge-in: what is queued is gone, what was heard is told, later sound of the turn is refused, of the next one not.
	require.NoError(t, l.Enqueue(4, audio.Tone(400, 0.3, 10*time.Second)))
	require.NoError(t, l.Mark(4, "never"))
	frames(l, 50)
	heard := l.Clear(4)
	require.InDelta(t, 1000, heard.Milliseconds(), 40)
	require.ErrorIs(t, l.Enqueue(4, one), carrier.ErrCleared)
	require.ErrorIs(t, l.Mark(4, "x"), carrier.ErrCleared)
	require.NoError(t, l.Enqueue(5, two))
	frames(l, 10)
	require.Empty(t, l.Marks())
	require.GreaterOrEqual(t, contains(agent, two), 0)

	// The queue is bounded and says so; it has room again as it is played.
	for range int(carrier.PlayoutLimit / time.Second) {
		require.NoError(t, l.Enqueue(6, make([]int16, audio.Rate)))
	}
	require.ErrorIs(t, l.Enqueue(6, make([]int16, audio.Rate)), carrier.ErrFull)
	frames(l, 60)
	require.NoError(t, l.Enqueue(6, make([]int16, audio.Rate)))

	// Without a tap nobody is told.
	l.Tap(nil)
	frames(l, 1) // one that had begun
	told := len(ticks)
	frames(l, 5)
	require.Len(t, ticks, told)

	// The end is the same for all, and Clear still knows.
	l.End()
	var f carrier.Frame
	ended := carrier.EndedOf(l.ReadFrame(&f))
	require.NotEmpty(t, ended.Reason)
	require.Same(t, ended, carrier.EndedOf(l.ReadFrame(&f)))
	require.Same(t, ended, carrier.EndedOf(l.Enqueue(9, one)))
	require.Same(t, ended, carrier.EndedOf(l.Mark(9, "x")))
	require.Positive(t, l.Clear(6))
}

// contains is where a sound begins in another; -1 where it does not.
func contains(hay, needle []int16) int {
	for i := 0; i+len(needle) <= len(hay); i++ {
		if slices.Equal(hay[i:i+len(needle)], needle) {
			return i
		}
	}
	return -1
}
