package sip

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/emiago/sipgo/sip"

	"github.com/callwright/callwright/internal/carrier"
)

// enter counts a call in any state; the reason why it can not be otherwise.
func (c *Carrier) enter(callID string) *carrier.Ended {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.draining:
		return draining()
	case c.calls >= c.c.MaxCalls:
		return &carrier.Ended{Class: carrier.ClassServer, Reason: carrier.ReasonCarrierError, RetryAfter: 5 * time.Second,
			Message: "All lines of this process are taken."}
	}
	c.calls++
	c.callIDs[callID]++
	return nil
}

func (c *Carrier) leave(callID string) {
	c.forget(callID)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
	c.checkEmpty()
}

// remember lets messages with a Call-ID through the gate, whoever sends them; forget takes that back.
func (c *Carrier) remember(callID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.callIDs[callID]++
}

func (c *Carrier) forget(callID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.callIDs[callID]--; c.callIDs[callID] <= 0 {
		delete(c.callIDs, callID)
	}
}

func (c *Carrier) checkEmpty() {
	if c.calls > 0 {
		return
	}
	for _, done := range c.empty {
		close(done)
	}
	c.empty = nil
}

// taking is how inbound calls are decided about; nil when none are taken.
func (c *Carrier) taking() func(context.Context, carrier.Offer) carrier.Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return nil
	}
	return c.accept
}

// Serving reports whether inbound calls are taken.
func (c *Carrier) Serving() bool { return c.taking() != nil }

// hold starts an answered inbound call in Serve's group; false when Serve has ended.
func (c *Carrier) hold(f func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.start == nil {
		return false
	}
	c.start(f)
	return true
}

// Active is how many calls there are in any state.
func (c *Carrier) Active() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// add makes a leg findable; remove forgets it.
func (c *Carrier) add(l *leg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.legs[l.key] = l
}

func (c *Carrier) remove(l *leg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.legs, l.key)
}

// find is the leg that a request within a dialog is for; nil without one.
func (c *Carrier) find(req *sip.Request) *leg {
	c.mu.Lock()
	l := c.legs[dialogKey{string(*req.CallID()), tagOf(req.To().Params)}]
	c.mu.Unlock()
	if l == nil || l.remoteTag() != tagOf(req.From().Params) {
		return nil
	}
	return l
}

func (c *Carrier) knows(callID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callIDs[callID] > 0
}

// trunkOf is whose source that is; nil for strangers. Of trunks that share an address the one with the port wins, then
// the first.
func (c *Carrier) trunkOf(from netip.AddrPort) *trunk {
	var best *trunk
	for _, t := range c.trunks {
		switch t.owns(from) {
		case ownsPort:
			return t
		case ownsAddr:
			if best == nil {
				best = t
			}
		}
	}
	return best
}

// named is the trunk with a name, else the one that peer belongs to.
func (c *Carrier) named(name, peer string) *trunk {
	for _, t := range c.trunks {
		if t.Name == name {
			return t
		}
	}
	if from, err := netip.ParseAddrPort(peer); err == nil {
		return c.trunkOf(from)
	}
	return nil
}

// order is the trunks for a call that leaves by a number: those whose own number it is first, those that just failed
// last.
func (c *Carrier) order(from string) []*trunk {
	all := slices.Clone(c.trunks)
	now := time.Now()
	rank := func(t *trunk) int {
		n := 1
		if t.From == from {
			n = 0
		}
		if t.failedUntil().After(now) {
			n += 2
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b *trunk) int { return rank(a) - rank(b) })
	return all
}
