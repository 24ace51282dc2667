// Package engine runs calls: it dials or answers a leg, holds the conversation, records it, and tells the truth about its
// end, also when the process that held it died.
//
// # The life of a call
//
// Outbound: call.Place leaves a row "queued" and a job. The job claims the call ([call.Claim]: status dialing, a slot of
// the plan and a lease, committed before the leg is dialed) and hands it to a goroutine of the engine; the job is over
// then, a call never lives in a job. Inbound: the carrier offers a call, [call.Receive] makes its row. From the answer on
// both go the same line (talk.go): conversation, recording, turns, [call.Finish].
//
// # Nobody is dialed twice
//
// A claimed call never becomes queued again. If the process dies between the claim and the dialing, the call ends failed
// (worker_lost) and was perhaps never rung; that is the price, and it is told.
//
// # Leases
//
// The process that holds a call renews its lease. A lease that ran out belongs to a process that died, and any process
// with an engine buries the call: status failed, reason worker_lost, its time counted to the last sign of life, what was
// recorded and said kept. A process that was only slow and finds its lease lost ends the leg and writes nothing more. When
// the database is away calls go on; their ends are written when it is back.
//
// # Goroutines
//
// [Engine.Run] owns all: a few loops (leases, wish to cancel, turns, sound, reaper, waiting calls) and one goroutine for
// each call, which owns the call's state. The media path (the tap of a leg) touches neither disk nor database.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/store"
)

// Config of an engine. DB, Carrier, Speech, Recordings and SpoolDir are needed.
type Config struct {
	DB *store.DB
	// Carrier has the lines: outbound calls leave by it, inbound calls come from it.
	Carrier carrier.Carrier
	// Sandbox takes test conversations (CONTRACT.md §2: always on the sandbox carrier). Defaults to Carrier.
	Sandbox carrier.Carrier
	// Line says what kind of line Carrier is, for the dial policy. Defaults to the sandbox.
	Line call.Line
	// Speech hears, thinks and speaks for the agents.
	Speech conversation.Speech
	// Fallback speaks the last apology when Speech can not even do that. Defaults to a hum of the right length.
	Fallback conversation.Voice
	// Recordings is where recordings end up.
	Recordings *call.Recordings
	// SpoolDir is a local directory for the recordings of running calls; it is created. Processes on one machine may
	// share it.
	SpoolDir string
	// Metrics count and measure. Defaults to some that nobody sees; see NewMetrics.
	Metrics *Metrics
	// MaxCalls is how many calls this process holds at once; further ones stay queued, inbound ones are refused for now.
	// Defaults to 1000.
	MaxCalls int
	// Lease is how long a call outlives the last sign of life of its process. It is renewed at a third of it. Defaults to
	// 10 s.
	Lease time.Duration
	// DrainTimeout is how long calls in progress may go on after the end of Run's context. Defaults to 30 minutes;
	// negative is not at all.
	DrainTimeout time.Duration
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Engine runs calls. Make one with New.
type Engine struct {
	Config
	// owner is this engine's name in leases; another start of the same process is another owner.
	owner    string
	held     *registry
	recorder *recorder
	scribe   *scribe
	claims   claims
	turns    turns
	hangUp   chan struct{}
	hangOnce sync.Once
}

// New makes an engine. It does nothing before Run.
func New(c Config) (*Engine, error) {
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Metrics == nil {
		c.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	c.MaxCalls = cmp.Or(c.MaxCalls, 1000)
	c.Lease = cmp.Or(c.Lease, 10*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Minute)
	if c.Sandbox == nil {
		c.Sandbox = c.Carrier
	}
	if err := os.MkdirAll(c.SpoolDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for running recordings: %w", err)
	}
	return &Engine{
		Config:   c,
		owner:    store.NewID().String(),
		held:     newRegistry(c.MaxCalls),
		recorder: newRecorder(c.SpoolDir, c.Log),
		scribe:   newScribe(c.DB, c.Log),
		hangUp:   make(chan struct{}),
	}, nil
}

// Workers adds the engine's jobs to those of the process. Jobs that come before Run or after its end leave calls queued.
func (e *Engine) Workers(w *river.Workers) { river.AddWorker(w, &dialWorker{engine: e}) }

// Held is how many calls this process holds.
func (e *Engine) Held() int { return e.held.count() }

// HangUp ends the calls in progress now instead of waiting for DrainTimeout: the second stop signal.
func (e *Engine) HangUp() { e.hangOnce.Do(func() { close(e.hangUp) }) }

// Run holds calls until ctx ends. Then it takes no new ones, lets those in progress go on for DrainTimeout, says goodbye
// on the rest (service_shutdown), and returns when all are written down.
func (e *Engine) Run(ctx context.Context) error {
	// Calls outlive ctx; they end with live.
	live, end := context.WithCancel(store.System(context.WithoutCancel(ctx)))
	defer end()
	var loops, lines sync.WaitGroup
	loops.Go(func() { e.recorder.run(live) })
	loops.Go(func() { e.scribe.run(live) })
	loops.Go(func() { e.renewLoop(live) })
	loops.Go(func() { e.cancelLoop(live) })
	loops.Go(func() { e.reapLoop(live) })
	loops.Go(func() { e.adoptLoop(live) })
	e.held.open(live)
	loops.Go(func() { e.sweepLoop(live) })
	for _, line := range e.lines() {
		lines.Go(func() { e.serve(ctx, line) })
	}
	<-ctx.Done()
	e.drain()
	lines.Wait()
	end()
	loops.Wait()
	return nil
}

// lines are the carriers, each once.
func (e *Engine) lines() []carrier.Carrier {
	if e.Sandbox == e.Carrier {
		return []carrier.Carrier{e.Carrier}
	}
	return []carrier.Carrier{e.Carrier, e.Sandbox}
}

// carrier is the line for a call.
func (e *Engine) carrier(test bool) carrier.Carrier {
	if test {
		return e.Sandbox
	}
	return e.Carrier
}

// drain waits for the calls in progress, for DrainTimeout or until HangUp, and then ends them.
func (e *Engine) drain() {
	empty := e.held.shut()
	select {
	case <-empty:
		return
	default:
	}
	e.Log.Info("waiting for calls in progress", "calls", e.held.count(), "timeout", e.DrainTimeout)
	timeout := time.NewTimer(max(0, e.DrainTimeout))
	defer timeout.Stop()
	select {
	case <-empty:
		return
	case <-timeout.C:
	case <-e.hangUp:
	}
	e.Log.Warn("ending calls in progress", "calls", e.held.count())
	for _, h := range e.held.all() {
		h.stop(stopShutdown)
	}
	// The goodbye takes ten seconds at most. A database that is away may keep an end from being written; the lease tells
	// of it then, to the next process.
	last := time.NewTimer(farewell)
	defer last.Stop()
	select {
	case <-empty:
	case <-last.C:
		e.Log.Error("calls could not be ended in time", "calls", e.held.count())
		e.held.abandon()
		select {
		case <-empty:
		case <-time.After(5 * time.Second):
		}
	}
}

// farewell bounds what happens after the end of the drain time.
const farewell = 30 * time.Second
