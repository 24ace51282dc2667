// Package sip is the real telephone line: calls over SIP trunks (RFC 3261), with the sound of carrier/rtp.
//
// # Who may reach us
//
// Only trunks: their hosts, and the networks that their allow names. Everything else is dropped before the SIP stack sees
// it, without an answer (see gate). An INVITE makes a call only if somebody takes its number; nothing that comes in ever
// makes a call to somewhere else, and a REFER is declined.
//
// # Outbound
//
// An INVITE goes to the first trunk; one that fails (5xx, no answer at all, not reachable) hands over to the next. What
// the called party says ends the attempt: see refusal. Early media is no answer. A call that nobody waits for any more is
// taken back by CANCEL, and hung up when the answer crossed it.
//
// # Calls in progress
//
// Each answered call is a leg. It answers re-INVITE and UPDATE (hold, other codecs and addresses, late offers, session
// timers), INFO with digits, and BYE, and it is found by Call-ID and tags. What a fresh process needs to end a call after
// a crash is in Info.State.
//
// # The stack
//
// emiago/sipgo parses messages, keeps transactions and connections. Dialogs are our own: its own give no hand on
// re-INVITEs, late offers and races.
package sip

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/emiago/sipgo"
	"github.com/emiago/sipgo/sip"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/rtp"
)

// Config of a line. Trunks are needed.
type Config struct {
	// Addr is where SIP is heard, over UDP and TCP. Defaults to 0.0.0.0:5060.
	Addr string
	// TLSAddr is where SIP over TLS is heard, with TLS. Defaults to nowhere: calls over TLS that we make need none.
	TLSAddr string
	TLS     *tls.Config
	// TLSClient is how we connect to trunks over TLS. Defaults to the system's roots.
	TLSClient *tls.Config
	// Advertise is the host, or host:port, that other sides are told. Defaults to the address that the trunk is reached
	// from.
	Advertise string
	// RTPFrom and RTPTo bound the ports of sound. Default to 10000 and 20000.
	RTPFrom, RTPTo uint16
	// Trunks in the order in which they are tried.
	Trunks []Trunk
	// MaxCalls bounds calls in both directions, ringing ones included. Defaults to 1000.
	MaxCalls int
	// InviteRate bounds the calls that one source may begin in a second; all together may begin twice as many. Twice the
	// rate may come at once. Defaults to 300.
	InviteRate float64
	// Silence is how long a trunk may not answer at all before the next one is tried. Defaults to 6 s.
	Silence time.Duration
	// SessionExpires is how long a call may live without a sign of life of its other side, which is asked for at half of
	// it; MinSession is the least that is agreed to (RFC 4028). Default to 30 minutes and 90 s.
	SessionExpires, MinSession time.Duration
	// UserAgent is what we call ourselves. Defaults to Callwright.
	UserAgent string
	// Log hears of trunks and of calls' ids, never of numbers. Defaults to slog.Default().
	Log *slog.Logger
}

// Carrier is the line. Make it with New, open it with Listen, let it Run; then it is a carrier.Carrier.
type Carrier struct {
	c      Config
	trunks []*trunk
	gate   *gate
	ports  *rtp.Ports
	log    *slog.Logger

	udp      net.PacketConn
	tcp, tls net.Listener
	port     int      // that others are told
	tlsPort  int      // 0: none
	laddr    sip.Addr // of udp, as the stack keeps it
	ua       *sipgo.UserAgent
	started  chan struct{}   // closed when requests can be sent
	leaving  context.Context // ends with Serve: registrations are taken back then
	depart   context.CancelFunc
	work     sync.WaitGroup
	closing  context.Context
	close    context.CancelFunc
	late     atomic.Int64 // unix nanoseconds since when sound has been late; 0: it is not

	mu       sync.Mutex
	legs     map[dialogKey]*leg
	callIDs  map[string]int // of calls in any state, for the gate
	calls    int            // attempts, rings and legs
	draining bool
	empty    []chan struct{} // closed when no call is left
	accept   func(context.Context, carrier.Offer) carrier.Decision
	start    func(func(context.Context)) // runs a call in Serve's group; nil when Serve does not run
}

var _ carrier.Carrier = (*Carrier)(nil)

