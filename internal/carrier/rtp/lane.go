package rtp

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/callwright/callwright/internal/audio"
)

const (
	// maxBurst is how many ticks are made up for at once after the machine was late; beyond it media time jumps, since a
	// flood of old sound helps nobody.
	maxBurst = 5
	// laneFill is how many streams a lane gets before the next one is put to work: fewer wake-ups.
	laneFill = 16
	// laneLinger is how many ticks a lane waits for another stream before it goes to rest: a thread for each of many
	// short calls would cost more.
	laneLinger = 250
)

// lane looks after some streams: one goroutine that runs while there are any, and a little longer, and one timer. Measured
// beside a goroutine for each stream by BenchmarkStreams: 16 against 24 µs for a packet pair at a hundred calls, since most
// of a tick's price is waking up; a bare echo takes 16 to 23 in the same runs.
type lane struct {
	// phase is where in the 20 ms the lane ticks, so that the lanes share the processors.
	phase time.Duration
	epoch time.Time
	late  *lateness
	done  <-chan struct{} // of the ports
	work  *sync.WaitGroup // the lanes' goroutines

	mu      sync.Mutex
	streams atomic.Pointer[[]*Stream] // replaced, never changed
	running bool
}

func (l *lane) list() []*Stream {
	if p := l.streams.Load(); p != nil {
		return *p
	}
	return nil
}

// join adds a stream; its first tick is within 20 ms.
func (l *lane) join(s *Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.list()
	streams := append(old[:len(old):len(old)], s)
	l.streams.Store(&streams)
	if !l.running {
		l.running = true
		l.work.Go(l.run)
	}
}

func (l *lane) leave(s *Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.list()
	streams := make([]*Stream, 0, len(old))
	for _, other := range old {
		if other != s {
			streams = append(streams, other)
		}
	}
	l.streams.Store(&streams)
}

// run ticks until there has been no stream for a while, or the ports are closed.
func (l *lane) run() {
	b := newBatch()
	since := time.Since(l.epoch) - l.phase
	next := l.epoch.Add(l.phase + since.Truncate(audio.FrameTime) + audio.FrameTime)
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	empty := 0
	for {
		select {
		case <-timer.C:
		case <-l.done:
			return
		}
		now := time.Now()
		behind := int(now.Sub(next) / audio.FrameTime)
		l.late.add(now.Sub(next))
		skip := max(behind-maxBurst+1, 0)
		for range behind - skip + 1 {
			for _, s := range l.list() {
				s.tick(b, now, skip)
			}
			skip = 0
		}
		next = next.Add(time.Duration(behind+1) * audio.FrameTime)
		timer.Reset(time.Until(next))
		if empty++; len(l.list()) > 0 {
			empty = 0
		} else if empty > laneLinger && l.rest() {
			return
		}
	}
}

// rest ends the lane's work unless a stream has just joined.
func (l *lane) rest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = len(l.list()) > 0
	return !l.running
}

// lateness counts by how much ticks missed their deadlines, in whole milliseconds, over about five seconds.
type lateness struct {
	mu      sync.Mutex
	now     [64]uint32
	before  [64]uint32
	started time.Time
}

const latenessWindow = 5 * time.Second

func (l *lateness) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.started) > latenessWindow {
		l.before, l.started = l.now, now
		l.now = [64]uint32{}
	}
	l.now[min(max(int(d/time.Millisecond), 0), len(l.now)-1)]++
}

// worst is what one tick in a hundred exceeded.
func (l *lateness) worst() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.started) > 2*latenessWindow {
		return 0
	}
	var all uint32
	for i := range l.now {
		all += l.now[i] + l.before[i]
	}
	rest := all / 100
	for i := len(l.now) - 1; i >= 0; i-- {
		n := l.now[i] + l.before[i]
		if n > rest {
			return time.Duration(i) * time.Millisecond
		}
		rest -= n
	}
	return 0
}
