package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// proxies are the networks whose word on where a request comes from is taken.
type proxies []netip.Prefix

// maxHops bounds how many addresses of a request are looked at.
const maxHops = 32

// client is the address of whoever sent a request: the peer, or behind trusted proxies the right-most address that is
// not one of theirs. What stands further left was written by that client, who may write anything. forwarded are the values
// of X-Forwarded-For, standard those of Forwarded (RFC 7239). A proxy writes one of them and lets the other through as it
// came, so where both are there they must agree, else the proxy itself counts as the client.
func (p proxies) client(peer netip.Addr, forwarded, standard []string) netip.Addr {
	if !p.trusts(peer) {
		return peer
	}
	hops, others := listed(forwarded), standardHops(standard)
	switch {
	case len(hops) == 0:
		return p.behind(peer, others)
	case len(others) > 0 && p.behind(peer, hops) != p.behind(peer, others):
		return peer
	}
	return p.behind(peer, hops)
}

// behind walks the hops from the right.
func (p proxies) behind(peer netip.Addr, hops []string) netip.Addr {
	for i := len(hops) - 1; i >= 0 && len(hops)-i <= maxHops && p.trusts(peer); i-- {
		hop, ok := readHop(hops[i])
		if !ok {
			break // unknown, or made unreadable on purpose: the proxy that wrote it is as far as we can see
		}
		peer = hop
	}
	return peer
}

func (p proxies) trusts(a netip.Addr) bool {
	for _, network := range p {
		if network.Contains(a) {
			return true
		}
	}
	return false
}

// listed are the members of comma-separated headers.
func listed(values []string) (all []string) {
	for _, v := range values {
		for one := range strings.SplitSeq(v, ",") {
			all = append(all, strings.TrimSpace(one))
		}
	}
	return all
}

// standardHops are the for members of Forwarded headers; an element without one is a hop that nobody can read.
func standardHops(values []string) (all []string) {
	for _, element := range listed(values) {
		hop := ""
		for pair := range strings.SplitSeq(element, ";") {
			name, value, _ := strings.Cut(pair, "=")
			if strings.EqualFold(strings.TrimSpace(name), "for") {
				hop = strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
		all = append(all, hop)
	}
	return all
}

// readHop reads an address with or without a port, in brackets or not.
func readHop(text string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return a.Unmap().WithZone(""), err == nil
}

// resolve puts the client's address where handlers look for the peer's.
func (p proxies) resolve(r *http.Request) {
	if len(p) == 0 {
		return
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return
	}
	addr := peer.Addr().Unmap().WithZone("")
	client := p.client(addr, r.Header.Values("X-Forwarded-For"), r.Header.Values("Forwarded"))
	if client != addr {
		r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
	}
}
