package carrier_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

// sound is d of samples with a value.
func sound(value int16, d time.Duration) []int16 {
	pcm := make([]int16, audio.Samples(d))
	for i := range pcm {
		pcm[i] = value
	}
	return pcm
}

// play takes n frames and writes down the first and last sample of each and the marks.
func play(p *carrier.Playout, n int) (log []string) {
	for range n {
		var f audio.Frame
		playing := p.Fill(&f, func(turn uint64, mark string) { log = append(log, fmt.Sprintf("%s/%d", mark, turn)) })
		log = append(log, fmt.Sprintf("%d..%d %v", f[0], f[159], playing))
	}
	return log
}

func TestPlayout(t *testing.T) {
	t.Run("plays turns in order, joins pieces and ends with silence", func(t *testing.T) {
		var p carrier.Playout
		require.NoError(t, p.Enqueue(1, sound(1, 30*time.Millisecond)))
		require.NoError(t, p.Enqueue(2, sound(2, 20*time.Millisecond)))
		require.Equal(t, []string{"1..1 true", "1..2 true", "2..0 true", "0..0 false"}, play(&p, 4))
	})
	t.Run("tells of a mark in the frame that reaches it", func(t *testing.T) {
		var p carrier.Playout
		require.NoError(t, p.Mark(1, "start"))
		require.NoError(t, p.Enqueue(1, sound(1, 40*time.Millisecond)))
		require.NoError(t, p.Mark(1, "end"))
		require.Equal(t, []string{"start/1", "1..1 true", "end/1", "1..1 true", "0..0 false"}, play(&p, 3))
		require.NoError(t, p.Mark(1, "idle"))
		require.Equal(t, []string{"idle/1", "0..0 false"}, play(&p, 1))
	})
	t.Run("clearing a turn tells what was heard of it and refuses the rest", func(t *testing.T) {
		var p carrier.Playout
		require.NoError(t, p.Enqueue(1, sound(1, 20*time.Millisecond)))
		require.NoError(t, p.Enqueue(2, sound(2, time.Second)))
		require.NoError(t, p.Mark(2, "end"))
		require.NoError(t, p.Enqueue(3, sound(3, 20*time.Millisecond)))
		play(&p, 3)
		require.Equal(t, 40*time.Millisecond, p.Clear(2))
		require.ErrorIs(t, p.Enqueue(2, sound(2, time.Second)), carrier.ErrCleared)
		require.ErrorIs(t, p.Mark(1, "x"), carrier.ErrCleared)
		require.Equal(t, []string{"3..3 true", "0..0 false"}, play(&p, 2), "the newer turn stays")
		require.Zero(t, p.Clear(9), "nothing of turn 9 was played")
	})
	t.Run("is full at thirty seconds and has room again as it plays", func(t *testing.T) {
		var p carrier.Playout
		for range 30 {
			require.NoError(t, p.Enqueue(1, sound(1, time.Second)))
		}
		require.ErrorIs(t, p.Enqueue(1, sound(1, 20*time.Millisecond)), carrier.ErrFull)
		play(&p, 1)
		require.NoError(t, p.Enqueue(1, sound(1, 20*time.Millisecond)))
	})
	t.Run("takes a single piece that is longer than the limit", func(t *testing.T) {
		var p carrier.Playout
		require.NoError(t, p.Enqueue(1, sound(1, time.Minute)))
		require.ErrorIs(t, p.Enqueue(1, sound(1, time.Second)), carrier.ErrFull)
	})
	t.Run("does not allocate while it plays", func(t *testing.T) {
		var p carrier.Playout
		var f audio.Frame
		pcm := sound(1, audio.FrameTime)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			_ = p.Enqueue(1, pcm)
			p.Fill(&f, nil)
		}))
	})
}

func TestEndedOf(t *testing.T) {
	busy := &carrier.Ended{Class: carrier.ClassClient, Reason: carrier.ReasonBusy, Code: 486, Message: "The line is busy."}
	require.Same(t, busy, carrier.EndedOf(fmt.Errorf("dial: %w", busy)))
	require.EqualError(t, busy, "call ended: busy (486): The line is busy.")
	unknown := carrier.EndedOf(errors.New("broken"))
	require.Equal(t, carrier.ClassServer, unknown.Class)
	require.NotEmpty(t, unknown.Message)
}

func TestABackgroundIsUnderEverything(t *testing.T) {
	var p carrier.Playout
	p.SetBackground([]int16{1, 2, 3})
	var f audio.Frame
	require.True(t, p.Fill(&f, nil))
	require.Equal(t, []int16{1, 2, 3, 1}, f[:4])
	loud := make([]int16, audio.FrameSamples)
	for i := range loud {
		loud[i] = math.MaxInt16 - 1
	}
	require.NoError(t, p.Enqueue(1, loud))
	require.True(t, p.Fill(&f, nil))
	require.Equal(t, []int16{32767, 32767, 32767}, f[:3], "it does not wrap, and the loop went on")
	p.SetBackground(nil)
	require.False(t, p.Fill(&f, nil))
	require.Zero(t, f)
}
