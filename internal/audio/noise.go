package audio

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// noiseLength is after how long a background repeats, and noiseFade how long its end is blended into its beginning.
const (
	noiseLength = 12 * time.Second
	noiseFade   = 400 * time.Millisecond
	// noiseLoudest is the root mean square of a background at level 1: some 20 dB under a voice.
	noiseLoudest = 900
)

// Noises are the kinds of background that Noise makes.
func Noises() []string { return []string{"cafe", "call_center", "office", "static", "street"} }

var noises struct {
	sync.Mutex
	made map[string][]float64
}

// Noise is a background of a kind, to be played in a loop: its end fits its beginning. level is 0 to 1. The kinds are
// those of [Noises]; any other is an office. The same kind and level always give the same sound.
func Noise(kind string, level float64) []int16 {
	if !slices.Contains(Noises(), kind) {
		kind = "office"
	}
	noises.Lock()
	defer noises.Unlock()
	if noises.made == nil {
		noises.made = map[string][]float64{}
	}
	loop := noises.made[kind]
	if loop == nil {
		loop = makeNoise(kind)
		noises.made[kind] = loop
	}
	gain := noiseLoudest * min(max(level, 0), 1)
	pcm := make([]int16, len(loop))
	for i, s := range loop {
		pcm[i] = clip(float32(s * gain))
	}
	return pcm
}

// makeNoise makes a loop of mean square 1 out of filtered random numbers.
func makeNoise(kind string) []float64 {
	n, fade := Samples(noiseLength), Samples(noiseFade)
	random := rand.New(rand.NewPCG(1, uint64(len(kind))))
	out := make([]float64, n+fade)
	var low, lower float64 // the state of two low-pass filters
	for i := range out {
		white := random.NormFloat64()
		at := float64(i) / Rate
		low += 0.25 * (white - low)
		lower += 0.03 * (white - lower)
		switch kind {
		case "static":
			out[i] = white
		case "street": // a rumble that swells as cars pass
			out[i] = lower * (3 + 2*math.Sin(2*math.Pi*at/noiseLength.Seconds()*3)) // whole periods: it loops
		case "cafe", "call_center": // voices from far away: noise in the band of speech, at the pace of syllables
			babble := (low - lower) * (1.2 + math.Sin(2*math.Pi*3.25*at)*math.Sin(2*math.Pi*at/2))
			out[i] = babble + lower
		default: // air conditioning and a hum
			out[i] = 2*lower + 0.3*low + 0.05*math.Sin(2*math.Pi*100*at)
		}
	}
	// Blended at equal power, since the two are not alike.
	for i := range fade {
		x := float64(i) / float64(fade) * math.Pi / 2
		out[i] = out[i]*math.Sin(x) + out[n+i]*math.Cos(x)
	}
	out = out[:n]
	var sum float64
	for _, s := range out {
		sum += s * s
	}
	scale := 1 / math.Sqrt(sum/float64(n))
	for i := range out {
		out[i] *= scale
	}
	return out
}
