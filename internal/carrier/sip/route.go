package sip

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/emiago/sipgo/sip"
)

const (
	// resolveEvery is how often the names of trunks are looked up again.
	resolveEvery = time.Minute
	// keepAliveEvery is less than routers keep a way open that nobody goes.
	keepAliveEvery = 25 * time.Second
)

// trunk is a Trunk at work.
type trunk struct {
	Trunk
	line *Carrier

	mu     sync.Mutex
	addrs  []netip.AddrPort // of its host, best first
	turn   int              // which of them is used
	host   string           // that it is told as ours
	addr   netip.Addr       // the same for sound
	failed time.Time        // not the first choice until then
	status string           // of the registration, for doctor and logs
}

type owning int

const (
	ownsNot owning = iota
	ownsAddr
	ownsPort
)

// owns reports whether a source is the trunk's.
func (t *trunk) owns(from netip.AddrPort) owning {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.Contains(t.addrs, from) {
		return ownsPort
	}
	if slices.ContainsFunc(t.addrs, func(a netip.AddrPort) bool { return a.Addr() == from.Addr() }) {
		return ownsAddr
	}
	if slices.ContainsFunc(t.Allow, func(p netip.Prefix) bool { return p.Contains(from.Addr()) }) {
		return ownsAddr
	}
	return ownsNot
}

// settle finds the trunk's addresses and ours as it sees it.
func (t *trunk) settle() error {
	ctx, cancel := context.WithTimeout(t.line.closing, 5*time.Second)
	defer cancel()
	if err := t.resolve(ctx); err != nil {
		// It may be there in a minute; other trunks and calls do not wait for it.
		t.line.log.Warn("trunk not found, trying again", "trunk", t.Name, "error", err)
	}
	return t.introduce(ctx)
}

// resolve looks the host up: where no port is set its SRV records, else its addresses (RFC 3263).
func (t *trunk) resolve(ctx context.Context) error {
	if a, err := netip.ParseAddr(t.Host); err == nil {
		t.know([]netip.AddrPort{netip.AddrPortFrom(a.Unmap(), uint16(t.port()))})
		return nil
	}
	var found []netip.AddrPort
	if t.Port == 0 {
		service, proto := "sip", t.Transport
		if t.Transport == "tls" {
			service, proto = "sips", "tcp"
		}
		if _, records, err := net.DefaultResolver.LookupSRV(ctx, service, proto, t.Host); err == nil {
			for _, r := range records { // in their order
				more, _ := lookUp(ctx, strings.TrimSuffix(r.Target, "."), r.Port)
				found = append(found, more...)
			}
		}
	}
	if len(found) == 0 {
		var err error
		if found, err = lookUp(ctx, t.Host, uint16(t.port())); err != nil {
			return err
		}
	}
	t.know(found)
	return nil
}

// lookUp finds the addresses of a name, those of IPv4 first: sound is IPv4.
func lookUp(ctx context.Context, host string, port uint16) ([]netip.AddrPort, error) {
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	out := make([]netip.AddrPort, 0, len(all))
	for _, a := range all {
		out = append(out, netip.AddrPortFrom(a.Unmap(), port))
	}
	slices.SortStableFunc(out, func(a, b netip.AddrPort) int { return a.Addr().BitLen() - b.Addr().BitLen() })
	return out, nil
}

// know takes the addresses; the one in use stays the one in use.
func (t *trunk) know(all []netip.AddrPort) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := 0
	if len(t.addrs) > 0 {
		turn = max(0, slices.Index(all, t.addrs[t.turn]))
	}
	t.addrs, t.turn = all, turn
}

// first is where a request goes that belongs to no call yet: an address of the trunk, the same for all messages of one
// attempt. Over TLS it is the name, by which the certificate is checked. "" while none is known.
func (t *trunk) first() string {
	if t.Transport == "tls" {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.addrs) == 0 {
		return ""
	}
	return t.addrs[t.turn].String()
}

// another goes on to the trunk's next address; false when there is only one.
func (t *trunk) another() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.addrs) < 2 || t.Transport == "tls" {
		return false
	}
	t.turn = (t.turn + 1) % len(t.addrs)
	return true
}

