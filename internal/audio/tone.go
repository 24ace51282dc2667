package audio

import (
	"math"
	"time"
)

// Tone is a sine of hz with a peak of level (0 to 1 of full scale), with 5 ms fades so that it does not click.
func Tone(hz, level float64, d time.Duration) []int16 {
	pcm := make([]int16, Samples(d))
	fade := min(Samples(5*time.Millisecond), len(pcm)/2)
	for i := range pcm {
		gain := 1.0
		if edge := min(i, len(pcm)-1-i); edge < fade {
			gain = float64(edge) / float64(fade)
		}
		pcm[i] = int16(gain * level * math.MaxInt16 * math.Sin(2*math.Pi*hz*float64(i)/Rate))
	}
	return pcm
}

// Beep is the tone of an answering machine: 1 kHz for 400 ms.
func Beep() []int16 { return Tone(1000, 0.3, 400*time.Millisecond) }

// Frames cuts sound into frames; the last one is filled up with silence.
func Frames(pcm []int16) []Frame {
	frames := make([]Frame, (len(pcm)+FrameSamples-1)/FrameSamples)
	for i := range frames {
		copy(frames[i][:], pcm[i*FrameSamples:])
	}
	return frames
}
