package rtp

import (
	"log/slog"
	"net/netip"
	"time"
)

// Config is where streams live.
type Config struct {
	// Address is the local address of the sockets. Defaults to all IPv4 addresses.
	Address netip.Addr
	// From and To bound the ports, both included; a stream takes an even port and the odd one after it. Default to
	// 10000 and 20000.
	From, To uint16
	// Log defaults to slog.Default.
	Log *slog.Logger
}

// Ports are the RTP ports of this process and the lanes that serve them. Ports of ended streams stay bound and are
// drained until nothing has come for 30 s, so that late packets of one call do not reach the next.
type Ports struct {
	c Config
}

// New checks the range; ports are opened as they are needed.
func New(c Config) (*Ports, error) {
	panic("not yet")
}

// Stream takes a pair of ports for a call whose offer is about to be written or answered. ErrNoPort when there is none.
// Close must be called.
func (p *Ports) Stream(h Handlers) (*Stream, error) {
	panic("not yet")
}

// Free is how many calls the range has room for.
func (p *Ports) Free() int {
	panic("not yet")
}

// Lateness is by how much the worst hundredth of the last seconds' ticks missed its deadline: above 20 ms for some
// seconds the machine is at its end and new calls should be refused.
func (p *Ports) Lateness() time.Duration {
	panic("not yet")
}

// Close gives the ports back to the system. Streams that are still open are closed.
func (p *Ports) Close() error {
	panic("not yet")
}
