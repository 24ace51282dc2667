// Package audio is telephone sound in plain Go: frames, G.711, resampling, tones, voice activity and WAV files.
//
// Everything inside Callwright is linear 16 bit PCM at 8 kHz, one channel, in frames of 20 ms. Other rates and codings
// exist at the edges only: a line's codec in its carrier, a speech provider's rate in its adapter. Nothing here
// allocates per frame, locks, or knows the time: a type that keeps state belongs to one goroutine, and time is counted
// in samples.
package audio

import "time"

// The one format of the house.
const (
	// Rate is samples per second.
	Rate = 8000
	// FrameSamples is the samples of one frame.
	FrameSamples = 160
	// FrameTime is what one frame lasts.
	FrameTime = 20 * time.Millisecond
)

// Frame is 20 ms of sound. The zero Frame is silence.
type Frame [FrameSamples]int16

// Duration is how long n samples last.
func Duration(n int) time.Duration {
	return time.Duration(n) * time.Second / Rate
}

// Samples is how many samples last d, rounded down.
func Samples(d time.Duration) int {
	return int(d * Rate / time.Second)
}

// Power is the mean square of the samples; 0 for none.
func Power(pcm []int16) float64 {
	if len(pcm) == 0 {
		return 0
	}
	var sum int64
	for _, s := range pcm {
		sum += int64(s) * int64(s)
	}
	return float64(sum) / float64(len(pcm))
}
