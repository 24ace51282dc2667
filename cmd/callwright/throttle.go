package main

import (
	"context"
	"net/netip"
	"time"

	"github.com/callwright/callwright/internal/throttle"
)

// throttle counts requests against a limit for each caller in any 60 s: over all processes where they share a database,
// else in this one. nil when there is no limit.
func (g *ground) throttle(name string, limit int) *throttle.Log {
	if limit < 1 {
		return nil
	}
	shared := g.db.SlidingLog(name, limit, time.Minute)
	if shared == nil {
		return throttle.New(limit, time.Minute)
	}
	take := func(ctx context.Context, caller string) (v throttle.Verdict, err error) {
		v.OK, v.Remaining, v.Reset, err = shared.Take(ctx, caller)
		return v, err
	}
	return throttle.NewShared(limit, time.Minute, take, g.log)
}

// trustedProxies reads the networks of --trusted-proxy; an address alone is a network of one.
func (s serving) trustedProxies() ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range s.TrustedProxy {
		p, err := netip.ParsePrefix(text)
		if a, aerr := netip.ParseAddr(text); aerr == nil {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return nil, errorf("--trusted-proxy must look like 10.0.0.0/8 or 10.0.0.7")
		}
		all = append(all, p.Masked())
	}
	return all, nil
}
