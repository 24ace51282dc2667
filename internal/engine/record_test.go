package engine_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/engine"
)

// line ticks like the pacer of a leg, with frames that can be told apart.
type line struct {
	tape engine.Tape
	at   time.Duration
	want [][2]int16 // first samples of agent and caller in each frame
}

func (l *line) tick(n int) {
	for range n {
		l.at += audio.FrameTime
		mark := int16(l.at / audio.FrameTime)
		agent, caller := audio.Frame{0: mark, 159: mark}, audio.Frame{0: -mark, 159: -mark}
		l.tape.Tick(carrier.Tick{At: l.at, Agent: &agent, Caller: &caller})
		agent, caller = audio.Frame{}, audio.Frame{} // they belong to the line again
		l.want = append(l.want, [2]int16{mark, -mark})
	}
}

// skip leaves frames out, as a line does that had nothing to tap.
func (l *line) skip(n int) {
	l.at += time.Duration(n) * audio.FrameTime
	l.want = append(l.want, make([][2]int16, n)...)
}

func (l *line) require(t require.TestingT, path string) {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	wav, err := audio.ReadWAV(f)
	require.NoError(t, err)
	require.Equal(t, 8000, wav.Rate)
	require.Len(t, wav.Channels, 2)
	require.Len(t, wav.Channels[0], len(l.want)*audio.FrameSamples)
	for i, w := range l.want {
		for _, at := range []int{i * audio.FrameSamples, (i+1)*audio.FrameSamples - 1} {
			require.Equal(t, w, [2]int16{wav.Channels[0][at], wav.Channels[1][at]}, "frame %d", i)
		}
	}
}

func TestARecordingHoldsBothSidesAtTheirTimes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		dir, id := t.TempDir(), uuid.New()
		l := &line{tape: engine.NewTape(dir, id, false)}
		skipped := 0
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"tick", "tick", "flush", "skip"}).Draw(r, "step") {
			case "tick":
				l.tick(rapid.IntRange(1, 120).Draw(r, "frames"))
				skipped = 0
			case "skip":
				skipped = rapid.IntRange(1, 70).Draw(r, "skipped")
				l.skip(skipped)
			case "flush":
				l.tape.Flush()
			}
		}
		l.tick(1)
		length, lost, err := l.tape.Close()
		require.NoError(r, err)
		require.Equal(r, l.at, length)
		require.Zero(r, lost)
		l.require(r, engine.SpoolPath(dir, id))
	})
}

func TestARecordingWithoutSoundLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), uuid.New()
	tape := engine.NewTape(dir, id, false)
	tape.Flush()
	length, _, err := tape.Close()
	require.NoError(t, err)
	require.Zero(t, length)
	require.NoFileExists(t, engine.SpoolPath(dir, id))
}

func TestADiskThatIsTooSlowCostsSilenceNotTime(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), uuid.New()
	l := &line{tape: engine.NewTape(dir, id, false)}
	l.tick(50) // a whole chunk, so that the next frame needs room
	l.tape.Jam()
	l.tick(75)
	clear(l.want[50:])
	l.tape.Unjam()
	l.tick(20)
	length, lost, err := l.tape.Close()
	require.NoError(t, err)
	require.Equal(t, 145*audio.FrameTime, length)
	require.Equal(t, 75*audio.FrameTime, lost)
	l.require(t, engine.SpoolPath(dir, id))
}

func TestAnElasticLineWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), uuid.New()
	l := &line{tape: engine.NewTape(dir, id, true)}
	l.tape.Jam()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.tick(120)
	}()
	select {
	case <-done:
		t.Fatal("the line did not wait")
	case <-time.After(20 * time.Millisecond): // it can only be proved to wait for as long as one looks
	}
	l.tape.Unjam()
	<-done
	_, lost, err := l.tape.Close()
	require.NoError(t, err)
	require.Zero(t, lost)
	l.require(t, engine.SpoolPath(dir, id))
}

func TestARecordingThatACrashCutOffIsRepaired(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]int64{"between samples": 0, "in the middle of a sample": 3} {
		t.Run(name, func(t *testing.T) {
			dir, id := t.TempDir(), uuid.New()
			path := engine.SpoolPath(dir, id)
			l := &line{tape: engine.NewTape(dir, id, false)}
			l.tick(90)
			l.tape.Flush()
			l.tick(10) // lost with the process
			l.want = l.want[:90]
			info, err := os.Stat(path)
			require.NoError(t, err)
			if cut > 0 {
				require.NoError(t, os.Truncate(path, info.Size()-int64(4*audio.FrameSamples)+cut))
				l.want = l.want[:89]
			}
			length, err := engine.Repair(path)
			require.NoError(t, err)
			require.Equal(t, time.Duration(len(l.want))*audio.FrameTime, length)
			l.require(t, path)
			again, err := engine.Repair(path)
			require.NoError(t, err)
			require.Equal(t, length, again, "repairing twice gives the same")
		})
	}
}

func TestACallIsRecordedOnce(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), uuid.New()
	require.NoError(t, os.WriteFile(engine.SpoolPath(dir, id), []byte("of somebody else"), 0o600))
	l := &line{tape: engine.NewTape(dir, id, false)}
	l.tick(10)
	_, _, err := l.tape.Close()
	require.Error(t, err)
	kept, err := os.ReadFile(engine.SpoolPath(dir, id))
	require.NoError(t, err)
	require.Equal(t, "of somebody else", string(kept))
}
