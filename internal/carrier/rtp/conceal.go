package rtp

import "github.com/callwright/callwright/internal/audio"

const (
	historySize = 400
	minPitch    = 40  // 200 Hz
	maxPitch    = 160 // 50 Hz
	fullGain    = 80  // samples that lost sound is made up for at full level
	fadeOut     = 480 // and when it has faded: after 60 ms there is silence, not a buzz
	crossfade   = 32  // samples over which real sound comes back
)

// concealer makes up lost sound: it goes on with the last period of the voice and fades.
type concealer struct {
	history [historySize]int16
	period  [maxPitch]int16
	pitch   int
	at      int // in period
	made    int // samples since the last real one; 0 while nothing is lost
}

// hear keeps real sound and blends it in behind made up one.
func (c *concealer) hear(pcm []int16) {
	if c.made > 0 && c.made < fadeOut+crossfade {
		for i := range min(crossfade, len(pcm)) {
			made := int(c.next())
			pcm[i] = int16((int(pcm[i])*(i+1) + made*(crossfade-i-1)) / crossfade)
		}
	}
	c.made = 0
	c.keep(pcm)
}

func (c *concealer) keep(pcm []int16) {
	if n := len(pcm); n < historySize {
		copy(c.history[:], c.history[n:])
		copy(c.history[historySize-n:], pcm)
		return
	}
	copy(c.history[:], pcm[len(pcm)-historySize:])
}

// make fills pcm with made up sound. It reports whether it is more than silence.
func (c *concealer) make(pcm []int16) bool {
	if c.made == 0 {
		c.begin()
	}
	audible := c.made < fadeOut
	for i := range pcm {
		pcm[i] = c.next()
	}
	return audible
}

// mute is silence that was announced: nothing is made up until real sound comes.
func (c *concealer) mute() { c.made = fadeOut + crossfade }

// next is one made up sample.
func (c *concealer) next() int16 {
	c.made++
	if c.made > fadeOut || c.pitch == 0 {
		return 0
	}
	sample := int(c.period[c.at])
	if c.at++; c.at == c.pitch {
		c.at = 0
	}
	if c.made > fullGain {
		sample = sample * (fadeOut - c.made) / (fadeOut - fullGain)
	}
	return int16(sample)
}

// begin finds the period of the last sound and cuts it out, its end blended into what came before its beginning, so that
// it can be repeated without a step.
func (c *concealer) begin() {
	c.pitch, c.at = c.findPitch(), 0
	end := c.history[historySize-c.pitch:]
	copy(c.period[:c.pitch], end)
	blend := c.pitch / 4
	for i := range blend {
		old := int(c.history[historySize-c.pitch-blend+i])
		at := c.pitch - blend + i
		c.period[at] = int16((int(c.period[at])*(blend-i-1) + old*(i+1)) / blend)
	}
}

// findPitch is the shift at which the last 20 ms are most like themselves.
func (c *concealer) findPitch() int {
	const n = audio.FrameSamples
	now := c.history[historySize-n:]
	best, likeness := maxPitch, 0.0
	var energy int64
	for _, s := range c.history[historySize-n-minPitch+1 : historySize-minPitch+1] {
		energy += int64(s) * int64(s)
	}
	for lag := minPitch; lag <= maxPitch; lag++ {
		then := c.history[historySize-n-lag:][:n]
		first, gone := int64(then[0]), int64(c.history[historySize-lag])
		energy += first*first - gone*gone
		var product int64
		for i, s := range now {
			product += int64(s) * int64(then[i])
		}
		if product <= 0 || energy <= 0 {
			continue
		}
		// A hundredth better is worth it only nearby: otherwise two periods would be taken for one.
		if l := float64(product) * float64(product) / float64(energy); l > likeness*1.01 {
			best, likeness = lag, l
		}
	}
	return best
}
