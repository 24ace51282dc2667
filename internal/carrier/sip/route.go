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
	addrs  []netip.Addr // of its host
	host   string       // that it is told as ours
	addr   netip.Addr   // the same for sound
	failed time.Time    // not the first choice until then
	status string       // of the registration, for doctor and logs
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
	if slices.Contains(t.addrs, from.Addr()) {
		if int(from.Port()) == t.port() {
			return ownsPort
		}
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

// resolve looks the host up: its addresses, and those of its SRV records where there are no others or no port is set.
func (t *trunk) resolve(ctx context.Context) error {
	if a, err := netip.ParseAddr(t.Host); err == nil {
		t.know([]netip.Addr{a.Unmap()})
		return nil
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", t.Host)
	if t.Port == 0 {
		service, proto := "sip", t.Transport
		if t.Transport == "tls" {
			service, proto = "sips", "tcp"
		}
		if _, records, srvErr := net.DefaultResolver.LookupSRV(ctx, service, proto, t.Host); srvErr == nil {
			for _, r := range records {
				more, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", strings.TrimSuffix(r.Target, "."))
				all = append(all, more...)
			}
		}
	}
	if len(all) == 0 {
		return err
	}
	for i := range all {
		all[i] = all[i].Unmap()
	}
	slices.SortStableFunc(all, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() }) // sound is IPv4
	t.know(all)
	return nil
}

func (t *trunk) know(all []netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addrs = all
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
		conn, err := net.Dial("udp", netip.AddrPortFrom(a, uint16(t.port())).String())
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
	t.mu.Lock()
	addrs := t.addrs
	t.mu.Unlock()
	if len(addrs) > 0 {
		_, _ = t.line.udp.WriteTo([]byte("\r\n\r\n"), net.UDPAddrFromAddrPort(netip.AddrPortFrom(addrs[0], uint16(t.port()))))
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
