package audio

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// VADConfig tunes a VAD.
type VADConfig struct {
	// Onset is how much voice it takes to be speech. Defaults to 80 ms.
	Onset time.Duration
	// Hangover is how long speech goes on after the last voiced frame. Defaults to 200 ms.
	Hangover time.Duration
	// Floor is the mean square below which nothing is voice, however quiet the line. Defaults to that of 60 of 32768.
	Floor float64
}

const (
	vadPreroll = 15  // frames kept from before the onset: 300 ms
	vadSize    = 256 // samples looked at, every 20 ms
	vadBands   = 7
	vadTop     = 3   // bands that decide: voice stands out in some, noise in none
	vadMargin  = 6.0 // dB over the noise in those
	vadSpread  = 3.5 // or so many deviations of what the noise itself does
	vadMost    = 13.0
	vadStay    = 2.0  // dB less keeps a voice going
	vadWindow  = 40   // frames over which the quietest moment is looked for: 0.8 s, of the last two windows
	vadBias    = 1.7  // the mean of noise over its quietest moment
	vadMean    = 0.06 // how fast the noise is followed while nobody speaks
	vadPitch   = 0.55 // of the energy repeats with the pitch of a voice
	vadBreath  = 16   // frames that speech goes on without a pitch: 320 ms
	vadQuick   = 10   // frames of sound without a pitch that are noise which has begun
	vadBelow   = 17.0 // dB under the speaker's own level are others, far away
	vadForget  = 0.02 // dB per frame that the speaker's level sinks
)

// vadEdges of the bands in Hz.
var vadEdges = [vadBands + 1]float64{150, 300, 500, 800, 1200, 1800, 2600, 3600}

// VAD tells voice from noise by three things: it stands out of the noise in some bands of the spectrum, it has a pitch,
// and it is as loud as the speaker was before. The noise of each band is followed while nobody speaks, and from the
// quietest moments while somebody does: speech has gaps, noise has none. Sound without a pitch is no onset: wind, a fan
// that starts, a cough. TestVADOnNoisyLines has the figures. It takes music and a voice close by for speech. About 15 µs
// per frame.
type VAD struct {
	onset, hangover int
	floor           float64

	before      Frame
	noise       [vadBands]float64
	smooth      [vadBands]float64
	lowest      [2][vadBands]float64 // quietest of the last and of the running window
	inWindow    int
	mean, sway  float64 // of the score while nobody speaks
	level       float64 // of the speaker, dB
	recent      uint32  // the last frames' verdicts, newest in bit 0
	pitched     uint32  // and whether they had a pitch
	sincePitch  int
	withoutWord int // frames of sound in a row without a pitch
	quiet       int // frames since the last voiced one
	speaking    bool
	ring        [vadPreroll]Frame
	pushed      int
	bins        [vadSize]complex128
}

// NewVAD makes a detector for one direction of one leg.
func NewVAD(c VADConfig) *VAD {
	if c.Onset <= 0 {
		c.Onset = 80 * time.Millisecond
	}
	if c.Hangover <= 0 {
		c.Hangover = 200 * time.Millisecond
	}
	if c.Floor <= 0 {
		c.Floor = 60 * 60
	}
	v := &VAD{
		onset: max(int(c.Onset/FrameTime), 1), hangover: max(int(c.Hangover/FrameTime), 1), floor: c.Floor,
		mean: 1.5, sway: 1, sincePitch: vadBreath,
	}
	for b := range v.noise {
		v.noise[b] = c.Floor / vadBands
		v.lowest[0][b], v.lowest[1][b] = math.Inf(1), math.Inf(1)
	}
	return v
}

// Push takes the next frame. voiced is the verdict on this frame alone, speaking the one over time: it begins after the
// onset's worth of voice in a slightly longer stretch and ends with the hangover.
func (v *VAD) Push(f *Frame) (voiced, speaking bool) {
	v.ring[v.pushed%vadPreroll] = *f
	v.pushed++
	power := Power(f[:])
	bands := v.spectrum(f)
	score := v.score(&bands)
	loud := 10 * math.Log10(power+1)
	need := min(max(vadMargin, v.mean+vadSpread*v.sway), vadMost)
	if v.speaking {
		need -= vadStay
	}
	active := power > v.floor && score > need && loud > v.level-vadBelow
	pitched := active && v.pitch(f) > vadPitch
	v.before = *f
	v.remember(active, pitched)
	voiced = active && v.sincePitch < vadBreath
	if pitched {
		v.level = max(v.level, loud)
	}
	v.level -= vadForget
	v.recent <<= 1
	if voiced {
		v.recent |= 1
		v.quiet = 0
	} else {
		v.quiet++
	}
	switch {
	case v.speaking && v.quiet >= v.hangover:
		v.speaking = false
		v.recent = 0
	case !v.speaking && voiced && count(v.recent, v.onset+1) >= v.onset && count(v.pitched, v.onset+1) >= (v.onset+1)/2:
		v.speaking = true
	}
	v.follow(&bands, score, active)
	return voiced, v.speaking
}

