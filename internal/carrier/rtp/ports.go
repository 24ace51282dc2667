package rtp

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

// Config is where streams live.
type Config struct {
	// Address is the local address of the sockets. Defaults to all IPv4 addresses; "::" is all of both kinds.
	Address netip.Addr
	// From and To bound the ports, both included; a stream takes an even port and the odd one after it. Default to
	// 10000 and 20000.
	From, To uint16
	// Log hears of each stream's figures at its end, for debugging. Defaults to slog.Default.
	Log *slog.Logger

	// for tests: another network, and the number of lanes and their fill
	listen      func(netip.AddrPort) (socket, error)
	lanes, fill int
}

const (
	// restTime without a packet makes a released port fit for the next call; restLimit is the longest it is kept waiting
	// by packets that do not stop.
	restTime  = 30 * time.Second
	restLimit = 10 * time.Minute
	// restingPairs bounds the sockets that are held for nobody. Beyond it the oldest are closed, and their ports are the
	// last to be taken again.
	restingPairs = 512
	drainTime    = time.Second
)

// Ports are the RTP ports of this process and the lanes that serve them. Ports of ended streams stay bound and are
// drained until nothing has come for 30 s, so that late packets of one call do not reach the next.
type Ports struct {
	c     Config
	lanes []*lane
	late  lateness
	work  sync.WaitGroup // the goroutines of lanes and drain

	mu      sync.Mutex
	free    []uint16 // even ports without sockets, in the order to take them
	resting []*pair  // released, the oldest first
	open    map[*Stream]struct{}
	drains  bool // the drain's goroutine runs
	closed  bool
	done    chan struct{}
}

// pair is two bound sockets.
type pair struct {
	port      uint16
	rtp, rtcp socket
	released  time.Time
	quiet     time.Time // since when nothing has come
}

func (p *pair) close() {
	p.rtp.close()
	p.rtcp.close()
}

// drain throws away what has come and reports whether it was anything.
func (p *pair) drain(b *batch) (any bool) {
	for _, s := range []socket{p.rtp, p.rtcp} {
		for range drainRounds {
			n := s.receive(b)
			any = any || n > 0
			if n < batchSize {
				break
			}
		}
	}
	return any
}

// drainRounds of a batch are what a socket's buffer can hold.
const drainRounds = 64

// New checks the range; ports are opened as they are needed.
func New(c Config) (*Ports, error) {
	if !c.Address.IsValid() {
		c.Address = netip.IPv4Unspecified()
	}
	c.Address = c.Address.Unmap()
	if c.From == 0 && c.To == 0 {
		c.From, c.To = 10000, 20000
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.listen == nil {
		c.listen = listen
	}
	if c.lanes == 0 {
		c.lanes = max(2*runtime.GOMAXPROCS(0), 4)
	}
	if c.fill == 0 {
		c.fill = laneFill
	}
	p := &Ports{c: c, open: map[*Stream]struct{}{}, done: make(chan struct{})}
	for port := (int(c.From) + 1) &^ 1; port+1 <= int(c.To); port += 2 {
		p.free = append(p.free, uint16(port))
	}
	if len(p.free) == 0 || c.From == 0 {
		return nil, fmt.Errorf("RTP ports %d to %d: no pair of an even port and the next one", c.From, c.To)
	}
	// In no order, so that nobody knows the port of the next call.
	rand.Shuffle(len(p.free), func(i, j int) { p.free[i], p.free[j] = p.free[j], p.free[i] })
	epoch := time.Now()
	for i := range c.lanes {
		p.lanes = append(p.lanes, &lane{epoch: epoch, phase: audio.FrameTime * time.Duration(i) / time.Duration(c.lanes), late: &p.late, done: p.done, work: &p.work})
	}
	return p, nil
}

// Stream takes a pair of ports for a call whose offer is about to be written or answered. ErrNoPort when there is none.
// Close must be called.
func (p *Ports) Stream(h Handlers) (*Stream, error) {
	pair, err := p.take()
	if err != nil {
		return nil, err
	}
	s := newStream(p, pair, h)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[s] = struct{}{}
	return s, nil
}

// take finds a pair: a fresh one, or else the one that has rested longest.
func (p *Ports) take() (*pair, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrNoPort
	}
	for range len(p.free) {
		port := p.free[0]
		p.free = p.free[1:]
		pair, err := p.bind(port)
		switch {
		case err == nil:
			return pair, nil
		case errors.Is(err, syscall.EADDRINUSE):
			p.free = append(p.free, port) // another program's: try again when all others were taken
			continue
		}
		p.free = append(p.free, port)
		if len(p.resting) == 0 {
			return nil, fmt.Errorf("%w: %w", ErrNoPort, err)
		}
		break // no descriptors left, or no such address any more
	}
	if len(p.resting) == 0 {
		return nil, ErrNoPort
	}
	oldest := p.resting[0]
	p.resting = p.resting[1:]
	return oldest, nil
}

