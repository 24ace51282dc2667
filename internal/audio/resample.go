package audio

import "math"

// resampleTaps per phase of the filter, at the lower of the two rates: enough for 70 dB and more below 3.4 kHz.
const resampleTaps = 32

// Resampler changes the rate of a stream: a polyphase windowed-sinc filter that keeps its state between pushes. It
// delays the sound by 16 samples of the lower rate.
type Resampler struct {
	up, down int
	phases   [][]float32 // one filter per output phase, newest sample last
	history  []float32   // input not used up yet, oldest first
	position int         // of the next output, in 1/up input samples, relative to history
}

// NewResampler converts from one rate to another, both in Hz and at least 1.
func NewResampler(from, to int) *Resampler {
	divisor := gcd(from, to)
	r := &Resampler{up: to / divisor, down: from / divisor}
	if r.up == r.down {
		return r
	}
	// The cut-off is just under half of the lower rate; going down, the filter gets longer by the ratio.
	cutoff := 0.5 * min(1, float64(r.up)/float64(r.down)) * 0.92
	length := resampleTaps
	if r.down > r.up {
		length = (resampleTaps*r.down + r.up - 1) / r.up
	}
	r.phases = make([][]float32, r.up)
	for phase := range r.phases {
		r.phases[phase] = sincPhase(length, float64(phase)/float64(r.up), cutoff)
	}
	r.history = make([]float32, length-1, length+4*FrameSamples)
	return r
}

// Push takes the next samples and appends what they give to dst. After the first few pushes it does not allocate when
// dst has room.
func (r *Resampler) Push(dst, pcm []int16) []int16 {
	if r.up == r.down {
		return append(dst, pcm...)
	}
	for _, s := range pcm {
		r.history = append(r.history, float32(s))
	}
	length := len(r.phases[0])
	for {
		start := r.position / r.up
		if start+length > len(r.history) {
			break
		}
		window, filter := r.history[start:start+length], r.phases[r.position%r.up]
		var sum float32
		for i, tap := range filter {
			sum += tap * window[i]
		}
		dst = append(dst, clip(sum))
		r.position += r.down
	}
	used := min(r.position/r.up, len(r.history))
	r.position -= used * r.up
	r.history = r.history[:copy(r.history, r.history[used:])]
	return dst
}

// sincPhase is the filter for an output that lies offset (0 to 1) input samples behind the middle, with unity gain.
func sincPhase(length int, offset, cutoff float64) []float32 {
	const beta = 8.0
	taps, sum := make([]float64, length), 0.0
	middle := float64(length)/2 - 1 + offset
	for i := range taps {
		x := float64(i) - middle
		taps[i] = kaiser(x/(float64(length)/2), beta) * 2 * cutoff * sinc(2*cutoff*x)
		sum += taps[i]
	}
	filter := make([]float32, length)
	for i, tap := range taps {
		filter[i] = float32(tap / sum)
	}
	return filter
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// kaiser is the Kaiser window at x from -1 to 1.
func kaiser(x, beta float64) float64 {
	if x <= -1 || x >= 1 {
		return 0
	}
	return bessel(beta*math.Sqrt(1-x*x)) / bessel(beta)
}

// bessel is the modified Bessel function of the first kind, order 0.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-12*sum; k++ {
		term *= x * x / (4 * k * k)
		sum += term
	}
	return sum
}

func clip(s float32) int16 {
	switch {
	case s >= math.MaxInt16:
		return math.MaxInt16
	case s <= math.MinInt16:
		return math.MinInt16
	}
	return int16(math.Round(float64(s)))
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