// New makes a line; it opens nothing yet.
func New(cfg Config) (*Carrier, error) {
	cfg.Addr = cmp.Or(cfg.Addr, "0.0.0.0:5060")
	cfg.MaxCalls = cmp.Or(cfg.MaxCalls, 1000)
	cfg.InviteRate = cmp.Or(cfg.InviteRate, 300)
	cfg.Silence = cmp.Or(cfg.Silence, 6*time.Second)
	cfg.SessionExpires = cmp.Or(cfg.SessionExpires, 30*time.Minute)
	cfg.MinSession = cmp.Or(cfg.MinSession, 90*time.Second)
	cfg.UserAgent = cmp.Or(cfg.UserAgent, "Callwright")
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	if len(cfg.Trunks) == 0 {
		return nil, errors.New("a SIP line needs a trunk")
	}
	c := &Carrier{c: cfg, log: cfg.Log, started: make(chan struct{}), legs: map[dialogKey]*leg{}, callIDs: map[string]int{}}
	c.closing, c.close = context.WithCancel(context.Background())
	c.leaving, c.depart = context.WithCancel(c.closing)
	for _, t := range cfg.Trunks {
		if c.named(t.Name, "") != nil {
			return nil, fmt.Errorf("two trunks are called %q: give them other names with name=", t.Name)
		}
		c.trunks = append(c.trunks, &trunk{Trunk: t, line: c})
	}
	c.gate = &gate{
		parser: sip.NewParser(), trunk: c.trunkOf, known: c.knows, partial: map[string]*partial{},
		invites: &buckets{rate: cfg.InviteRate}, requests: &buckets{rate: requestsPerInvite * cfg.InviteRate}, all: newBucket(2 * cfg.InviteRate), outsider: newBucket(strangers),
	}
	return c, nil
}

// Listen opens the SIP ports, so that a program that can not have them does not start.
func (c *Carrier) Listen(ctx context.Context) (err error) {
	settleStack()
	defer func() {
		if err != nil {
			c.shut()
		}
	}()
	if err := c.bind(ctx); err != nil {
		return fmt.Errorf("listen for SIP: %w", err)
	}
	c.port = c.Port()
	var lc net.ListenConfig
	if c.c.TLSAddr != "" {
		l, err := lc.Listen(ctx, family("tcp", c.c.TLSAddr), c.c.TLSAddr)
		if err != nil {
			return fmt.Errorf("listen for SIP over TLS: %w", err)
		}
		c.tlsPort = int(addrPortOf(l.Addr()).Port())
		c.tls = tls.NewListener(listener{l, c.gate}, c.c.TLS)
	}
	if _, port, err := splitHostPort(c.c.Advertise); err != nil {
		return fmt.Errorf("the advertised address: %w", err)
	} else if port != 0 {
		c.port = port
	}
	if u, ok := c.udp.(*net.UDPConn); ok {
		_ = u.SetReadBuffer(1 << 20) // the usual one overflows with a hundred messages at once
	}
	udp := c.udp.LocalAddr().(*net.UDPAddr)
	c.laddr = sip.Addr{IP: udp.IP, Port: udp.Port}
	if c.ports, err = rtp.New(rtp.Config{From: c.c.RTPFrom, To: c.c.RTPTo, Log: c.log}); err != nil {
		return err
	}
	return c.build()
}

// bind takes the port for UDP and TCP; any that both have free when it is 0. IPv4 unless the address is of the other kind:
// the stack finds the socket by the text of its address.
func (c *Carrier) bind(ctx context.Context) (err error) {
	var lc net.ListenConfig
	host, port, _ := net.SplitHostPort(c.c.Addr)
	for range 20 {
		if c.udp, err = lc.ListenPacket(ctx, family("udp", c.c.Addr), c.c.Addr); err != nil {
			return err
		}
		if c.tcp, err = lc.Listen(ctx, family("tcp", c.c.Addr), net.JoinHostPort(host, strconv.Itoa(c.Port()))); err == nil || port != "0" {
			return err
		}
		_ = c.udp.Close()
	}
	return err
}

// build puts the stack together.
func (c *Carrier) build() (err error) {
	log := slog.New(quiet{c.log.Handler()})
	c.ua, err = sipgo.NewUA(
		sipgo.WithUserAgent(c.c.UserAgent),
		sipgo.WithUserAgenTLSConfig(c.c.TLSClient),
		sipgo.WithUserAgentTransportLayerOptions(sip.WithTransportLayerLogger(log), sip.WithTransportLayerReadFilter(c.gate.filter)),
		sipgo.WithUserAgentTransactionLayerOptions(sip.WithTransactionLayerLogger(log),
			sip.WithTransactionLayerUnhandledResponseHandler(c.guardResponse(c.stray))),
	)
	if err != nil {
		return err
	}
	s, err := sipgo.NewServer(c.ua, sipgo.WithServerLogger(log))
	if err != nil {
		return err
	}
	for method, handle := range map[sip.RequestMethod]func(*sip.Request, sip.ServerTransaction, *trunk){
		sip.INVITE: c.onInvite, sip.ACK: c.onAck, sip.BYE: c.onBye, sip.CANCEL: c.onCancel, sip.OPTIONS: c.onOptions,
		sip.UPDATE: c.onUpdate, sip.INFO: c.onInfo, sip.NOTIFY: c.onNotify, sip.REFER: c.onRefer,
	} {
		s.OnRequest(method, c.guard(handle))
	}
	s.OnNoRoute(c.guard(c.onOther))
	for _, t := range c.trunks {
		if err := t.settle(); err != nil {
			return err
		}
	}
	return nil
}

