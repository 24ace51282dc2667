package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/carrier"
)

// Tape lets tests hold a recording without a call.
type Tape struct{ t *tape }

// NewTape begins a recording in dir. Nobody writes it but Flush and Close.
func NewTape(dir string, call uuid.UUID, elastic bool) Tape {
	return Tape{newRecorder(dir, slog.New(slog.DiscardHandler)).start(call, elastic)}
}

func (t Tape) Tick(k carrier.Tick) { t.t.tick(k) }

// Flush is what the recorder does each second.
func (t Tape) Flush() {
	t.t.mu.Lock()
	t.t.turn()
	t.t.mu.Unlock()
	t.t.write()
}

// Run is the recorder's loop.
func (t Tape) Run(ctx context.Context) { t.t.r.run(ctx) }

// Jam takes all the room for sound that waits for the disk; Unjam gives it back.
func (t Tape) Jam() { t.t.r.pending.Add(chunkLimit) }

func (t Tape) Unjam() {
	t.t.r.mu.Lock()
	defer t.t.r.mu.Unlock()
	t.t.r.pending.Add(-chunkLimit)
	t.t.r.room.Broadcast()
}

func (t Tape) Close() (length, lost time.Duration, err error) {
	got, err := t.t.close()
	return got.length, got.lost, err
}

var (
	SpoolPath = spoolPath
	Repair    = repair
)

// Full reports whether the engine takes no call, because it has no room or is being stopped.
func (e *Engine) Full() bool { return e.held.full() }
