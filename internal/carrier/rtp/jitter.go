package rtp

import (
	"math/bits"
	"time"

	"github.com/callwright/callwright/internal/audio"
)

const (
	tapeSize = 8192 // samples, about a second; a power of two
	tapeMask = tapeSize - 1
	frame    = audio.FrameSamples
	// firstDelay is the room for jitter that a stream begins with, and gets again when its timestamps jump.
	firstDelay = frame
	// maxAhead is the most sound that may wait: what comes in a burst behind a stall is played up to here.
	maxAhead = 6 * tapeSize / 8
	// pushDelay is from where on delay is taken out of speech too, not only of silence.
	pushDelay = 250 * time.Millisecond
	// marginWindow is how long the jitter is watched before delay is taken out; marginGuard is what stays as a reserve.
	marginWindow = 2 * time.Second
	marginGuard  = 6 * time.Millisecond
	// lateStep is what a packet that came too late weighs against those in time; at lateLimit the delay grows.
	lateStep, lateLimit = 8, 20
	// restartPackets in a row, all too late, are a sender that has begun anew.
	restartPackets = 3
	// quiet is the power under which a frame may be left out unheard, about -50 dB of full scale.
	quiet = 100 * 100
)

// jitter turns packets that come as they like into one frame every 20 ms. It is a tape: packets are written where their
// timestamp belongs, the head reads on. Reordering, repetitions and any packet length need no further thought.
//
// When the tape is empty at the head, nobody knows yet whether sound was lost, is late, or was never sent: the head waits
// and sound is made up. What comes next tells: if it is what was waited for, it was late, and the delay has just grown
// enough; if it belongs further on, the head skips what was waited for in vain. So the delay follows the jitter up at
// once; it goes down by leaving out quiet frames when no packet has needed it for two seconds.
type jitter struct {
	tape    [tapeSize]int16
	have    [tapeSize / 64]uint64
	started bool
	head    int64 // extended timestamp of the next sample
	newest  int64 // end of the newest sound
	waited  int64 // samples made up while the head stood still
	pause   int   // frames by which the delay is to grow
	excess  int   // frames by which it may shrink
	late    int   // weight of late packets

	jumped uint32 // where a jump of the timestamps would go on
	jumps  int

	margin      time.Duration // the least that a packet had to spare in this window
	marginUntil time.Duration // end of the window, media time
	marginTimed bool

	concealer concealer
}

// arrived is what became of a packet's sound.
type arrived uint8

const (
	inTime arrived = iota
	tooLate
	noPlace // a single packet far from all others
)

// put writes the sound of a packet. age is how long before this tick it came, at the media time of the tick.
func (j *jitter) put(timestamp uint32, pcm []int16, marker bool, age, at time.Duration) arrived {
	if !j.started {
		j.restart(timestamp)
	}
	start := j.extend(timestamp)
	if ahead := start - j.head; ahead > maxAhead || ahead < -tapeSize {
		switch {
		case ahead > 0 && ahead-j.waited <= maxAhead && j.newest <= j.head:
			// The other side was silent on purpose and goes on with the time.
			j.head += min(ahead, j.waited)
			j.waited = 0
		case marker, j.jumps > 0 && timestamp-j.jumped < frame:
			j.restart(timestamp)
			start = j.extend(timestamp)
		default:
			j.jumps, j.jumped = 1, timestamp+uint32(len(pcm))
			return noPlace
		}
	}
	end := start + int64(len(pcm))
	if end <= j.head {
		if !j.backwards(timestamp, len(pcm)) {
			if j.late += lateStep; j.late > lateLimit {
				j.late, j.pause = 0, 1
			}
			return tooLate
		}
		j.restart(timestamp)
		start = j.extend(timestamp)
		end = start + int64(len(pcm))
	}
	j.jumps, j.late = 0, max(j.late-1, 0)
	j.measure(start, age, at)
	if start < j.head {
		pcm = pcm[j.head-start:]
		start = j.head
	}
	if end-j.head > tapeSize { // a very long packet
		pcm = pcm[:max(int64(len(pcm))-(end-j.head-tapeSize), 0)]
		end = start + int64(len(pcm))
	}
	j.write(start, pcm)
	j.newest = max(j.newest, end)
	return inTime
}

// backwards reports whether packets that seem late are a sender that began anew at an earlier time: some in a row while
// nothing else comes.
func (j *jitter) backwards(timestamp uint32, samples int) bool {
	if j.newest > j.head || j.jumps > 0 && timestamp != j.jumped {
		j.jumps = 0
		return false
	}
	j.jumps++
	j.jumped = timestamp + uint32(samples)
	return j.jumps >= restartPackets
}

