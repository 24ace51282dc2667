package audio

import (
	"math"
	"math/bits"
	"math/cmplx"
	"time"
)

// Bounds of what counts as a beep.
const (
	beepWindow  = 2 * FrameSamples // 40 ms under a Hann window, every 20 ms
	beepSize    = 512              // FFT points: 15.6 Hz apart
	beepLow     = 330.0            // Hz
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

// The tones of fax machines and modems (ITU-T T.30 §4.3): who is called answers with 2100 Hz for 2.6 to 4 s, which modems
// modulate and turn over every 450 ms (V.8); who calls sends 1100 Hz for half a second every three and a half.
const (
	faxHz, callingHz = 2100.0, 1100.0
	faxWithin        = 40.0 // Hz
	faxWindow        = 60   // windows: 1.2 s
	faxNeeds         = 46   // of them
	callingShortest  = 20   // windows: 400 ms
	callingLongest   = 32
	callingEarliest  = 125 // windows from one beginning to the next: 2.5 s
	callingLatest    = 225
)

// ToneDetector finds single tones: one frequency from 330 to 2500 Hz that holds nearly all energy and stays for 160 ms. The
// window is what finds 440 Hz, which falls between the bins of a bare DFT. About 10 µs per frame.
type ToneDetector struct {
	before Frame
	point  int // of the last window's tone
	held   int // windows in a row
	bins   [beepSize]complex128

	window  int
	answers uint64 // which of the last windows had the answering tone, newest in bit 0
	burst   int    // windows of the calling tone in a row
	called  int    // window in which the last such burst began; 0 for none
}

// Heard is what a ToneDetector hears.
type Heard struct {
	// Hz of the tone; 0 for none.
	Hz float64
	// Beep is the tone of an answering machine: any that is not a fax machine's.
	Beep bool
	// Answering is the tone of a fax machine or a modem that was called, Fax that it has been long enough to be sure.
	Answering, Fax bool
	// CallingFax is the second call sign of a fax machine that calls; it is told once.
	CallingFax bool
}

// Push takes the next frame.
func (d *ToneDetector) Push(f *Frame) (t Heard) {
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
	hz := float64(point) * Rate / beepSize
	answering := pure && math.Abs(hz-faxHz) < faxWithin
	d.answers <<= 1
	if answering {
		d.answers |= 1
	}
	if d.held >= beepHoldFor {
		t.Hz, t.Beep, t.Answering = hz, !answering, answering
	}
	t.Fax = bits.OnesCount64(d.answers&(1<<faxWindow-1)) >= faxNeeds
	t.CallingFax = d.calling(pure && math.Abs(hz-callingHz) < faxWithin)
	return t
}

// calling counts bursts of the calling tone.
func (d *ToneDetector) calling(sounds bool) (second bool) {
	d.window++
	if sounds {
		d.burst++
		return false
	}
	if d.burst >= callingShortest && d.burst <= callingLongest {
		began := d.window - d.burst
		since := began - d.called
		second = d.called > 0 && since >= callingEarliest && since <= callingLatest
		d.called = began
	}
	d.burst = 0
	return second
}

// tone looks for the strongest frequency of the last two frames and tells whether it is alone.
func (d *ToneDetector) tone(f *Frame) (point int, pure bool) {
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
