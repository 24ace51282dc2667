package audio_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
)

func record(t *testing.T, frames int) (path string, w *audio.StereoWAV, f *os.File) {
	path = filepath.Join(t.TempDir(), "call.wav")
	f, err := os.Create(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	w, err = audio.NewStereoWAV(f)
	require.NoError(t, err)
	for i := range frames {
		agent, caller := audio.Frame{int16(i + 1)}, audio.Frame{0, int16(-i - 1)}
		require.NoError(t, w.Write(&agent, &caller))
	}
	return path, w, f
}

func read(t *testing.T, path string) audio.WAV {
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	wav, err := audio.ReadWAV(bytes.NewReader(raw))
	require.NoError(t, err)
	return wav
}

func TestStereoWAV(t *testing.T) {
	t.Run("left is the agent and right the caller", func(t *testing.T) {
		path, w, _ := record(t, 100)
		require.NoError(t, w.Write(nil, nil))
		require.NoError(t, w.Close())
		require.Equal(t, 101, w.Frames())
		wav := read(t, path)
		require.Equal(t, audio.Rate, wav.Rate)
		require.Len(t, wav.Channels, 2)
		require.Len(t, wav.Channels[0], 101*audio.FrameSamples)
		require.Equal(t, int16(100), wav.Channels[0][99*audio.FrameSamples])
		require.Equal(t, int16(-100), wav.Channels[1][99*audio.FrameSamples+1])
		require.Zero(t, audio.Power(wav.Channels[0][100*audio.FrameSamples:]))
	})
	t.Run("an empty recording is a valid file", func(t *testing.T) {
		path, w, _ := record(t, 0)
		require.NoError(t, w.Close())
		require.Empty(t, read(t, path).Channels[0])
	})
}

// sizes are what a strict player believes: RIFF and data length.
func sizes(t *testing.T, path string) (riff, data int) {
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	le := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 | int(b[3])<<24 }
	return le(raw[4:]), le(raw[40:])
}

func TestRepairWAV(t *testing.T) {
	t.Run("a recording whose writer died has the right sizes again", func(t *testing.T) {
		path, w, f := record(t, 100)
		require.NoError(t, w.Flush())
		_, err := f.Write([]byte{1, 2, 3}) // died inside a sample
		require.NoError(t, err)
		_, data := sizes(t, path)
		require.Zero(t, data)

		again, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		defer again.Close()
		require.NoError(t, audio.RepairWAV(again))
		riff, data := sizes(t, path)
		require.Equal(t, 100*4*audio.FrameSamples, data)
		require.Equal(t, data+36, riff)
		require.Len(t, read(t, path).Channels[1], 100*audio.FrameSamples)
	})
	t.Run("a file cut inside its header becomes an empty recording", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "call.wav")
		require.NoError(t, os.WriteFile(path, []byte("RIFF"), 0o600))
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, audio.RepairWAV(f))
		require.Empty(t, read(t, path).Channels[0])
	})
	t.Run("a complete file stays as it is", func(t *testing.T) {
		path, w, f := record(t, 3)
		require.NoError(t, w.Close())
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, audio.RepairWAV(f))
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after)
	})
}

func TestReadWAVRefuses(t *testing.T) {
	path, w, _ := record(t, 1)
	require.NoError(t, w.Close())
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	change := func(at int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[at:], b)
		return c
	}
	for name, raw := range map[string][]byte{
		"nothing":         nil,
		"another format":  []byte("OggS............"),
		"no data":         good[:36],
		"8 bits":          change(34, 8),
		"a float coding":  change(20, 3),
		"no channels":     change(22, 0),
		"100 channels":    change(22, 100),
		"rate 0":          change(24, 0, 0, 0, 0),
		"data before fmt": change(12, 'd', 'a', 't', 'a'),
	} {
		_, err := audio.ReadWAV(bytes.NewReader(raw))
		require.Error(t, err, name)
	}
	t.Run("but not a data size larger than the file, as pipes leave it", func(t *testing.T) {
		wav, err := audio.ReadWAV(bytes.NewReader(change(40, 0xff, 0xff, 0xff, 0x7f)))
		require.NoError(t, err)
		require.Len(t, wav.Channels[0], audio.FrameSamples)
	})
}

func FuzzReadWAV(f *testing.F) {
	f.Add([]byte("RIFF....WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00\x40\x1f\x00\x00\x00\x7d\x00\x00\x04\x00\x10\x00data\x04\x00\x00\x00abcd"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		wav, err := audio.ReadWAV(bytes.NewReader(raw))
		if err == nil {
			for _, c := range wav.Channels {
				require.Len(t, c, len(wav.Channels[0]))
			}
		}
	})
}