func family(network, addr string) string {
	if host, _, _ := net.SplitHostPort(addr); addrOf(host).Is4() {
		return network + "4"
	}
	return network
}

// Run serves the ports until ctx ends; whoever ends it has ended the calls before. It unregisters then, and lets what is
// still being said be said for some seconds.
func (c *Carrier) Run(ctx context.Context) error {
	var serving sync.WaitGroup
	dead := make(chan struct{})
	serving.Go(func() { _ = c.ua.TransportLayer().ServeUDP(c.udp); close(dead) })
	serving.Go(func() { _ = c.ua.TransportLayer().ServeTCP(listener{c.tcp, c.gate}) })
	if c.tls != nil {
		serving.Go(func() { _ = c.ua.TransportLayer().ServeTLS(c.tls) })
	}
	for c.ua.TransportLayer().Pool("udp").Size() == 0 && ctx.Err() == nil { // the stack does not tell when it is ready
		time.Sleep(time.Millisecond)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	for _, t := range c.trunks {
		c.work.Go(func() { t.run(ctx) }) // finish waits: registrations are taken back
	}
	close(c.started)
	serving.Go(func() { c.watchLateness(ctx) })
	var err error
	select {
	case <-ctx.Done():
	case <-dead:
		err = errors.New("the SIP port can not be read any more")
		end()
	}
	c.finish()
	c.shut()
	serving.Wait()
	return err
}

// finish waits for BYEs and CANCELs that are still on their way.
func (c *Carrier) finish() {
	done := make(chan struct{})
	go func() { c.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(4 * time.Second):
	}
	c.close()
	<-done
}

// Close gives back what Listen took, for a line that does not Run.
func (c *Carrier) Close() { c.shut() }

func (c *Carrier) shut() {
	c.close()
	if c.ua != nil {
		_ = c.ua.Close()
	}
	for _, closer := range []interface{ Close() error }{c.udp, c.tcp, c.tls} {
		if closer != nil {
			_ = closer.Close()
		}
	}
	if c.ports != nil {
		_ = c.ports.Close()
	}
}

// Addr is where SIP is heard, after Listen.
func (c *Carrier) Addr() string { return c.udp.LocalAddr().String() }

// Port is that of Addr.
func (c *Carrier) Port() int { return int(addrPortOf(c.udp.LocalAddr()).Port()) }

// Serve is that of carrier.Carrier. When ctx ends, new calls and OPTIONS are told 503, and registrations are taken back:
// this process is being stopped. It runs once.
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
	c.depart()
	calls.Wait()
	return nil
}

// Drain is that of carrier.Carrier.
func (c *Carrier) Drain(ctx context.Context) error {
	done := make(chan struct{})
	c.mu.Lock()
	c.draining = true
	c.empty = append(c.empty, done)
	c.checkEmpty()
	c.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// guard keeps a defect in one request from ending all calls, and finds its trunk; requests of calls in progress may come
// from elsewhere.
func (c *Carrier) guard(handle func(*sip.Request, sip.ServerTransaction, *trunk)) sipgo.RequestHandler {
	return func(req *sip.Request, tx sip.ServerTransaction) {
		defer func() {
			if p := recover(); p != nil {
				c.log.Error("panic in a SIP request", "method", string(req.Method), "panic", fmt.Sprint(p), "stack", stack())
			}
		}()
		from, _ := netip.ParseAddrPort(req.Source())
		handle(req, tx, c.trunkOf(netip.AddrPortFrom(from.Addr().Unmap().WithZone(""), from.Port())))
	}
}

func (c *Carrier) guardResponse(handle func(*sip.Response)) func(*sip.Response) {
	return func(res *sip.Response) {
		defer func() {
			if p := recover(); p != nil {
				c.log.Error("panic in a SIP response", "panic", fmt.Sprint(p), "stack", stack())
			}
		}()
		handle(res)
	}
}

const (
	// tooLate is the lateness of the sound's clock above which the machine is at its end; tooLong is for how long.
	tooLate = 20 * time.Millisecond
	tooLong = 5 * time.Second
	// fewCalls for each core are taken in any case: it is not they that keep the machine busy (100 take a quarter of a core).
	fewCalls = 100
)

// overloaded reports whether sound has been late for so long that more calls would harm those in progress.
func (c *Carrier) overloaded() bool {
	since := c.late.Load()
	return since != 0 && time.Since(time.Unix(0, since)) > tooLong && c.Active() >= fewCalls*runtime.GOMAXPROCS(0)
}

func (c *Carrier) watchLateness(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			switch late := c.ports.Lateness() > tooLate; {
			case !late:
				c.late.Store(0)
			case c.late.Load() == 0:
				c.late.Store(time.Now().UnixNano())
			}
		}
	}
}
