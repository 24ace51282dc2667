package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/conversation"
)

// Why a call is ended from outside; the causes of its context.
var (
	stopCanceled = &conversation.Stop{
		Reason: carrier.ReasonCanceled, Class: carrier.ClassClient,
		Message: "The call was ended on request.",
	}
	stopShutdown = &conversation.Stop{
		Reason: reasonShutdown, Class: carrier.ClassServer,
		Message: "The service was stopped while the call was in progress.",
		Sorry:   true,
	}
	// Another process has written the end of this call already; nothing of ours counts any more.
	stopLost = &conversation.Stop{
		Reason: carrier.ReasonWorkerLost, Class: carrier.ClassServer,
		Message: "The lease on the call was lost.",
	}
)

// held is a call that this process holds a lease on.
type held struct {
	row *ent.Call
	id  uuid.UUID
	// ctx ends with one of the causes above, or with live.
	ctx  context.Context
	stop context.CancelCauseFunc
	// live is for what has to be written however the call ends. It ends when the engine gives up.
	live context.Context
	// finishing is set while the end is being written. That the row is nobody's any more is no surprise then, and if it
	// was somebody else's doing, the write itself finds out.
	finishing atomic.Bool
	// warming is the speech getting ready; it ends with ctx.
	warming sync.WaitGroup
}

// lost reports whether the call belongs to somebody else by now.
func (h *held) lost() bool { return errors.Is(context.Cause(h.ctx), stopLost) }

// registry knows the calls that this process holds. A place in it is taken before a call is claimed, so that a claimed
// call always has one.
type registry struct {
	max int

	mu     sync.Mutex
	live   context.Context // of all calls; nil before open
	end    context.CancelFunc
	calls  map[uuid.UUID]*held
	places int
	closed bool
	empty  chan struct{} // closed when the last place is given back after shut
}

func newRegistry(size int) *registry {
	return &registry{max: size, calls: map[uuid.UUID]*held{}, empty: make(chan struct{})}
}

// open lets calls in; their contexts come from ctx.
func (r *registry) open(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live, r.end = context.WithCancel(ctx)
}

// take takes a place for a call that is about to be claimed.
func (r *registry) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == nil || r.closed || r.places >= r.max {
		return false
	}
	r.places++
	return true
}

// fill puts a call on a place that was taken.
func (r *registry) fill(c *ent.Call) *held {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &held{row: c, id: c.ID, live: r.live}
	h.ctx, h.stop = context.WithCancelCause(r.live)
	r.calls[c.ID] = h
	return h
}

// give gives a place back, and the call on it, if there is one.
func (r *registry) give(h *held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h != nil {
		h.stop(nil)
		delete(r.calls, h.id)
	}
	r.places--
	r.tell()
}

// tell closes empty when nobody is left. Called with mu held.
func (r *registry) tell() {
	if r.closed && r.places == 0 {
		close(r.empty)
	}
}

// shut lets no more calls in. The channel is closed when the last one has gone.
func (r *registry) shut() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.tell()
	}
	return r.empty
}

// abandon ends everything that the calls still wait for.
func (r *registry) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
}

func (r *registry) get(id uuid.UUID) *held {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[id]
}

func (r *registry) all() []*held {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*held, 0, len(r.calls))
	for _, h := range r.calls {
		list = append(list, h)
	}
	return list
}

func (r *registry) ids() []uuid.UUID {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := make([]uuid.UUID, 0, len(r.calls))
	for id := range r.calls {
		ids = append(ids, id)
	}
	return ids
}

func (r *registry) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed || r.places >= r.max
}

func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.places
}
