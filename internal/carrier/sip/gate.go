package sip

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/emiago/sipgo/sip"
)

// The bounds of what may come in.
const (
	maxMessage = 32 << 10
	maxPartial = 256 // streams with an unfinished message
	// strangers is how many datagrams of unknown sources are looked into in a second: they may belong to calls of ours
	// whose other side answers from another address than the trunk's.
	strangers = 200
	// requestsPerInvite is how many requests of all kinds a source may send for each call that it may begin.
	requestsPerInvite = 10
)

// gate stands before the SIP stack: what it does not let pass is never parsed there, and nobody is told. It lets in
// messages of the trunks, and of others only what belongs to a call in progress (Call-IDs of ours can not be guessed).
//
// The stack answers malformed messages and parses them without a net; behind the gate come only whole messages that
// have been parsed once, with a net, and have all headers that matter.
type gate struct {
	parser *sip.Parser
	// trunk finds whom a source belongs to; nil for strangers.
	trunk func(netip.AddrPort) *trunk
	// known reports whether a Call-ID belongs to a call of ours.
	known func(callID string) bool

	requests *buckets // per source
	invites  *buckets // per source
	all      *bucket  // INVITEs of all sources
	outsider *bucket

	mu      sync.Mutex
	partial map[string]*partial
}

// partial is the beginning of a message on a stream.
type partial struct {
	data  []byte
	since time.Time
}

var errStream = errors.New("not a SIP message")

// filter is the stack's read filter: it gets a datagram, or a piece of a stream, and gives what may pass.
func (g *gate) filter(p sip.TransportReadProps, data []byte) ([]byte, error) {
	remote := addrPortOf(p.RemoteAddr)
	if p.Transport == "UDP" {
		if g.pass(remote, data) {
			return data, nil
		}
		return nil, nil
	}
	return g.stream(p.LocalAddr.String()+" "+p.RemoteAddr.String(), remote, data)
}

// pass decides about one whole message.
func (g *gate) pass(from netip.AddrPort, data []byte) bool {
	ours := g.trunk(from) != nil
	if !ours && !g.outsider.take() || len(data) > maxMessage {
		return false
	}
	m := g.parse(data)
	if m == nil {
		return false
	}
	if !ours && !g.known(string(*m.CallID())) {
		return false
	}
	req, ok := m.(*sip.Request)
	switch {
	case !ok:
		return true
	case !g.requests.take(from.Addr()):
		return false
	case req.IsInvite() && tagOf(req.To().Params) == "":
		return g.invites.take(from.Addr()) && g.all.take()
	}
	return true
}

// parse reads a message; nil unless it is sound and has all that transactions are found by.
func (g *gate) parse(data []byte) (m sip.Message) {
	defer func() {
		if recover() != nil {
			m = nil
		}
	}()
	m, err := g.parser.ParseSIP(data)
	if err != nil {
		return nil
	}
	via, seq, id, from, to := m.Via(), m.CSeq(), m.CallID(), m.From(), m.To()
	if via == nil || seq == nil || id == nil || from == nil || to == nil || tagOf(from.Params) == "" || via.Host == "" {
		return nil
	}
	if branch, _ := via.Params.Get("branch"); branch == "" || !printable(branch) || !printable(string(*id)) {
		return nil
	}
	switch m := m.(type) {
	case *sip.Request:
		if m.Method != seq.MethodName || m.SipVersion != "SIP/2.0" || m.Recipient.Wildcard {
			return nil
		}
	case *sip.Response:
		if m.StatusCode < 100 || m.StatusCode > 699 {
			return nil
		}
	}
	return m
}

func printable(s string) bool {
	return len(s) <= 256 && !bytes.ContainsFunc([]byte(s), func(r rune) bool { return r < 0x21 || r > 0x7e })
}

// stream puts pieces together and gives the whole messages that may pass. An error closes the connection.
func (g *gate) stream(key string, from netip.AddrPort, data []byte) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.partial[key]
	if p == nil {
		p = &partial{since: time.Now()}
	}
	p.data = append(p.data, data...)
	var out []byte
	for len(p.data) > 0 {
		if rest := bytes.TrimLeft(p.data, "\r\n"); len(rest) < len(p.data) { // keep-alive
			p.data = rest
			continue
		}
		n, err := wholeMessage(p.data)
		if err != nil {
			delete(g.partial, key)
			return nil, err
		}
		if n == 0 {
			break
		}
		if g.pass(from, p.data[:n]) {
			out = append(out, p.data[:n]...)
		}
		p.data, p.since = p.data[n:], time.Now()
	}
	if len(p.data) == 0 {
		delete(g.partial, key)
		return out, nil
	}
	if len(g.partial) >= maxPartial {
		g.forget()
	}
	p.data = bytes.Clone(p.data)
	g.partial[key] = p
	return out, nil
}

// forget drops the unfinished message that has waited longest.
func (g *gate) forget() {
	oldest := ""
	for key, p := range g.partial {
		if oldest == "" || p.since.Before(g.partial[oldest].since) {
			oldest = key
		}
	}
	delete(g.partial, oldest)
}

// wholeMessage is the length of the message at the beginning of data; 0 when it is not all there.
func wholeMessage(data []byte) (int, error) {
	end := bytes.Index(data, []byte("\r\n\r\n"))
	if end < 0 {
		if len(data) > maxMessage {
			return 0, errStream
		}
		return 0, nil
	}
	end += 4
	length := -1
	for line := range bytes.SplitSeq(data[:end-4], []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		name = bytes.TrimSpace(name)
		if !ok || !bytes.EqualFold(name, []byte("content-length")) && !bytes.EqualFold(name, []byte("l")) {
			continue
		}
		n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
		if err != nil || n < 0 || n > maxMessage || length >= 0 && n != length {
			return 0, errStream
		}
		length = n
	}
	switch {
	case length < 0 || end+length > maxMessage:
		return 0, errStream
	case len(data) < end+length:
		return 0, nil
	}
	return end + length, nil
}

// listener lets only trunks connect.
type listener struct {
	net.Listener
	gate *gate
}

func (l listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		if err != nil { // too many open files: the stack would never listen again
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if l.gate.trunk(addrPortOf(c.RemoteAddr())) != nil {
			return c, nil
		}
		_ = c.Close()
	}
}

func addrPortOf(a net.Addr) netip.AddrPort {
	ap, _ := netip.ParseAddrPort(a.String())
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
}

// bucket lets rate things pass in a second, and burst at once.
type bucket struct {
	rate, burst float64

	mu    sync.Mutex
	have  float64
	since time.Time
}

func newBucket(rate float64) *bucket { return &bucket{rate: rate, burst: 2 * rate, have: 2 * rate} }

func (b *bucket) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if !b.since.IsZero() {
		b.have = min(b.burst, b.have+b.rate*now.Sub(b.since).Seconds())
	}
	b.since = now
	if b.have < 1 {
		return false
	}
	b.have--
	return true
}

// buckets are one for each source.
type buckets struct {
	rate float64
	mu   sync.Mutex
	of   map[netip.Addr]*bucket
}

func (b *buckets) take(from netip.Addr) bool {
	b.mu.Lock()
	one := b.of[from]
	if one == nil {
		if b.of == nil || len(b.of) >= 4096 { // all full again: forgetting them costs a burst
			b.of = map[netip.Addr]*bucket{}
		}
		one = newBucket(b.rate)
		b.of[from] = one
	}
	b.mu.Unlock()
	return one.take()
}
