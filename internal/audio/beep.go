package audio

import (
	"math"
	"math/cmplx"
	"time"
)

// Bounds of what counts as a beep.
const (
	beepWindow  = 2 * FrameSamples // 40 ms under a Hann window, every 20 ms
	beepSize    = 512              // FFT points: 15.6 Hz apart
	beepLow     = 350.0            // Hz
	beepHigh    = 2500.0
	beepLobe    = 3    // points on each side that belong to one tone under the window
	beepPurity  = 0.85 // of the energy must be in the lobe; voiced speech has several harmonics
	beepDrift   = 1    // points that the tone may move from window to window
	beepHold    = 160 * time.Millisecond
	beepFloor   = 60.0 * 60.0 // mean square under which nothing is heard
	beepHoldFor = int(beepHold / FrameTime)
)

var hann = func() (w [beepWindow]float64) {
	for i := range w {
		w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/beepWindow)
	}
	return w
}()

// BeepDetector finds the tone of an answering machine: one frequency from 350 to 2500 Hz that holds nearly all energy and
// stays for 160 ms. The window is what finds 440 Hz, which falls between the bins of a bare DFT. About 10 µs per frame.
type BeepDetector struct {
	before Frame
	point  int // of the last window's tone
	held   int // windows in a row
	bins   [beepSize]complex128
}

// Push takes the next frame and reports whether a beep is sounding, with its frequency in Hz.
func (d *BeepDetector) Push(f *Frame) (hz float64, beeping bool) {
	point, pure := d.tone(f)
	d.before = *f
	switch {
	case !pure:
		d.held = 0
	case d.held > 0 && abs(point-d.point) <= beepDrift:
		d.held++
	default:
		d.held = 1
	}
	d.point = point
	return float64(point) * Rate / beepSize, d.held >= beepHoldFor
}

// tone looks for the strongest frequency of the last two frames and tells whether it is alone.
func (d *BeepDetector) tone(f *Frame) (point int, pure bool) {
	if Power(f[:]) < beepFloor {
		return 0, false
	}
	for i := range FrameSamples {
		d.bins[i] = complex(float64(d.before[i])*hann[i], 0)
		d.bins[i+FrameSamples] = complex(float64(f[i])*hann[i+FrameSamples], 0)
	}
	clear(d.bins[beepWindow:])
	fft(d.bins[:])
	var power [beepSize / 2]float64
	total, best := 0.0, 0
	for i := 1; i < beepSize/2; i++ {
		re, im := real(d.bins[i]), imag(d.bins[i])
		power[i] = re*re + im*im
		total += power[i]
		if power[i] > power[best] {
			best = i
		}
	}
	hz := float64(best) * Rate / beepSize
	if hz < beepLow || hz > beepHigh {
		return best, false
	}
	lobe := 0.0
	for i := best - beepLobe; i <= best+beepLobe; i++ {
		lobe += power[i]
	}
	return best, lobe > beepPurity*total
}

var twiddles = func() (w [beepSize / 2]complex128) {
	for i := range w {
		w[i] = cmplx.Rect(1, -2*math.Pi*float64(i)/beepSize)
	}
	return w
}()

// fft transforms beepSize points in place (radix 2).
func fft(x []complex128) {
	for i, j := 1, 0; i < len(x); i++ {
		bit := len(x) >> 1
		for ; j&bit != 0; bit >>= 1 {
			j ^= bit
		}
		j ^= bit
		if i < j {
			x[i], x[j] = x[j], x[i]
		}
	}
	for size := 2; size <= len(x); size <<= 1 {
		half, step := size/2, beepSize/size
		for start := 0; start < len(x); start += size {
			for k := range half {
				odd := x[start+half+k] * twiddles[k*step]
				even := x[start+k]
				x[start+k], x[start+half+k] = even+odd, even-odd
			}
		}
	}
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
