// Package sandbox is a telephone line in memory: real legs with sound both ways, scripted callees, no account and nobody
// called. It is what a fresh installation, test conversations and most tests run on.
//
// Its lines are elastic: a leg has no goroutine of its own, the reader of its frames is its pacer. Each read waits for
// the frame's absolute deadline on a clock that runs Speed times as fast as the wall's; a reader that is late catches up
// in a burst, or slips when it is half a second behind. The conversation has to wake up for each frame either way, and
// so there is one goroutine and one queue per leg less. A slow reader or tap loses nothing, and a leg that nobody reads
// stands still.
package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier"
)

// Config of a sandbox.
type Config struct {
	// Speed is media time per wall time. Defaults to 1.
	Speed float64
	// DialLog is a file that gets one line for every call placed, before it rings: time, call id and number, separated
	// by tabs. Tests prove by it that nobody is dialed twice, over the death of processes. Empty: none.
	DialLog string
	// Voices speak for the callees. Defaults to the placeholder voices.
	Voices *voice.Studio
	// Callees replace or add scripts by number, for tests and demonstrations. An inbound call is made by the callee
	// under its from number.
	Callees map[string]Callee
	// Log hears of calls placed and ended. Defaults to none.
	Log *slog.Logger
}

// Carrier is the sandbox.
type Carrier struct {
	c Config

	mu       sync.Mutex
	legs     map[*leg]struct{}
	waiting  int // dials and rings that may become legs
	draining bool
	empty    []chan struct{} // closed when nothing is left
	accept   func(context.Context, carrier.Offer) carrier.Decision
	start    func(func(context.Context)) // runs a call in Serve's group; nil when Serve does not run
	rung     int                         // inbound calls so far
}

var _ carrier.Carrier = (*Carrier)(nil)

