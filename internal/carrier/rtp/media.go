package rtp

import (
	"sync"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

// readerFrames may wait for a late reader, half a second; then the oldest is dropped.
const readerFrames = 25

// media is a stream as carrier.Media.
type media struct {
	s *Stream

	mu      sync.Mutex
	wake    *sync.Cond
	frames  [readerFrames]carrier.Frame
	first   int
	n       int
	waiting bool
	over    bool
	ended   *carrier.Ended
}

func newMedia(s *Stream) *media {
	m := &media{s: s}
	m.wake = sync.NewCond(&m.mu)
	return m
}

// deliver gives the reader a frame.
func (m *media) deliver(pcm *audio.Frame, at time.Duration, concealed bool) {
	m.mu.Lock()
	if m.n == readerFrames {
		m.first, m.n = (m.first+1)%readerFrames, m.n-1
	}
	f := &m.frames[(m.first+m.n)%readerFrames]
	f.PCM, f.At, f.Concealed = *pcm, at, concealed
	m.n++
	waiting := m.waiting
	m.waiting = false
	m.mu.Unlock()
	if waiting {
		m.wake.Signal()
	}
}

func (m *media) end(ended *carrier.Ended) {
	m.mu.Lock()
	m.over, m.ended = true, ended
	m.mu.Unlock()
	m.wake.Broadcast()
}

// ReadFrame is that of carrier.Media.
func (m *media) ReadFrame(f *carrier.Frame) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.n == 0 && !m.over {
		m.waiting = true
		m.wake.Wait()
	}
	if m.over {
		return m.ended
	}
	*f = m.frames[m.first]
	m.first, m.n = (m.first+1)%readerFrames, m.n-1
	return nil
}

// err is the end, nil before it.
func (m *media) err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return m.ended
	}
	return nil
}

// Enqueue is that of carrier.Media.
func (m *media) Enqueue(turn uint64, pcm []int16) error {
	if err := m.err(); err != nil {
		return err
	}
	return m.s.playout.Enqueue(turn, pcm)
}

// Mark is that of carrier.Media.
func (m *media) Mark(turn uint64, id string) error {
	if err := m.err(); err != nil {
		return err
	}
	return m.s.playout.Mark(turn, id)
}

// Clear is that of carrier.Media.
func (m *media) Clear(upTo uint64) time.Duration { return m.s.playout.Clear(upTo) }

// SetBackground is that of carrier.Backdrop.
func (m *media) SetBackground(loop []int16) { m.s.playout.SetBackground(loop) }

// Tap is that of carrier.Media.
func (m *media) Tap(f func(carrier.Tick)) {
	if f == nil {
		m.s.tap.Store(nil)
		return
	}
	m.s.tap.Store(&f)
}
