package audio_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/audio/voice"
)

// snr fits a sine of hz to the signal and returns how far the rest lies below it, in dB, and the sine's amplitude.
func snr(pcm []int16, hz float64, rate int) (db, amplitude float64) {
	var s, c, n float64
	for i, v := range pcm {
		w := 2 * math.Pi * hz * float64(i) / float64(rate)
		s += float64(v) * math.Sin(w)
		c += float64(v) * math.Cos(w)
		n++
	}
	s, c = 2*s/n, 2*c/n
	var noise float64
	for i, v := range pcm {
		w := 2 * math.Pi * hz * float64(i) / float64(rate)
		d := float64(v) - s*math.Sin(w) - c*math.Cos(w)
		noise += d * d
	}
	return 10 * math.Log10((s*s+c*c)/2/(noise/n)), math.Hypot(s, c)
}

func sine(hz float64, rate int, d time.Duration) []int16 {
	pcm := make([]int16, int(d.Seconds()*float64(rate)))
	for i := range pcm {
		pcm[i] = int16(math.Round(16000 * math.Sin(2*math.Pi*hz*float64(i)/float64(rate))))
	}
	return pcm
}

func noise(seed uint64, rms float64, d time.Duration) []int16 {
	r := rand.New(rand.NewPCG(seed, 1))
	pcm := make([]int16, audio.Samples(d))
	for i := range pcm {
		pcm[i] = int16(r.NormFloat64() * rms)
	}
	return pcm
}

