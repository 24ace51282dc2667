package sip

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/emiago/sipgo/sip"
)

// Reap is that of carrier.Carrier: BYE for a call of a dead process, from what it stored at the answer.
func (c *Carrier) Reap(ctx context.Context, raw json.RawMessage) error {
	d, err := c.dialogOf(raw)
	if err != nil {
		return err
	}
	select {
	case <-c.started:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.remember(d.callID)
	defer c.forget(d.callID)
	return c.sayBye(ctx, d)
}

// Ping asks a trunk whether it is there (OPTIONS). Any answer means that it is; the result is its status.
func (c *Carrier) Ping(ctx context.Context, name string) (int, error) {
	t := c.named(name, "")
	if t == nil {
		return 0, fmt.Errorf("there is no trunk %q", name)
	}
	select {
	case <-c.started:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	d := &dialog{
		callID: "options-" + sip.GenerateTagN(16), localTag: sip.GenerateTagN(16), transport: t.network(), trunk: t,
		local: uri("callwright", t.Host, 0, ""), remote: uri("", t.Host, t.Port, ""), target: uri("", t.Host, t.Port, t.Transport), first: t.first(),
	}
	c.remember(d.callID)
	defer c.forget(d.callID)
	res, err := c.ask(ctx, t, func(credentials ...sip.Header) *sip.Request {
		req := d.request(sip.OPTIONS)
		req.AppendHeader(t.contact("", t.network()))
		for _, h := range credentials {
			req.AppendHeader(h)
		}
		return req
	})
	if err != nil {
		return 0, err
	}
	return res.StatusCode, nil
}

// Told is what a trunk is told of us: the host for signalling and, with the port, where it reaches us.
func (c *Carrier) Told(name string) (host string, port int) {
	t := c.named(name, "")
	if t == nil {
		return "", 0
	}
	host, _ = t.ours()
	return host, t.portFor(t.network())
}

// Reached is an address of a trunk's host; the zero value while it is not found.
func (c *Carrier) Reached(name string) (a netip.Addr) {
	t := c.named(name, "")
	if t == nil {
		return a
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.addrs) > 0 {
		a = t.addrs[0].Addr()
	}
	return a
}

// CheckSound reports why no port for sound can be had.
func (c *Carrier) CheckSound() error { return c.ports.Check() }

// FreeLines is how many calls the range of ports for sound has room for.
func (c *Carrier) FreeLines() int { return c.ports.Free() }
