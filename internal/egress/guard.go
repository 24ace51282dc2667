package egress

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// private are the networks that AllowPrivate opens.
var private = prefixes("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128",
	"fc00::/7")

// sensitive are the addresses that no network opens, only their own /32 or /128: they answer with the machine's own
// credentials or belong to the link. Some are public by registry (Azure), some lie inside private networks (Alibaba,
// Oracle, AWS over IPv6).
var sensitive = prefixes("169.254.0.0/16", "fe80::/10", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32",
	"fd00:ec2::/32", "fd20:ce::254/128", "0.0.0.0/8", "::/128", "224.0.0.0/4", "ff00::/8", "255.255.255.255/32")

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// guard decides which IP addresses may be connected to: public ones by the IANA registries (package ssrf), less
// sensitive, plus what the operator opened.
type guard struct {
	registry *ssrf.Guardian
	opened   []netip.Prefix
}

func newGuard(c Config) guard {
	opened := slices.Clone(c.AllowCIDRs)
	if c.AllowPrivate {
		opened = append(opened, private...)
	}
	return guard{registry: ssrf.New(ssrf.WithAnyPort()), opened: opened}
}

// permit says why an address may not be reached, or nil. An IPv4 address wrapped in IPv6 is judged as what it is, since
// that is what would be dialed.
func (g guard) permit(ip netip.Addr) error {
	if ip.Zone() != "" {
		return fmt.Errorf("%s is an address of one link", ip)
	}
	ip = ip.Unmap()
	if contains(sensitive, ip) {
		if slices.Contains(g.opened, netip.PrefixFrom(ip, ip.BitLen())) {
			return nil
		}
		return fmt.Errorf("%s is link-local, metadata or no single host", ip)
	}
	if contains(g.opened, ip) {
		return nil
	}
	return g.registry.SafeAddr(ip)
}

func contains(in []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(in, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// control is the dialer's last step before connect(2), when the address is the one that will be used.
func (c *Client) control(p Purpose) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		switch {
		case network != "tcp4" && network != "tcp6":
			err = fmt.Errorf("%s is not TCP", network)
		case err != nil:
		case !c.portAllowed(p, to.Port()):
			err = fmt.Errorf("port %d is not for this purpose", to.Port())
		default:
			err = c.guard.permit(to.Addr())
		}
		if err != nil {
			return &Error{Class: RefusedAddress, Err: err}
		}
		return nil
	}
}
