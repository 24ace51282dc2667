package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

const (
	// chunkFrames of 20 ms are handed to the disk together: one second, 32 KB.
	chunkFrames = 50
	// chunkLimit bounds the sound of all calls that waits for the disk: 5 s of 400 calls, 64 MB. Beyond it a line that
	// waits for nobody gets silence in its recording, and an elastic one waits.
	chunkLimit = 5 * 400
	// flushEvery is how much sound a crash may cost.
	flushEvery = time.Second
)

// recorder writes the sound of all calls of this process into their spool files, from one goroutine off the media path.
// What is handed over is at most a second old, so that much a crash may cost.
type recorder struct {
	dir     string
	log     *slog.Logger
	mu      sync.Mutex
	tapes   map[uuid.UUID]*tape
	wake    chan struct{}
	pending atomic.Int64 // chunks that exist
	room    *sync.Cond   // of mu: a chunk was written
	chunks  sync.Pool
}

func newRecorder(dir string, log *slog.Logger) *recorder {
	r := &recorder{dir: dir, log: log, tapes: map[uuid.UUID]*tape{}, wake: make(chan struct{}, 1)}
	r.room = sync.NewCond(&r.mu)
	r.chunks.New = func() any { return new([chunkFrames]stereo) }
	return r
}

// stereo is 20 ms of a call.
type stereo struct{ agent, caller audio.Frame }

// chunk is up to a second of a call.
type chunk struct {
	frames *[chunkFrames]stereo
	n      int
	// gap is how many frames of silence follow: sound that was lost while the disk was too slow.
	gap int
}

// tape is the recording of one call. Its frame is called by the line's pacer; the rest by others.
type tape struct {
	r    *recorder
	call uuid.UUID
	// elastic lines wait for room instead of losing sound.
	elastic bool

	mu     sync.Mutex
	full   []chunk
	cur    chunk
	at     time.Duration // media time at the end of what was taken
	lost   time.Duration
	closed bool

	// writing is held by who writes the file: the recorder's goroutine, or who closes the tape.
	writing sync.Mutex
	file    *spool
	err     error
}

// start makes the tape of a call. Its file is opened with the first sound that is written, not at the answer.
func (r *recorder) start(call uuid.UUID, elastic bool) *tape {
	t := &tape{r: r, call: call, elastic: elastic}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tapes[call] = t
	return t
}

// tick takes 20 ms of both directions. It copies and, unless the line is elastic, never waits.
func (t *tape) tick(k carrier.Tick) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	// What the line left out before this tick (the time before the first, a jump) is silence, so that the recording's
	// clock is the call's.
	t.silence(k.At - audio.FrameTime - t.at)
	t.at = k.At
	if t.cur.frames == nil && !t.newChunk() {
		if !t.closed {
			t.lost += audio.FrameTime
			t.silence(audio.FrameTime)
		}
		return
	}
	to := &t.cur.frames[t.cur.n]
	to.agent, to.caller = *k.Agent, *k.Caller
	if t.cur.n++; t.cur.n == chunkFrames {
		t.turn()
	}
}

// silence adds d without sound. Called with mu held.
func (t *tape) silence(d time.Duration) {
	gap := int(d / audio.FrameTime)
	if gap <= 0 {
		return
	}
	t.turn()
	if len(t.full) == 0 {
		t.full = append(t.full, chunk{})
	}
	t.full[len(t.full)-1].gap += gap
}

// turn puts the current chunk to those that are ready for the disk. Called with mu held.
func (t *tape) turn() {
	if t.cur.n == 0 {
		return
	}
	t.full = append(t.full, t.cur)
	t.cur = chunk{}
	// At the speed of a telephone the recorder comes round in time; a fast sandbox has to call it.
	if len(t.full) > 1 {
		select {
		case t.r.wake <- struct{}{}:
		default:
		}
	}
}

// newChunk makes room for a second of sound, or says that there is none. Called with mu held; an elastic line gives it
// up while it waits.
func (t *tape) newChunk() bool {
	for t.r.pending.Load() >= chunkLimit {
		if !t.elastic {
			return false
		}
		t.mu.Unlock()
		t.r.waitForRoom()
		t.mu.Lock()
		if t.closed {
			return false
		}
	}
	t.r.pending.Add(1)
	t.cur = chunk{frames: t.r.chunks.Get().(*[chunkFrames]stereo)}
	return true
}

func (r *recorder) waitForRoom() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.pending.Load() >= chunkLimit {
		r.room.Wait()
	}
}

func (r *recorder) release(c chunk) {
	if c.frames == nil {
		return
	}
	r.chunks.Put(c.frames)
	r.mu.Lock()
	r.pending.Add(-1)
	r.mu.Unlock()
	r.room.Broadcast()
}

// run writes what the tapes hold, each second and whenever a second of sound is complete, until ctx ends. Tapes that
// are open then are still written by their close.
func (r *recorder) run(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		all := false
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-tick.C:
			all = true
		}
		for _, t := range r.open() {
			if all {
				t.mu.Lock()
				t.turn()
				t.mu.Unlock()
			}
			t.write()
		}
	}
}

func (r *recorder) open() []*tape {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*tape, 0, len(r.tapes))
	for _, t := range r.tapes {
		list = append(list, t)
	}
	return list
}

// write brings the complete chunks to the file. The first error ends the recording at that point; it is told at the
// close.
func (t *tape) write() {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	ready := t.full
	t.full = nil
	t.mu.Unlock()
	if t.file == nil && len(ready) > 0 && t.err == nil {
		t.file, t.err = createSpool(t.r.dir, t.call)
	}
	for _, c := range ready {
		if t.err == nil {
			t.err = t.file.add(c)
		}
		t.r.release(c)
	}
	if t.err == nil && len(ready) > 0 {
		t.err = t.file.wav.Flush()
	}
}

// add writes a chunk and the silence behind it.
func (s *spool) add(c chunk) error {
	for i := range c.n {
		if err := s.wav.Write(&c.frames[i].agent, &c.frames[i].caller); err != nil {
			return fmt.Errorf("write a recording: %w", err)
		}
	}
	for range c.gap {
		if err := s.wav.Write(nil, nil); err != nil {
			return fmt.Errorf("write a recording: %w", err)
		}
	}
	return nil
}

// taken is what a tape holds when it is closed.
type taken struct {
	// length is media time; 0 means that there is no file.
	length time.Duration
	// lost is how much of it is silence because the disk was too slow.
	lost time.Duration
}

// close ends the recording: everything taken is in the file and its header is right. With an error the file holds what
// came before it. A second close does nothing.
func (t *tape) close() (taken, error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return taken{}, nil
	}
	t.closed = true
	t.turn()
	t.mu.Unlock()
	t.write()

	t.r.mu.Lock()
	delete(t.r.tapes, t.call)
	t.r.mu.Unlock()

	t.writing.Lock()
	defer t.writing.Unlock()
	if t.file == nil {
		return taken{}, t.err
	}
	return taken{length: t.file.length(), lost: t.lost}, errors.Join(t.err, t.file.close())
}
