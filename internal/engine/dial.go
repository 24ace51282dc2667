package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// sweepEvery is how soon a call is found whose job was lost.
const sweepEvery = time.Second

// dialWorker turns "this workspace may have calls to dial" into claimed calls.
type dialWorker struct {
	river.WorkerDefaults[call.Dial]
	engine *Engine
}

func (w *dialWorker) Work(ctx context.Context, job *river.Job[call.Dial]) error {
	return w.engine.claim(store.System(ctx), job.Args.WorkspaceID)
}

// claims keeps one claiming run per workspace: a second request during a run makes it look once more, so a thousand jobs
// of one workspace cost hardly more than one.
type claims struct {
	mu      sync.Mutex
	running map[uuid.UUID]bool // true: look once more
}

func (c *claims) begin(workspace uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, busy := c.running[workspace]; busy {
		c.running[workspace] = true
		return false
	}
	if c.running == nil {
		c.running = map[uuid.UUID]bool{}
	}
	c.running[workspace] = false
	return true
}

// again reports whether somebody asked meanwhile; if not, the run is over.
func (c *claims) again(workspace uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[workspace] {
		c.running[workspace] = false
		return true
	}
	delete(c.running, workspace)
	return false
}

func (c *claims) end(workspace uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, workspace)
}

// claim takes queued calls of a workspace while its plan and this process have room, and dials them. Where the process is
// short of room, those of others too: see turns.
func (e *Engine) claim(ctx context.Context, workspace uuid.UUID) error {
	if !e.claims.begin(workspace) {
		return nil
	}
	looked := false
	for {
		id, err := e.next(ctx, workspace, &looked)
		claimed := false
		if err == nil {
			claimed, err = e.claimOne(ctx, id)
		}
		if claimed || err == nil && id != workspace && !e.held.full() {
			continue // another one's turn
		}
		// A workspace that waits for room in this process, or for the database, is found again by the sweep.
		if err != nil || !e.claims.again(workspace) {
			if err != nil {
				e.claims.end(workspace)
			}
			return err
		}
	}
}

func (e *Engine) claimOne(ctx context.Context, workspace uuid.UUID) (bool, error) {
	if !e.held.take() {
		e.turns.missed(workspace) // full, or draining
		return false, nil
	}
	row, err := e.Line.Claim(ctx, e.DB, workspace, e.owner, e.Lease)
	if err != nil || row == nil {
		e.held.give(nil)
		return false, err
	}
	h := e.held.fill(row)
	go e.hold(h, e.dial)
	return true, nil
}

// sweepLoop finds workspaces whose queued calls no job speaks for any more: a job was lost, this process was full, or a
// slot became free in a way that nobody announced.
func (e *Engine) sweepLoop(ctx context.Context) {
	every(ctx, sweepEvery, func(ctx context.Context) {
		if e.held.full() {
			return
		}
		workspaces, err := call.Waiting(ctx, e.DB.Ent())
		if err != nil {
			e.Log.WarnContext(ctx, "could not look for waiting calls", "error", err)
			return
		}
		for _, id := range workspaces {
			if err := e.claim(ctx, id); err != nil {
				e.Log.WarnContext(ctx, "could not claim waiting calls", "workspace", id, "error", err)
			}
		}
	})
}

// dial places an outbound call and follows it to its end.
func (e *Engine) dial(h *held) call.Outcome {
	script, err := e.script(h.live, h.row, nil)
	if fault.Is(err, "agent_not_found") {
		return failed(reasonAgentGone)
	} else if err != nil {
		e.Log.ErrorContext(h.live, "no script for the call", "call", h.id, "error", err)
		return failed(reasonInternal)
	}
	h.warming.Go(func() { e.Speech.Warm(h.ctx, script.Script) }) // while it rings
	leg, err := e.carrier(h.row.Test).Dial(h.ctx, carrier.Request{
		CallID: h.id.String(), From: h.row.FromNumber, To: h.row.ToNumber, RingTimeout: script.ring,
	}, nil)
	if err != nil {
		return e.notAnswered(h, err)
	}
	return e.talk(h, leg, script)
}

// notAnswered says why there is no leg.
func (e *Engine) notAnswered(h *held, err error) call.Outcome {
	var stop = context.Cause(h.ctx)
	ended := carrier.EndedOf(err)
	if ended.Reason == carrier.ReasonCanceled && errors.Is(stop, stopShutdown) {
		return failed(reasonShutdown)
	}
	if ended.Class == carrier.ClassServer {
		e.Log.ErrorContext(h.live, "dialing failed", "call", h.id, "error", err)
	}
	return unanswered(ended)
}