func TestG711(t *testing.T) {
	t.Run("known values of the standard's tables", func(t *testing.T) {
		require.Equal(t, []byte{0xff, 0x7f, 0x80, 0x00}, audio.EncodeUlaw(nil, []int16{0, -1, 32767, -32768}))
		require.Equal(t, []int16{0, 0, 32124, -32124}, audio.DecodeUlaw(nil, []byte{0xff, 0x7f, 0x80, 0x00}))
		require.Equal(t, []byte{0xd5, 0x55, 0xaa, 0x2a}, audio.EncodeAlaw(nil, []int16{0, -1, 32767, -32768}))
		require.Equal(t, []int16{8, -8, 32256, -32256}, audio.DecodeAlaw(nil, []byte{0xd5, 0x55, 0xaa, 0x2a}))
	})
	t.Run("every code survives a round trip", func(t *testing.T) {
		for b := range 256 {
			code := []byte{byte(b)}
			if b != 0x7f { // µ-law's negative zero decodes to zero
				require.Equal(t, code, audio.EncodeUlaw(nil, audio.DecodeUlaw(nil, code)), "µ-law %#x", b)
			}
			require.Equal(t, code, audio.EncodeAlaw(nil, audio.DecodeAlaw(nil, code)), "A-law %#x", b)
		}
	})
	t.Run("encoding is monotonic and near", func(t *testing.T) {
		for s := -32768; s < 32768; s++ {
			in := []int16{int16(s)}
			u := int(audio.DecodeUlaw(nil, audio.EncodeUlaw(nil, in))[0])
			a := int(audio.DecodeAlaw(nil, audio.EncodeAlaw(nil, in))[0])
			limit := max(math.Abs(float64(s))/16, 16)
			require.LessOrEqual(t, math.Abs(float64(u-s)), limit+650*b2f(math.Abs(float64(s)) > 32124), "µ-law %d", s)
			require.LessOrEqual(t, math.Abs(float64(a-s)), limit, "A-law %d", s)
		}
	})
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func TestResamplerKeepsTones(t *testing.T) {
	for _, c := range []struct {
		from, to int
		hz, want float64
	}{
		{8000, 16000, 1000, 70}, {8000, 16000, 3000, 70}, {8000, 24000, 1000, 70}, {8000, 24000, 3000, 70},
		{24000, 8000, 1000, 70}, {24000, 8000, 3000, 70}, {16000, 8000, 1000, 70}, {16000, 8000, 3000, 70},
		{22050, 8000, 1000, 65}, {8000, 22050, 1000, 65}, {44100, 8000, 3000, 65}, {48000, 8000, 1000, 70},
	} {
		r := audio.NewResampler(c.from, c.to)
		in := sine(c.hz, c.from, time.Second)
		var out []int16
		for i := 0; i < len(in); i += 333 { // pieces that fit nothing
			out = r.Push(out, in[i:min(i+333, len(in))])
		}
		require.InDelta(t, c.to, len(out), 20, "%d to %d Hz gives a second for a second", c.from, c.to)
		settled := out[len(out)/4 : len(out)*3/4]
		db, amplitude := snr(settled, c.hz, c.to)
		t.Logf("%5d → %5d Hz, %4.0f Hz: %.1f dB", c.from, c.to, c.hz, db)
		require.Greater(t, db, c.want, "%d to %d Hz at %.0f Hz", c.from, c.to, c.hz)
		require.InDelta(t, 16000, amplitude, 160)
	}
}

func TestResamplerSuppressesWhatWouldFold(t *testing.T) {
	out := audio.NewResampler(24000, 8000).Push(nil, sine(5000, 24000, time.Second))
	require.Less(t, math.Sqrt(audio.Power(out[400:])), 16000/math.Sqrt2/1000, "5 kHz would be heard as 3 kHz: 60 dB down")
}

func TestResamplerDoesNotAllocateInAStream(t *testing.T) {
	r, in, out := audio.NewResampler(8000, 24000), sine(440, 8000, audio.FrameTime), make([]int16, 0, 4096)
	r.Push(out, in)
	require.Zero(t, testing.AllocsPerRun(100, func() { r.Push(out, in) }))
}

func detect(pcm []int16) (first time.Duration, hz float64, found bool) {
	var d audio.ToneDetector
	for i, f := range audio.Frames(audio.DecodeUlaw(nil, audio.EncodeUlaw(nil, pcm))) {
		if tone := d.Push(&f); tone.Beep {
			return time.Duration(i+1) * audio.FrameTime, tone.Hz, true
		}
	}
	return 0, 0, false
}

func TestToneDetectorFindsBeeps(t *testing.T) {
	for _, hz := range []float64{350, 400, 440, 480, 620, 700, 800, 950, 1000, 1100, 1331, 1400, 1777, 2000} {
		for _, level := range []float64{0.02, 0.3} {
			pcm := append(make([]int16, 1234), audio.Tone(hz, level, 400*time.Millisecond)...)
			at, got, found := detect(pcm)
			require.True(t, found, "%.0f Hz at %.2f", hz, level)
			require.InDelta(t, hz, got, 16)
			require.InDelta(t, audio.Duration(1234).Seconds()+0.16, at.Seconds(), 0.05)
		}
	}
}

func TestToneDetectorIgnores(t *testing.T) {
	sweep := make([]int16, audio.Rate)
	phase := 0.0
	for i := range sweep {
		phase += 2 * math.Pi * (400 + 1500*float64(i)/audio.Rate) / audio.Rate
		sweep[i] = int16(8000 * math.Sin(phase))
	}
	two := audio.Tone(697, 0.3, time.Second)
	for i, s := range audio.Tone(1209, 0.3, time.Second) {
		two[i] += s
	}
	for name, pcm := range map[string][]int16{
		"silence":            make([]int16, audio.Rate),
		"noise":              noise(1, 2000, 2*time.Second),
		"a tone too short":   append(audio.Tone(1000, 0.3, 120*time.Millisecond), make([]int16, 800)...),
		"a sweep":            sweep,
		"a key (two tones)":  two,
		"a dial tone so low": audio.Tone(300, 0.3, time.Second),
	} {
		_, hz, found := detect(pcm)
		require.False(t, found, "%s gave %.0f Hz", name, hz)
	}
}

func TestToneDetectorKnowsFaxMachines(t *testing.T) {
	hear := func(pcm []int16) (beep, fax bool, calls int) {
		var d audio.ToneDetector
		for _, f := range audio.Frames(audio.DecodeUlaw(nil, audio.EncodeUlaw(nil, pcm))) {
			tone := d.Push(&f)
			beep, fax = beep || tone.Beep, fax || tone.Fax
			if tone.CallingFax {
				calls++
			}
		}
		return beep, fax, calls
	}
	modem := audio.Tone(2100, 0.2, 3300*time.Millisecond) // V.8: modulated by 15 Hz and turned over every 450 ms
	for i := range modem {
		at := float64(i) / audio.Rate
		sign := 1 - 2*float64(int(at/0.45)%2)
		modem[i] = int16(float64(modem[i]) * sign * (0.9 + 0.1*math.Sin(2*math.Pi*15*at)))
	}
	var calling, beeps []int16
	for range 3 {
		calling = append(append(calling, audio.Tone(1100, 0.1, 500*time.Millisecond)...), make([]int16, 3*audio.Rate)...)
		beeps = append(append(beeps, audio.Tone(1100, 0.1, 500*time.Millisecond)...), make([]int16, audio.Rate)...)
	}
	for name, c := range map[string]struct {
		pcm       []int16
		beep, fax bool
		calls     int
	}{
		"a fax machine answers":     {audio.Tone(2100, 0.1, 3*time.Second), false, true, 0},
		"a modem answers":           {modem, false, true, 0},
		"a fax machine calls":       {calling, true, false, 2},
		"three beeps at 1100 Hz":    {beeps, true, false, 0},
		"a short tone of 2100 Hz":   {audio.Tone(2100, 0.1, 600*time.Millisecond), false, false, 0},
		"a beep that lasts seconds": {audio.Tone(1000, 0.1, 3*time.Second), true, false, 0},
	} {
		beep, fax, calls := hear(append(c.pcm, make([]int16, audio.Rate)...))
		require.Equal(t, c.beep, beep, name)
		require.Equal(t, c.fax, fax, name)
		require.Equal(t, c.calls, calls, name)
	}
}

func TestVAD(t *testing.T) {
	studio := voice.New(voice.Config{Placeholder: true})
	speech := studio.Say(t.Context(), voice.Speaker{Name: "rms"}, "Hello, who is there?")
	lasts := audio.Duration(len(speech))
	run := func(pcm []int16) (spans [][2]time.Duration) {
		v := audio.NewVAD(audio.VADConfig{})
		before := false
		for i, f := range audio.Frames(pcm) {
			_, speaking := v.Push(&f)
			at := time.Duration(i+1) * audio.FrameTime
			if speaking && !before {
				spans = append(spans, [2]time.Duration{at})
			}
			if !speaking && before {
				spans[len(spans)-1][1] = at
			}
			before = speaking
		}
		return spans
	}
	join := func(parts ...[]int16) (all []int16) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	quiet := make([]int16, audio.Rate)
	t.Run("speech on a quiet line has an onset of 80 ms and a hangover of 200 ms", func(t *testing.T) {
		spans := run(join(quiet, speech, quiet))
		require.Len(t, spans, 1)
		require.InDelta(t, 1.08, spans[0][0].Seconds(), 0.041)
		require.InDelta(t, (time.Second + lasts + 200*time.Millisecond).Seconds(), spans[0][1].Seconds(), 0.061)
	})
	t.Run("speech from the first frame on is found", func(t *testing.T) {
		require.LessOrEqual(t, run(join(speech, quiet))[0][0], 120*time.Millisecond)
	})
	t.Run("very soft speech is found, below the floor nothing is", func(t *testing.T) {
		soft, softer := make([]int16, len(speech)), make([]int16, len(speech))
		for i, s := range speech {
			soft[i], softer[i] = s/32, s/320
		}
		require.Len(t, run(join(quiet, soft, quiet)), 1)
		require.Empty(t, run(join(quiet, softer, quiet)))
	})
	for name, pcm := range map[string][]int16{
		"a click":                         noise(1, 2500, 40*time.Millisecond),
		"a cough without a pitch":         noise(2, 2500, 300*time.Millisecond),
		"noise that begins and stays":     noise(3, 2500, 5*time.Second),
		"one syllable's onset of a voice": speech[:audio.Samples(50*time.Millisecond)],
	} {
		t.Run(name+" is no speech", func(t *testing.T) { require.Empty(t, run(join(quiet, pcm, quiet))) })
	}
	t.Run("noise that begins does not hide speech for long", func(t *testing.T) {
		pcm := join(quiet, noise(4, 900, 6*time.Second))
		for i, s := range speech {
			pcm[audio.Samples(3*time.Second)+i] += s
		}
		spans := run(pcm)
		require.Len(t, spans, 1)
		require.InDelta(t, 3.1, spans[0][0].Seconds(), 0.1)
		require.InDelta(t, (3200*time.Millisecond + lasts).Seconds(), spans[0][1].Seconds(), 0.15)
	})
	t.Run("the pre-roll holds the 300 ms up to the onset", func(t *testing.T) {
		v := audio.NewVAD(audio.VADConfig{})
		frames := audio.Frames(join(quiet, speech))
		for i := range frames {
			if _, speaking := v.Push(&frames[i]); speaking {
				require.Equal(t, frames[i-14:i+1], v.Preroll(nil))
				return
			}
		}
		t.Fatal("no speech")
	})
	t.Run("nothing is allocated", func(t *testing.T) {
		v, frames, i := audio.NewVAD(audio.VADConfig{}), audio.Frames(speech), 0
		require.Zero(t, testing.AllocsPerRun(50, func() { v.Push(&frames[i%len(frames)]); i++ }))
	})
}

func TestPeaks(t *testing.T) {
	require.Equal(t, []byte{1, 0, 255, 0}, audio.Peaks([]int16{128, -129, 0, 0, 5, -32768, 0, 0}, 4))
	require.Equal(t, []byte{0, 0}, audio.Peaks(nil, 2))
	require.Empty(t, audio.Peaks([]int16{1}, 0))
}

func BenchmarkVAD(b *testing.B) {
	v, f := audio.NewVAD(audio.VADConfig{}), audio.Frames(noise(1, 900, audio.FrameTime))[0]
	for b.Loop() {
		v.Push(&f)
	}
}

func BenchmarkToneDetector(b *testing.B) {
	var d audio.ToneDetector
	f := audio.Frames(audio.Tone(1000, 0.3, audio.FrameTime))[0]
	for b.Loop() {
		d.Push(&f)
	}
}

func BenchmarkResample24To8(b *testing.B) {
	r, in, out := audio.NewResampler(24000, 8000), sine(440, 24000, audio.FrameTime), make([]int16, 0, 512)
	for b.Loop() {
		r.Push(out, in)
	}
}

func TestBackgroundsAreSoftAndLoop(t *testing.T) {
	for _, kind := range append(audio.Noises(), "something else") {
		t.Run(kind, func(t *testing.T) {
			loop := audio.Noise(kind, 1)
			require.Equal(t, loop, audio.Noise(kind, 1), "always the same")
			require.InDelta(t, 900, math.Sqrt(audio.Power(loop)), 30)
			require.InDelta(t, 450, math.Sqrt(audio.Power(audio.Noise(kind, 0.5))), 15)
			require.Zero(t, audio.Power(audio.Noise(kind, 0)))
			// Where the end meets the beginning the step is no greater than elsewhere.
			step := func(a, b int16) float64 { return math.Abs(float64(a) - float64(b)) }
			most := 0.0
			for i := range loop[1:] {
				most = max(most, step(loop[i], loop[i+1]))
			}
			require.LessOrEqual(t, step(loop[len(loop)-1], loop[0]), most)
		})
	}
}
