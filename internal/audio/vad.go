package audio

import "time"

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
	vadWindow  = 75  // frames over which the quietest one is the line's noise: 1.5 s
	vadMargin  = 8.0 // voice has so many times the noise's power (9 dB)
)

// VAD tells voice from silence by energy over the line's noise, which it follows: the noise is the quietest moment of
// the last one and a half to three seconds, since speech has gaps in that time and noise has none. It was measured on
// clean and on steadily noisy sound; it takes music for speech.
type VAD struct {
	onset, hangover int
	floor           float64

	noise, noiseNext float64 // quietest frame of the last and of the running window
	inWindow         int
	recent           uint32 // the last frames' verdicts, newest in bit 0
	quiet            int    // frames since the last voiced one
	speaking         bool
	ring             [vadPreroll]Frame
	pushed           int
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
	return &VAD{
		onset: max(int(c.Onset/FrameTime), 1), hangover: max(int(c.Hangover/FrameTime), 1), floor: c.Floor,
		noise: c.Floor / vadMargin, noiseNext: c.Floor * 1e6,
	}
}

// Push takes the next frame. voiced is the verdict on this frame alone, speaking the one over time: it begins after the
// onset's worth of voice in a slightly longer stretch and ends with the hangover.
func (v *VAD) Push(f *Frame) (voiced, speaking bool) {
	power := Power(f[:])
	v.ring[v.pushed%vadPreroll] = *f
	v.pushed++
	v.follow(power)
	voiced = power > max(v.floor, v.noise*vadMargin)
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
	case !v.speaking && voiced && v.count(v.onset+1) >= v.onset:
		v.speaking = true
	}
	return voiced, v.speaking
}

// Preroll appends the newest frames, 300 ms at most, oldest first and the current one included: at an onset, the
// beginning of the word that the detector was not sure of yet.
func (v *VAD) Preroll(dst []Frame) []Frame {
	for i := max(0, v.pushed-vadPreroll); i < v.pushed; i++ {
		dst = append(dst, v.ring[i%vadPreroll])
	}
	return dst
}

// follow keeps the noise. Frames are taken as they are: smoothing would fill the short gaps of fast speech.
func (v *VAD) follow(power float64) {
	power = max(power, 1)
	v.noiseNext = min(v.noiseNext, power)
	v.noise = min(v.noise, power)
	if v.inWindow++; v.inWindow == vadWindow {
		v.noise, v.noiseNext, v.inWindow = v.noiseNext, power, 0
	}
}

// count is the voiced ones of the last n frames.
func (v *VAD) count(n int) int {
	c := 0
	for i := range min(n, 32) {
		c += int(v.recent >> i & 1)
	}
	return c
}
