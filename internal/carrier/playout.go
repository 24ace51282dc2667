package carrier

import (
	"math"
	"sync"
	"time"

	"github.com/callwright/callwright/internal/audio"
)

// Playout is the queue between an agent that makes sound as fast as it can and a line that plays 20 ms at a time. It has
// the rules of [Media] for Enqueue, Mark and Clear; every carrier's pacer takes from one. The zero value is ready.
type Playout struct {
	mu      sync.Mutex
	queue   []piece // queue[head:] is waiting
	head    int
	waiting int    // samples
	cleared uint64 // turns up to this one are over
	turn    uint64 // of the newest sample played
	played  int    // samples of that turn

	background []int16 // under everything, in a loop
	backAt     int
}

// SetBackground is that of Backdrop.
func (p *Playout) SetBackground(loop []int16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.background, p.backAt = loop, 0
}

// piece is sound or a mark.
type piece struct {
	turn uint64
	pcm  []int16
	mark string
}

// Enqueue is that of Media.
func (p *Playout) Enqueue(turn uint64, pcm []int16) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case turn <= p.cleared:
		return ErrCleared
	case len(pcm) == 0:
		return nil
	case p.waiting > 0 && p.waiting+len(pcm) > audio.Samples(PlayoutLimit):
		return ErrFull // a single piece above the limit is let in when nothing waits: it would never fit
	}
	p.waiting += len(pcm)
	p.queue = append(p.queue, piece{turn: turn, pcm: pcm})
	return nil
}

// Mark is that of Media.
func (p *Playout) Mark(turn uint64, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if turn <= p.cleared {
		return ErrCleared
	}
	p.queue = append(p.queue, piece{turn: turn, mark: id})
	return nil
}

// Clear is that of Media.
func (p *Playout) Clear(upTo uint64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleared = max(p.cleared, upTo)
	kept := p.queue[:0]
	for _, next := range p.queue[p.head:] {
		if next.turn > upTo {
			kept = append(kept, next)
			continue
		}
		p.waiting -= len(next.pcm)
	}
	clear(p.queue[len(kept):])
	p.queue, p.head = kept, 0
	if p.turn != upTo {
		return 0
	}
	return audio.Duration(p.played)
}

// Fill takes the next 20 ms; what is missing is silence. reached is told of the marks that were passed, with the lock
// held. It reports whether there was any sound.
func (p *Playout) Fill(f *audio.Frame, reached func(turn uint64, mark string)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for p.head < len(p.queue) {
		next := &p.queue[p.head]
		if next.pcm == nil {
			reached(next.turn, next.mark)
			p.drop()
			continue
		}
		if n == len(f) {
			break
		}
		if next.turn != p.turn {
			p.turn, p.played = next.turn, 0
		}
		took := copy(f[n:], next.pcm)
		n += took
		p.played += took
		p.waiting -= took
		if next.pcm = next.pcm[took:]; len(next.pcm) == 0 {
			p.drop()
		}
	}
	clear(f[n:])
	p.mix(f)
	return n > 0 || len(p.background) > 0
}

// mix adds the background.
func (p *Playout) mix(f *audio.Frame) {
	if len(p.background) == 0 {
		return
	}
	for i, s := range f {
		f[i] = int16(min(max(int(s)+int(p.background[p.backAt]), math.MinInt16), math.MaxInt16))
		p.backAt = (p.backAt + 1) % len(p.background)
	}
}

// drop removes the head of the queue and reuses its room when nothing waits any more.
func (p *Playout) drop() {
	p.queue[p.head] = piece{}
	if p.head++; p.head == len(p.queue) {
		p.queue, p.head = p.queue[:0], 0
	}
}