func (p *Ports) bind(port uint16) (*pair, error) {
	rtp, err := p.c.listen(netip.AddrPortFrom(p.c.Address, port))
	if err != nil {
		return nil, err
	}
	rtcp, err := p.c.listen(netip.AddrPortFrom(p.c.Address, port+1))
	if err != nil {
		rtp.close()
		return nil, err
	}
	return &pair{port: port, rtp: rtp, rtcp: rtcp}, nil
}

// release takes the ports of an ended stream back.
func (p *Ports) release(s *Stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, open := p.open[s]; !open {
		return
	}
	delete(p.open, s)
	if p.closed {
		s.pair.close()
		return
	}
	s.pair.released = time.Now()
	s.pair.quiet = s.pair.released
	p.resting = append(p.resting, s.pair)
	if len(p.resting) > restingPairs {
		p.retire(0)
	}
	if !p.drains {
		p.drains = true
		p.work.Go(p.drain)
	}
}

// retire closes a resting pair. Called with mu held.
func (p *Ports) retire(i int) {
	pair := p.resting[i]
	p.resting = append(p.resting[:i:i], p.resting[i+1:]...)
	pair.close()
	p.free = append(p.free, pair.port)
}

// drain empties the resting ports every second, and frees those that have rested, until none is left.
func (p *Ports) drain() {
	b := newBatch()
	tick := time.NewTicker(drainTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.done:
			return
		}
		if p.drainOnce(b) {
			return
		}
	}
}

func (p *Ports) drainOnce(b *batch) (none bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for i := len(p.resting) - 1; i >= 0; i-- {
		pair := p.resting[i]
		if pair.drain(b) {
			pair.quiet = now
		}
		if now.Sub(pair.quiet) >= restTime || now.Sub(pair.released) >= restLimit {
			p.retire(i)
		}
	}
	if len(p.resting) > 0 {
		return false
	}
	p.drains = false
	return true
}

// lane is the one that a new stream joins: the first that is not full, or else the one with the fewest.
func (p *Ports) lane() *lane {
	best := p.lanes[0]
	for _, l := range p.lanes {
		n := len(l.list())
		if n > 0 && n < p.c.fill {
			return l
		}
		if n < len(best.list()) {
			best = l
		}
	}
	return best
}

// Free is how many calls the range has room for.
func (p *Ports) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.free) + len(p.resting)
}

// Check opens a pair of ports and closes it again: whether the address is this machine's and the range can be used.
func (p *Ports) Check() error {
	pair, err := p.take()
	if err != nil {
		return err
	}
	pair.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, pair.port)
	return nil
}

// Lateness is by how much the worst hundredth of the last seconds' ticks missed its deadline: above 20 ms for some
// seconds the machine is at its end and new calls should be refused.
func (p *Ports) Lateness() time.Duration { return p.late.worst() }

// Close gives the ports back to the system. Streams that are still open are closed. It waits for the lanes, so no handler
// may call it.
func (p *Ports) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	close(p.done)
	for _, pair := range p.resting {
		pair.close()
	}
	p.resting = nil
	var open []*Stream
	for s := range p.open {
		open = append(open, s)
	}
	p.mu.Unlock()
	for _, s := range open {
		s.Close(&carrier.Ended{Class: carrier.ClassServer, Reason: carrier.ReasonDraining, Message: "The line was shut down."})
	}
	p.work.Wait()
	return nil
}
