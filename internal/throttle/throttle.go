// Package throttle counts requests exactly: at most so many of one caller in any span of time.
//
// It keeps the time of each accepted request (a sliding log), so no window of that length holds more, and none is refused
// while there is room. A caller that asks nothing for a span is forgotten.
//
// Several processes share a limit through a [Shared] log. This process then remembers who is refused until when, so that a
// caller who goes on asking costs the shared log nothing, and what it has let pass itself: while the shared log can not be
// reached it counts alone rather than refuse.
package throttle

import (
	"context"
	"hash/maphash"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Log accepts at most Limit requests of a caller in any Span. Make one with New or NewShared.
type Log struct {
	// Limit is 1 or more.
	Limit  int
	span   time.Duration
	start  time.Time // all times are since then, on the monotonic clock
	seed   maphash.Seed
	shared Shared // nil: this process alone
	log    *slog.Logger
	away   atomic.Int64 // until when the shared log is not asked
	shards [64]shard
}

// Shared is a log that several processes have in common. It accepts a request of the caller if there is room.
type Shared func(ctx context.Context, caller string) (Verdict, error)

type shard struct {
	mu    sync.Mutex
	logs  map[string]*sliding
	swept time.Duration
}

// sliding holds the times of the requests accepted within the last span, oldest first.
type sliding struct {
	times []time.Duration
	// full is until when the shared log refuses.
	full time.Duration
}

// Verdict is what a Log says to a request.
type Verdict struct {
	OK        bool
	Remaining int
	// Reset is until the oldest accepted request leaves the window.
	Reset time.Duration
}

// New returns an empty log of this process.
func New(limit int, span time.Duration) *Log {
	return &Log{Limit: limit, span: span, start: time.Now(), seed: maphash.MakeSeed()}
}

// NewShared returns a log that counts in a shared one; log gets its failures.
func NewShared(limit int, span time.Duration, shared Shared, log *slog.Logger) *Log {
	l := New(limit, span)
	l.shared, l.log = shared, log
	return l
}

const (
	// patience is how long the shared log may take.
	patience = time.Second
	// respite is how long it is left alone after it failed.
	respite = time.Second
)

// Take accepts a request of the caller if there is room.
func (l *Log) Take(ctx context.Context, caller string) Verdict {
	if l.shared == nil {
		return l.count(caller, true)
	}
	asked := time.Since(l.start)
	if v, refused := l.refused(caller, asked); refused {
		return v
	}
	if asked < time.Duration(l.away.Load()) {
		return l.count(caller, true)
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err := l.shared(bounded, caller)
	if err != nil {
		if ctx.Err() == nil { // else its client has gone, which says nothing about the log
			l.away.Store(int64(time.Since(l.start) + respite))
			l.log.WarnContext(ctx, "the shared throttle can not be reached; this process counts alone", "error", err)
		}
		return l.count(caller, true)
	}
	l.note(caller, asked, v)
	return v
}

// Look is what Take would say in this process, without taking.
func (l *Log) Look(caller string) Verdict { return l.count(caller, false) }

// refused tells whether the shared log is known to refuse the caller still.
func (l *Log) refused(caller string, now time.Duration) (Verdict, bool) {
	s := l.shardOf(caller)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.logs[caller]
	if t == nil || now >= t.full {
		return Verdict{}, false
	}
	return Verdict{Reset: t.full - now}, true
}

// note keeps what the shared log said: asked is before it was, so that no time of here is later than the one of there.
func (l *Log) note(caller string, asked time.Duration, v Verdict) {
	s := l.shardOf(caller)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(asked, l.span)
	t := s.of(caller)
	if !v.OK {
		t.full = max(t.full, asked+v.Reset)
		return
	}
	t.forget(asked, l.span)
	if len(t.times) < l.Limit {
		t.times = append(t.times, asked)
	}
}

func (l *Log) count(caller string, add bool) Verdict {
	s := l.shardOf(caller)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(l.start)
	s.sweep(now, l.span)
	if s.logs[caller] == nil && !add {
		return Verdict{OK: true, Remaining: l.Limit}
	}
	t := s.of(caller)
	t.forget(now, l.span)
	ok := len(t.times) < l.Limit
	if ok && add {
		t.times = append(t.times, now)
	}
	v := Verdict{OK: ok, Remaining: l.Limit - len(t.times)}
	if len(t.times) > 0 {
		v.Reset = t.times[0] + l.span - now
	}
	return v
}

func (l *Log) shardOf(caller string) *shard {
	return &l.shards[maphash.String(l.seed, caller)%uint64(len(l.shards))]
}

// of is the caller's log, which is made if there is none. The caller of it holds the lock.
func (s *shard) of(caller string) *sliding {
	t := s.logs[caller]
	if t == nil {
		if s.logs == nil {
			s.logs = map[string]*sliding{}
		}
		t = &sliding{}
		s.logs[caller] = t
	}
	return t
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
		if t.forget(now, span); len(t.times) == 0 && now >= t.full {
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