// New makes a sandbox.
func New(c Config) *Carrier {
	if c.Speed <= 0 {
		c.Speed = 1
	}
	if c.Voices == nil {
		c.Voices = voice.New(voice.Config{Placeholder: true})
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Carrier{c: c, legs: map[*leg]struct{}{}}
}

// Dial is that of carrier.Carrier. What happens is in the callee's script (CONTRACT.md §4, sandbox numbers).
func (c *Carrier) Dial(ctx context.Context, r carrier.Request, on func(carrier.Progress)) (carrier.Leg, error) {
	if !c.enter() {
		return nil, refusedDraining()
	}
	defer c.leave()
	if err := c.logDial(r); err != nil {
		return nil, fmt.Errorf("write the sandbox's dial log: %w", err)
	}
	if r.RingTimeout <= 0 {
		r.RingTimeout = 30 * time.Second
	}
	callee := c.callee(r.To, person)
	callee.warm(c.c.Voices)
	if on != nil {
		on(carrier.ProgressRinging)
	}
	ring, ended := min(callee.Ring, r.RingTimeout), callee.Refuse
	if callee.Ring >= r.RingTimeout {
		ended = noAnswer()
	}
	if !c.sleep(ctx, ring) {
		ended = &carrier.Ended{Class: carrier.ClassClient, Reason: carrier.ReasonCanceled, Message: "The call was canceled while it rang."}
	}
	if ended != nil {
		refusal := *ended
		return nil, &refusal
	}
	info := carrier.Info{ID: "sandbox-" + r.CallID, Direction: carrier.Outbound, From: r.From, To: r.To}
	return c.answer(ctx, info, callee), nil
}

// Serve is that of carrier.Carrier; the calls come from Ring. It may run once at a time.
func (c *Carrier) Serve(ctx context.Context, accept func(context.Context, carrier.Offer) carrier.Decision) error {
	var calls sync.WaitGroup
	c.mu.Lock()
	c.accept = accept
	c.start = func(f func(context.Context)) { calls.Go(func() { f(ctx) }) }
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	c.accept, c.start = nil, nil
	c.mu.Unlock()
	calls.Wait()
	return nil
}

// Ring makes an inbound call to number to, as if from had dialed it. It returns when the call is answered (it then runs
// by itself), or with the *carrier.Ended of the refusal.
func (c *Carrier) Ring(ctx context.Context, from, to string) error {
	if !c.enter() {
		return refusedDraining()
	}
	defer c.leave()
	c.mu.Lock()
	accept := c.accept
	c.rung++
	offer := carrier.Offer{ID: fmt.Sprintf("sandbox-in-%d", c.rung), From: from, To: to}
	c.mu.Unlock()
	if accept == nil {
		return &carrier.Ended{Class: carrier.ClassServer, Reason: carrier.ReasonCarrierError, Message: "Nobody takes inbound calls."}
	}
	callee := c.callee(from, caller)
	callee.warm(c.c.Voices)
	decision := accept(ctx, offer)
	if decision.Run == nil {
		return &carrier.Ended{Class: carrier.ClassClient, Reason: carrier.ReasonDeclined,
			Message: fmt.Sprintf("The call was refused: %s.", cmp.Or(decision.Refuse, carrier.CauseBusy))}
	}
	if !c.sleep(ctx, decision.Ring) {
		return missed(decision, &carrier.Ended{Class: carrier.ClassClient, Reason: carrier.ReasonCanceled, Message: "The caller hung up while it rang."})
	}
	info := carrier.Info{ID: offer.ID, Direction: carrier.Inbound, From: from, To: to}
	leg := c.answer(ctx, info, callee)
	if !c.run(func(ctx context.Context) { decision.Run(ctx, leg) }) {
		_ = leg.Hangup(ctx, carrier.CauseUnavailable)
		return missed(decision, refusedDraining())
	}
	return nil
}

// missed tells who took an offer that it ended before the answer.
func missed(d carrier.Decision, ended *carrier.Ended) *carrier.Ended {
	if d.Missed != nil {
		d.Missed(ended)
	}
	return ended
}

// run starts a call in Serve's group, under the lock so that Serve does not miss it; false when Serve has ended.
func (c *Carrier) run(f func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.start == nil {
		return false
	}
	c.start(f)
	return true
}

// Drain is that of carrier.Carrier.
func (c *Carrier) Drain(ctx context.Context) error {
	done := make(chan struct{})
	c.mu.Lock()
	c.draining = true
	if len(c.legs)+c.waiting == 0 {
		close(done)
	} else {
		c.empty = append(c.empty, done)
	}
	c.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reap has nothing to do: a sandbox leg dies with its process.
func (c *Carrier) Reap(context.Context, json.RawMessage) error { return nil }

// enter counts a call that may become a leg; false while draining.
func (c *Carrier) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return false
	}
	c.waiting++
	return true
}

func (c *Carrier) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting--
	c.checkEmpty()
}

// answer makes the leg.
func (c *Carrier) answer(ctx context.Context, info carrier.Info, callee Callee) *leg {
	info.Elastic, info.Speed = true, c.c.Speed
	info.State, _ = json.Marshal(map[string]string{"sandbox": info.ID})
	l := newLeg(c, info, callee.begin(ctx, c.c.Voices))
	c.mu.Lock()
	c.legs[l] = struct{}{}
	c.mu.Unlock()
	return l
}

// forget is called by a leg at its end.
func (c *Carrier) forget(l *leg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.legs, l)
	c.checkEmpty()
}

func (c *Carrier) checkEmpty() {
	if len(c.legs)+c.waiting > 0 {
		return
	}
	for _, done := range c.empty {
		close(done)
	}
	c.empty = nil
}

// logDial appends one line with one write, so that lines of several processes do not mix.
func (c *Carrier) logDial(r carrier.Request) error {
	if c.c.DialLog == "" {
		return nil
	}
	f, err := os.OpenFile(c.c.DialLog, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s\t%s\t%s\n", time.Now().UTC().Format(time.RFC3339Nano), r.CallID, r.To)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// sleep waits for d of media time; false when ctx ended first.
func (c *Carrier) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(time.Duration(float64(d) / c.c.Speed))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

func refusedDraining() *carrier.Ended {
	return &carrier.Ended{Class: carrier.ClassServer, Reason: carrier.ReasonDraining, Message: "This process takes no more calls."}
}