// introduce decides what address of ours the trunk is told: the advertised one, the one that we listen at, or the one
// that it is reached from.
func (t *trunk) introduce(ctx context.Context) error {
	host, _, _ := splitHostPort(t.line.c.Advertise)
	if host == "" {
		if listen, _, _ := net.SplitHostPort(t.line.c.Addr); addrOf(listen).IsValid() && !addrOf(listen).IsUnspecified() {
			host = listen
		}
	}
	var addr netip.Addr
	switch parsed := addrOf(host); {
	case parsed.IsValid():
		addr = parsed
	case host != "":
		all, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
		if err != nil || len(all) == 0 {
			return fmt.Errorf("the advertised address %q can not be found: %w", host, err)
		}
		addr = all[0].Unmap()
	default:
		if addr = t.reachedFrom(); addr.IsValid() {
			host = addr.String()
		}
	}
	if !addr.IsValid() {
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		host = addr.String()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.host, t.addr = host, addr
	return nil
}

// reachedFrom is the address of this machine on the way to the trunk. Nothing is sent.
func (t *trunk) reachedFrom() netip.Addr {
	t.mu.Lock()
	addrs := t.addrs
	t.mu.Unlock()
	for _, a := range addrs {
		conn, err := net.Dial("udp", a.String())
		if err != nil {
			continue
		}
		local := addrPortOf(conn.LocalAddr()).Addr()
		_ = conn.Close()
		return local
	}
	return netip.Addr{}
}

// ours is what the trunk is told: host for signalling, address for sound.
func (t *trunk) ours() (string, netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.host, t.addr
}

// run keeps the trunk's addresses fresh, and us registered, until ctx ends.
func (t *trunk) run(ctx context.Context) {
	var registering sync.WaitGroup
	if t.Register {
		here, stop := context.WithCancel(ctx)
		defer context.AfterFunc(t.line.leaving, stop)()
		defer stop()
		registering.Go(func() { t.register(here) })
	}
	defer registering.Wait()
	tick := time.NewTicker(resolveEvery)
	defer tick.Stop()
	alive := time.NewTicker(keepAliveEvery)
	defer alive.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-alive.C:
			t.keepAlive()
		case <-tick.C:
			if err := t.resolve(ctx); err != nil && ctx.Err() == nil {
				t.line.log.Warn("trunk not found", "trunk", t.Name, "error", err)
			}
			if err := t.introduce(ctx); err != nil && ctx.Err() == nil {
				t.line.log.Warn("own address not found", "error", err)
			}
		}
	}
}

// keepAlive keeps a way open through NAT for calls that come in: an empty line, which nobody answers (RFC 5626 §3.5.1).
func (t *trunk) keepAlive() {
	if !t.Register && !t.NAT || t.Transport != "udp" {
		return
	}
	if to, err := netip.ParseAddrPort(t.first()); err == nil {
		_, _ = t.line.udp.WriteTo([]byte("\r\n\r\n"), net.UDPAddrFromAddrPort(to))
	}
}

// fail makes the trunk the last choice for a while.
func (t *trunk) fail(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = time.Now().Add(min(max(d, 10*time.Second), 5*time.Minute))
}

func (t *trunk) failedUntil() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// network is the trunk's transport as the stack writes it.
func (t *trunk) network() string { return strings.ToUpper(t.Transport) }

// via puts the Via of a new transaction on a request.
func (t *trunk) via(req *sip.Request, network string) {
	host, _ := t.ours()
	v := &sip.ViaHeader{ProtocolName: "SIP", ProtocolVersion: "2.0", Transport: network, Host: host, Port: t.portFor(network)}
	v.Params.Add("branch", sip.GenerateBranchN(16))
	v.Params.Add("rport", "") // RFC 3581: the answer comes where the request came from
	req.PrependHeader(v)
}

// portFor is the port that others are told for a transport.
func (t *trunk) portFor(network string) int {
	if network == "TLS" && t.line.tlsPort != 0 {
		return t.line.tlsPort
	}
	return t.line.port
}

// aim says how a request goes out: by UDP from the port that we listen at. dest "" leaves it to the request.
func (t *trunk) aim(req *sip.Request, network, dest string) {
	req.SetTransport(network)
	if network == "UDP" {
		req.Laddr = t.line.laddr
	}
	if dest != "" {
		req.SetDestination(dest)
	}
}

// connected reports whether there is a connection to peer.
func (t *trunk) connected(network, peer string) bool {
	conn, err := t.line.ua.TransportLayer().GetConnection(network, peer)
	if err != nil {
		return false
	}
	_, _ = conn.TryClose()
	return true
}

// contact is where the other side of a call reaches us.
func (t *trunk) contact(user, network string) *sip.ContactHeader {
	host, _ := t.ours()
	return &sip.ContactHeader{Address: uri(user, host, t.portFor(network), strings.ToLower(network))}
}

func stack() string { return string(debug.Stack()) }
