// Package throttle counts requests exactly: at most so many of one caller in any span of time.
//
// It keeps the time of each accepted request (a sliding log), so no window of that length holds more, and none is refused
// while there is room. A caller that asks nothing for a span is forgotten.
package throttle

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"
)

// Log accepts at most Limit requests of a caller in any Span. Make one with New.
type Log struct {
	// Limit is 1 or more.
	Limit  int
	span   time.Duration
	start  time.Time // all times are since then, on the monotonic clock
	seed   maphash.Seed
	shards [64]shard
}

type shard struct {
	mu    sync.Mutex
	logs  map[string]*sliding
	swept time.Duration
}

// sliding holds the times of the requests accepted within the last span, oldest first.
type sliding struct{ times []time.Duration }

// Verdict is what a Log says to a request.
type Verdict struct {
	OK        bool
	Remaining int
	// Reset is until the oldest accepted request leaves the window.
	Reset time.Duration
}

// New returns an empty log.
func New(limit int, span time.Duration) *Log {
	return &Log{Limit: limit, span: span, start: time.Now(), seed: maphash.MakeSeed()}
}

// Take accepts a request of the caller if there is room.
func (l *Log) Take(caller string) Verdict { return l.count(caller, true) }

// Look is what Take would say, without taking.
func (l *Log) Look(caller string) Verdict { return l.count(caller, false) }

func (l *Log) count(caller string, add bool) Verdict {
	s := &l.shards[maphash.String(l.seed, caller)%uint64(len(l.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(l.start)
	s.sweep(now, l.span)
	times := s.logs[caller]
	if times == nil {
		if !add {
			return Verdict{OK: true, Remaining: l.Limit}
		}
		if s.logs == nil {
			s.logs = map[string]*sliding{}
		}
		times = &sliding{}
		s.logs[caller] = times
	}
	times.forget(now, l.span)
	ok := len(times.times) < l.Limit
	if ok && add {
		times.times = append(times.times, now)
	}
	v := Verdict{OK: ok, Remaining: l.Limit - len(times.times)}
	if len(times.times) > 0 {
		v.Reset = times.times[0] + l.span - now
	}
	return v
}

// forget drops the requests that have left the window.
func (t *sliding) forget(now, span time.Duration) {
	i := 0
	for i < len(t.times) && now-t.times[i] >= span {
		i++
	}
	t.times = slices.Delete(t.times, 0, i)
}

// sweep forgets idle callers, at most once in a span.
func (s *shard) sweep(now, span time.Duration) {
	if now-s.swept < span {
		return
	}
	s.swept = now
	for caller, t := range s.logs {
		if t.forget(now, span); len(t.times) == 0 {
			delete(s.logs, caller)
		}
	}
}

// Callers is how many callers are remembered.
func (l *Log) Callers() (n int) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		n += len(s.logs)
		s.mu.Unlock()
	}
	return n
}