// remember keeps for how long sound has been without a pitch.
func (v *VAD) remember(active, pitched bool) {
	v.pitched <<= 1
	v.sincePitch = min(v.sincePitch+1, vadBreath)
	switch {
	case pitched:
		v.pitched |= 1
		v.sincePitch, v.withoutWord = 0, 0
	case active:
		v.withoutWord++
	default:
		v.withoutWord = 0
	}
}

// Preroll appends the newest frames, 300 ms at most, oldest first and the current one included: at an onset, the
// beginning of the word that the detector was not sure of yet.
func (v *VAD) Preroll(dst []Frame) []Frame {
	for i := max(0, v.pushed-vadPreroll); i < v.pushed; i++ {
		dst = append(dst, v.ring[i%vadPreroll])
	}
	return dst
}

// spectrum is the power of each band over the last 32 ms.
func (v *VAD) spectrum(f *Frame) (bands [vadBands]float64) {
	const old = vadSize - FrameSamples
	for i := range old {
		v.bins[i] = complex(float64(v.before[FrameSamples-old+i])*vadHann[i], 0)
	}
	for i, s := range f {
		v.bins[old+i] = complex(float64(s)*vadHann[old+i], 0)
	}
	fft(v.bins[:])
	band := 0
	for i := 1; i < vadSize/2; i++ {
		hz := float64(i) * Rate / vadSize
		for band < vadBands && hz >= vadEdges[band+1] {
			band++
		}
		if hz < vadEdges[0] || band == vadBands {
			continue
		}
		re, im := real(v.bins[i]), imag(v.bins[i])
		bands[band] += (re*re + im*im) / (vadSize * vadSize / 4)
	}
	return bands
}

var vadHann = func() (w [vadSize]float64) {
	for i := range w {
		w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/vadSize)
	}
	return w
}()

// score is how far the clearest bands stand out of the noise, in dB.
func (v *VAD) score(bands *[vadBands]float64) float64 {
	var over [vadBands]float64
	for b, power := range bands {
		over[b] = min(max(10*math.Log10((power+1)/(v.noise[b]+1)), 0), 25)
	}
	slices.Sort(over[:])
	sum := 0.0
	for _, db := range over[vadBands-vadTop:] {
		sum += db
	}
	return sum / vadTop
}

// follow keeps the noise.
func (v *VAD) follow(bands *[vadBands]float64, score float64, active bool) {
	begun := v.withoutWord >= vadQuick
	resting := !v.speaking && !active
	for b, power := range bands {
		v.smooth[b] += 0.3 * (power - v.smooth[b])
		v.lowest[1][b] = min(v.lowest[1][b], v.smooth[b])
		least := vadBias * min(v.lowest[0][b], v.lowest[1][b])
		switch {
		case begun:
			v.noise[b] = max(v.noise[b], v.smooth[b])
		case resting:
			v.noise[b] += vadMean * (power - v.noise[b])
		case v.noise[b] < least && v.pushed > vadWindow:
			v.noise[b] = least
		}
	}
	if resting {
		v.mean += 0.02 * (score - v.mean)
		v.sway += 0.02 * (math.Abs(score-v.mean)*1.25 - v.sway)
	}
	if v.inWindow++; v.inWindow == vadWindow {
		v.lowest[0], v.inWindow = v.lowest[1], 0
		for b := range v.lowest[1] {
			v.lowest[1][b] = math.Inf(1)
		}
	}
}

// pitch is how much of the sound below 1 kHz repeats itself with a period of 70 to 400 Hz, 0 to 1. It looks at the last
// 40 ms at a fourth of the rate.
func (v *VAD) pitch(f *Frame) float64 {
	const n = 2 * FrameSamples / 2
	var x [n]float64
	mean := 0.0
	for i := range n / 2 {
		x[i] = float64(v.before[2*i]) + float64(v.before[2*i+1])
		x[n/2+i] = float64(f[2*i]) + float64(f[2*i+1])
	}
	// Without what is lower than a voice, which would repeat at any lag, and with less of what is higher.
	slow, soft := x[0], 0.0
	for i := range x {
		slow += 0.2 * (x[i] - slow)
		soft += 0.5 * (x[i] - slow - soft)
		x[i] = soft
		mean += soft
	}
	mean /= n
	for i := range x {
		x[i] -= mean
	}
	best := 0.0
	for lag := 10; lag <= 57; lag++ {
		var both, first, second float64
		for i := lag; i < n; i++ {
			both += x[i] * x[i-lag]
			first += x[i] * x[i]
			second += x[i-lag] * x[i-lag]
		}
		if first > 0 && second > 0 {
			best = max(best, both/math.Sqrt(first*second))
		}
	}
	return best
}

// count is the set ones of the n newest bits.
func count(recent uint32, n int) int {
	return bits.OnesCount32(recent & (1<<min(n, 31) - 1))
}
