// Package rtp carries the sound of telephone calls: G.711 over RTP with RTCP, SDES-SRTP and RFC 4733 digits, for the
// signalling of carrier/sip. It opens ports, paces, hides jitter and loss, and keeps strangers out; it knows no SIP and
// no SDP text.
//
// # Time and goroutines
//
// A [Stream] has no goroutine and its socket is in no poller. A few lanes, each with one timer to an absolute deadline,
// look after all streams: every 20 ms a lane takes what a stream's socket has received (one system call, with the
// kernel's arrival times), fills one frame from the jitter buffer, takes one frame from the playout queue and sends it
// (one more). Sound that comes between two ticks could not have been used earlier anyway.
//
// Media time starts with [Stream.Start] and is wall time: when the machine stops for longer than a short burst can make
// up for, it jumps.
//
// # Who may be heard
//
// A stream takes sound from the address that the other side's SDP tells, or from the first source within two seconds
// after the answer that sends our payload type and stays on one SSRC: one at the SDP's host or at the host that the
// signalling comes from, on lines behind NAT one at any host. From then on address,
// port and SSRC are locked; only an Update with another Remote opens them again. An SSRC that changes at the very same
// address and port is followed when the old one has been quiet for half a second, as gateways do when they switch a
// call. Everybody else is counted ([Stats.Strangers]) and not heard.
package rtp

import (
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/callwright/callwright/internal/carrier"
)

// Codec is what sound is on the wire.
type Codec uint8

// The codecs, with the payload types they have by RFC 3551 everywhere.
const (
	PCMU Codec = 0
	PCMA Codec = 8
)

func (c Codec) String() string {
	if c == PCMA {
		return "PCMA"
	}
	return "PCMU"
}

// Direction is which way sound flows, seen from us (the inverse of what the other side's SDP says of itself).
type Direction uint8

// The directions. The other side's hold is RecvOnly (it plays music) or Inactive. Sound that waits to be played waits
// while we may not send.
const (
	SendRecv Direction = iota
	SendOnly
	RecvOnly
	Inactive
)

// Params is what offer and answer agreed on.
type Params struct {
	// Remote is where the other side wants its sound: address and port of its SDP. An unspecified address (hold of the
	// old kind) or port 0 means that nothing is sent.
	Remote netip.AddrPort
	// RemoteRTCP is where it wants its RTCP (a=rtcp). Defaults to the port after Remote's, or Remote itself with Mux.
	RemoteRTCP netip.AddrPort
	// Mux is RTCP on the RTP port (a=rtcp-mux). What comes there is understood in any case.
	Mux bool
	// Codec is what we send. Both codecs are understood at any time if Accept says so.
	Codec Codec
	// Accept are the codecs that may come in. Defaults to Codec alone.
	Accept []Codec
	// SendDigits and ReceiveDigits are the payload types of telephone-event: the one in the other side's SDP, and the one
	// in ours. 0 is none: digits are then sent as tones in the sound.
	SendDigits, ReceiveDigits uint8
	Direction                 Direction
	// SendKeys and ReceiveKeys turn SRTP on: those of our a=crypto line, and those of the other side's.
	SendKeys, ReceiveKeys *Keys
	// NAT allows the other side another address than its SDP tells, and sends there.
	NAT bool
	// Peer is the address that its signalling comes from. Sound may come from there as from the SDP's address, in the first
	// moments: machines with several addresses tell one and use another. The zero value is none.
	Peer netip.Addr
}

// Handlers are told what happens on a stream. They run on the lane: they must not block and may call any method of the
// stream. nil ones are not called. What was on its way when Close was called may still be told.
type Handlers struct {
	// Event gets EventDigits, EventMark, EventMediaStalled and EventMediaRecovered.
	Event func(carrier.Event)
	// Timeout is told once when no sound has come for 30 s after the answer, or for 15 s later; not while on hold. The
	// Ended has ReasonMediaTimeout; whoever gets it hangs up and closes the stream with it.
	Timeout func(*carrier.Ended)
}

// Stats are counts since Start.
type Stats struct {
	Sent, Received uint64 // RTP packets of the stream
	// Lost never came, Late came after their time, Duplicates came twice.
	Lost, Late, Duplicates uint64
	// Concealed frames of 20 ms were made up.
	Concealed uint64
	// Strangers are packets of sources that are not the stream's, Invalid those that are no RTP of it (other payload
	// types, bad SRTP authentication, replays).
	Strangers, Invalid uint64
	// SendErrors were refused by the network (ICMP included).
	SendErrors uint64
	// Jitter is that of RFC 3550 for what comes in; Delay what the jitter buffer adds now.
	Jitter, Delay time.Duration
	// RoundTrip, RemoteLost and RemoteJitter are what the other side reports by RTCP; 0 without reports.
	RoundTrip    time.Duration
	RemoteLost   uint64
	RemoteJitter time.Duration
	// From is the source that is heard; invalid before there is one.
	From netip.AddrPort
}

// LogValue tells the figures, not who was on the line.
func (s Stats) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Uint64("sent", s.Sent), slog.Uint64("received", s.Received), slog.Uint64("lost", s.Lost), slog.Uint64("late", s.Late),
		slog.Uint64("concealed", s.Concealed), slog.Uint64("strangers", s.Strangers), slog.Uint64("invalid", s.Invalid),
		slog.Duration("jitter", s.Jitter), slog.Duration("delay", s.Delay), slog.Duration("round_trip", s.RoundTrip),
		slog.Uint64("remote_lost", s.RemoteLost),
	)
}

// What the package returns beside the *carrier.Ended of streams that are over.
var (
	// ErrNoPort means that all ports of the range are taken.
	ErrNoPort = errors.New("no free RTP port")
	// ErrKeys means that SRTP keys are malformed or of a suite that is not supported.
	ErrKeys = errors.New("unusable SRTP keys")
)