// extend gives a timestamp its place on the long line, nearest to the head.
func (j *jitter) extend(timestamp uint32) int64 {
	return j.head + int64(int32(timestamp-uint32(j.head)))
}

// restart begins anew with a packet that is about to be written.
func (j *jitter) restart(timestamp uint32) {
	if !j.started {
		j.concealer.mute()
	}
	j.started = true
	clear(j.have[:])
	j.head = int64(timestamp) + 1<<32 - firstDelay
	j.newest = j.head
	j.waited, j.pause, j.excess, j.late, j.jumps = 0, 0, 0, 0, 0
	j.marginTimed = false
}

// measure notes how much earlier than needed a packet came.
func (j *jitter) measure(start int64, age, at time.Duration) {
	margin := age + audio.Duration(int(start-j.head))
	if !j.marginTimed {
		j.marginTimed, j.margin, j.marginUntil = true, margin, at+marginWindow
		return
	}
	j.margin = min(j.margin, margin)
	if at < j.marginUntil {
		return
	}
	j.excess = int(max(j.margin-marginGuard, 0) / audio.FrameTime)
	j.margin, j.marginUntil = margin, at+marginWindow
}

func (j *jitter) write(start int64, pcm []int16) {
	for len(pcm) > 0 {
		at := int(start & tapeMask)
		n := copy(j.tape[at:], pcm)
		j.mark(at, n)
		start, pcm = start+int64(n), pcm[n:]
	}
}

// mark sets n bits from at on, which do not go round the end.
func (j *jitter) mark(at, n int) {
	for n > 0 {
		bit := at & 63
		k := min(64-bit, n)
		j.have[at>>6] |= (^uint64(0) >> (64 - k)) << bit
		at, n = at+k, n-k
	}
}

// run counts the samples from the head on, at most n, that are there (or are not), up to where that changes.
func (j *jitter) run(from int64, n int) (length int, there bool) {
	at := int(from & tapeMask)
	there = j.have[at>>6]>>(at&63)&1 != 0
	for length < n {
		bit := at & 63
		word := j.have[at>>6] >> bit
		if !there {
			word = ^word
		}
		k := min(bits.TrailingZeros64(^word), 64-bit)
		length += k
		if k < 64-bit {
			break
		}
		at = (at + k) & tapeMask
	}
	return min(length, n), there
}

func (j *jitter) forget(from int64, n int) {
	for n > 0 {
		at := int(from & tapeMask)
		bit := at & 63
		k := min(64-bit, n)
		j.have[at>>6] &^= (^uint64(0) >> (64 - k)) << bit
		from, n = from+int64(k), n-k
	}
}

// read fills the next frame. It reports whether some of it was made up.
func (j *jitter) read(f *audio.Frame) (concealed bool) {
	if !j.started {
		*f = audio.Frame{}
		return false
	}
	j.resolve()
	if j.newest <= j.head {
		j.waited += frame
		return j.concealer.make(f[:])
	}
	if j.pause > 0 {
		j.pause--
		return j.concealer.make(f[:])
	}
	concealed = j.take(f)
	if j.excess > 0 && j.newest-j.head >= frame &&
		(audio.Power(f[:]) < quiet || audio.Duration(int(j.newest-j.head)) > pushDelay) {
		j.excess--
		j.take(f)
	}
	return concealed
}

// resolve skips what was waited for in vain when newer sound has come.
func (j *jitter) resolve() {
	if j.waited > 0 && j.newest > j.head {
		if gap, there := j.run(j.head, int(min(j.waited, j.newest-j.head))); !there {
			j.head += int64(gap)
		}
		j.waited = 0
	}
}

// take reads a frame at the head and makes up what is missing in it.
func (j *jitter) take(f *audio.Frame) (concealed bool) {
	for done := 0; done < frame; {
		n, there := j.run(j.head, frame-done)
		part := f[done : done+n]
		if there {
			at := int(j.head & tapeMask)
			if k := copy(part, j.tape[at:]); k < n {
				copy(part[k:], j.tape[:])
			}
			j.concealer.hear(part)
			j.forget(j.head, n)
		} else if j.concealer.make(part) {
			concealed = true
		}
		done, j.head = done+n, j.head+int64(n)
	}
	return concealed
}

// silence is told when the other side has a reason to send no sound.
func (j *jitter) silence() {
	if j.newest <= j.head {
		j.concealer.mute()
	}
}

// delay is how much sound waits on the tape.
func (j *jitter) delay() time.Duration {
	return audio.Duration(int(max(j.newest-j.head, 0)))
}
