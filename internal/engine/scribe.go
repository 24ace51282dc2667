package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/store"
)

// scribe writes down what is said in all calls of this process, in batches, so that a crash keeps the transcript up to
// half a second ago and a conversation never waits for the database.
type scribe struct {
	db  *store.DB
	log *slog.Logger

	mu      sync.Mutex
	pending map[uuid.UUID]*page
	// writing is held while turns are on their way, so that those of a call stay in order.
	writing sync.Mutex
}

// page is what a call has said and nobody has written yet.
type page struct {
	workspace uuid.UUID
	turns     []call.Turn
}

// scribeEvery is how old a turn may become before it is written.
const scribeEvery = 500 * time.Millisecond

func newScribe(db *store.DB, log *slog.Logger) *scribe {
	return &scribe{db: db, log: log, pending: map[uuid.UUID]*page{}}
}

// add takes a turn of a call.
func (s *scribe) add(h *held, t conversation.Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pending[h.id]
	if p == nil {
		p = &page{workspace: h.row.WorkspaceID}
		s.pending[h.id] = p
	}
	p.turns = append(p.turns, call.Turn{
		Seq: t.Seq, Role: string(t.Role), Content: t.Content, Interrupted: t.Interrupted,
		Start: t.Start, End: t.End, Timing: timing(t.Timing),
	})
}

// run writes until ctx ends.
func (s *scribe) run(ctx context.Context) {
	tick := time.NewTicker(scribeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, id := range s.waiting() {
			if err := s.write(ctx, id); err != nil {
				s.log.WarnContext(ctx, "turns not written yet", "call", id, "error", err)
			}
		}
	}
}

func (s *scribe) waiting() []uuid.UUID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]uuid.UUID, 0, len(s.pending))
	for id := range s.pending {
		ids = append(ids, id)
	}
	return ids
}

// write brings the pending turns of a call to the database. After an error they are still pending.
func (s *scribe) write(ctx context.Context, id uuid.UUID) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	p := s.pending[id]
	delete(s.pending, id)
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	err := call.AddTurns(ctx, s.db, p.workspace, id, p.turns)
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if later := s.pending[id]; later != nil {
		p.turns = append(p.turns, later.turns...)
	}
	s.pending[id] = p
	return err
}

// forget drops what is pending of a call that nobody may write any more.
func (s *scribe) forget(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, id)
}
