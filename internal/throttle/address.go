package throttle

import (
	"net"
	"net/netip"
)

// Address names the caller of a connection that says nothing else about itself, by http.Request.RemoteAddr: the peer's
// address, for IPv6 its /64, which one client has whole.
func Address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	a = a.Unmap().WithZone("")
	if a.Is6() {
		p, _ := a.Prefix(64)
		return p.String()
	}
	return a.String()
}
