// Package voice has the built-in voices: sound for any text, with no account and no file from outside.
//
// How the sound is made: English is spoken by flite when that program is installed, every language by espeak-ng when
// that one is; both get the text on their standard input, never as an argument, and their output is brought to 8 kHz and
// one loudness. Without them, when Config.Placeholder asks for it, or when a program is too slow for a talk that is
// going on, the placeholder of placeholder.go is heard: a hum in syllables of about the right number and length, made of
// a voiced source and vowel formants, deterministic, with another pitch for each voice. It says nothing, but turns,
// pauses, interruptions and recordings are the same as with words.
package voice

import (
	"container/list"
	"context"
	"hash/fnv"
	"log/slog"
	"runtime"
	"sync"
	"time"
)

// Config of a studio.
type Config struct {
	// Placeholder keeps to the placeholder even if flite or espeak-ng is installed: tests are the same everywhere then.
	Placeholder bool
	// Patience is how long a line may take, by the wall clock, before the placeholder speaks it instead. It should be
	// divided by the speed of a sandbox that runs fast. Defaults to 400 ms.
	Patience time.Duration
	// Programs is how many programs run at once. Defaults to the number of processors.
	Programs int
	// CacheBytes bounds the sound kept for lines said again. Defaults to 24 MB, 25 minutes.
	CacheBytes int
	// Log hears of programs that fail. Defaults to none.
	Log *slog.Logger
}

// Speaker is who says a line and how.
type Speaker struct {
	// Name chooses the voice. The names that flite knows (rms, slt, awb, kal) are taken as they are; any other text
	// becomes one of them, always the same.
	Name string
	// Language is BCP 47. Defaults to English.
	Language string
	// Rate is 0.5 to 2. Defaults to 1.
	Rate float64
}

// Studio makes sound. It may be used by any number of goroutines.
type Studio struct {
	c        Config
	programs programs
	slots    chan struct{}
	running  sync.WaitGroup

	mu     sync.Mutex
	lines  map[line]*list.Element // of *take
	recent *list.List             // newest first
	bytes  int
	taking map[line]*take
}

type line struct {
	who  Speaker
	text string
}

// take is one line's sound; done is closed when pcm is there, nil if it could not be made.
type take struct {
	line line
	pcm  []int16
	done chan struct{}
}

// maxTaking bounds the lines waiting for a program; more of them are spoken by the placeholder at once.
const maxTaking = 64

// New makes a studio and looks for the programs.
func New(c Config) *Studio {
	if c.Patience <= 0 {
		c.Patience = 400 * time.Millisecond
	}
	if c.Programs <= 0 {
		c.Programs = runtime.GOMAXPROCS(0)
	}
	if c.CacheBytes <= 0 {
		c.CacheBytes = 24 << 20
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Studio{
		c: c, slots: make(chan struct{}, c.Programs),
		lines: map[line]*list.Element{}, recent: list.New(), taking: map[line]*take{},
	}
	if !c.Placeholder {
		s.programs = findPrograms()
	}
	return s
}

// Say gives the sound of a text, 8 kHz. It never fails: at worst the placeholder speaks. It waits for at most the
// patience, or until ctx ends. The samples are shared: do not change them.
func (s *Studio) Say(ctx context.Context, who Speaker, text string) []int16 {
	who = who.withDefaults()
	t := s.take(line{who, text})
	if t == nil {
		return placeholder(who, text)
	}
	select {
	case <-t.done:
	default:
		patience := time.NewTimer(s.c.Patience)
		defer patience.Stop()
		select {
		case <-t.done:
		case <-patience.C:
			return placeholder(who, text)
		case <-ctx.Done():
			return placeholder(who, text)
		}
	}
	if t.pcm == nil {
		return placeholder(who, text)
	}
	return t.pcm
}

// Warm begins to make a line so that Say finds it ready.
func (s *Studio) Warm(who Speaker, text string) { s.take(line{who.withDefaults(), text}) }

// Close waits for running programs; they end within seconds.
func (s *Studio) Close() { s.running.Wait() }

// take finds a line in the cache or begins to make it. nil means that too many are being made.
func (s *Studio) take(l line) *take {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.lines[l]; e != nil {
		s.recent.MoveToFront(e)
		return e.Value.(*take)
	}
	if t := s.taking[l]; t != nil {
		return t
	}
	run := s.programs.forLine(l)
	if run == nil {
		t := &take{line: l, pcm: placeholder(l.who, l.text), done: make(chan struct{})}
		close(t.done)
		s.keep(t)
		return t
	}
	if len(s.taking) >= maxTaking {
		return nil
	}
	t := &take{line: l, done: make(chan struct{})}
	s.taking[l] = t
	s.running.Go(func() { s.make(t, run) })
	return t
}

// make runs the program for a take and keeps what it gave.
func (s *Studio) make(t *take, run *command) {
	s.slots <- struct{}{}
	pcm, err := run.speak(t.line.text)
	<-s.slots
	if err != nil {
		s.c.Log.Warn("a voice program failed, the placeholder speaks", "program", run.name, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taking, t.line)
	t.pcm = pcm
	close(t.done)
	if pcm != nil {
		s.keep(t)
	}
}

// keep puts a take into the cache and drops the oldest ones over the bound. The lock is held.
func (s *Studio) keep(t *take) {
	s.lines[t.line] = s.recent.PushFront(t)
	s.bytes += t.size()
	for s.bytes > s.c.CacheBytes && s.recent.Len() > 1 {
		oldest := s.recent.Remove(s.recent.Back()).(*take)
		delete(s.lines, oldest.line)
		s.bytes -= oldest.size()
	}
}

func (t *take) size() int { return 2*len(t.pcm) + len(t.line.text) + 256 }

func (w Speaker) withDefaults() Speaker {
	if w.Language == "" {
		w.Language = "en"
	}
	if w.Rate == 0 {
		w.Rate = 1
	}
	w.Rate = min(max(w.Rate, 0.5), 2)
	return w
}

// number is a stable number of the speaker's name.
func (w Speaker) number() uint32 {
	h := fnv.New32a()
	h.Write([]byte(w.Name))
	return h.Sum32()
}
