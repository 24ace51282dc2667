package rtp

import (
	"net/netip"
	"time"
)

const (
	// latchTime is how long after the answer a source other than the SDP's may be taken.
	latchTime = 2 * time.Second
	// latchPackets in a row from one source make it the stream's.
	latchPackets = 3
	// switchTime is how long the locked SSRC must have been quiet before another one of the same address is followed.
	switchTime = 500 * time.Millisecond
)

// source decides who is heard. Times are media times.
type source struct {
	sdp    netip.AddrPort
	nat    bool
	peer   netip.Addr    // of the signalling; what sounds from there is the other side too
	opened time.Duration // when the latch was opened

	locked bool
	from   netip.AddrPort
	ssrc   uint32
	heard  time.Duration // when the locked source was last heard

	// who might become it
	candidate struct {
		from  netip.AddrPort
		ssrc  uint32
		seq   uint16
		heard time.Duration
		n     int
	}
}

// open takes what signalling says of the source. The lock falls only when the address changed; where there is none yet the
// time for it begins anew.
func (s *source) open(p Params, at time.Duration) {
	if s.sdp == p.Remote && s.nat == p.NAT && s.peer == p.Peer {
		if !s.locked { // nobody was heard yet, such as in a call that was answered on hold
			s.opened = at
		}
		return
	}
	*s = source{sdp: p.Remote, nat: p.NAT, peer: p.Peer, opened: at}
}

// possible is the cheap test before a packet is decrypted: might anything at all of this address be heard now?
func (s *source) possible(from netip.AddrPort, at time.Duration) bool {
	switch {
	case s.locked && from == s.from, from == s.sdp:
		return true
	case at > s.opened+latchTime:
		return false
	case s.locked:
		return false
	}
	return s.nat || from.Addr() == s.sdp.Addr() || from.Addr() == s.peer
}

// elsewhere reports that the one who is heard told another address than its own: sound goes to where it comes from.
func (s *source) elsewhere() bool {
	return s.locked && (s.nat || s.from.Addr() != s.sdp.Addr())
}

// accept decides about a packet with a payload type of ours (and, with SRTP, of the one who has the key). took reports
// that from now on another source is heard.
func (s *source) accept(from netip.AddrPort, ssrc uint32, seq uint16, at time.Duration) (ok, took bool) {
	switch {
	case s.locked && from == s.from && ssrc == s.ssrc:
		s.heard = at
		return true, false
	case s.locked && from == s.from:
		if at < s.heard+switchTime || !s.stays(from, ssrc, seq, at) {
			return false, false
		}
	case s.locked && from == s.sdp:
		// The address of the SDP itself comes before what was latched in the first moments, but not later.
		if at > s.opened+latchTime || s.from == s.sdp || !s.stays(from, ssrc, seq, at) {
			return false, false
		}
	case s.locked:
		return false, false
	case from == s.sdp:
	case !s.possible(from, at) || !s.stays(from, ssrc, seq, at):
		return false, false
	}
	s.locked, s.from, s.ssrc, s.heard = true, from, ssrc, at
	s.candidate.n = 0
	return true, true
}

// stays counts packets in a row of a source that is not heard yet. Who came first is not pushed aside by a second one
// while it goes on.
func (s *source) stays(from netip.AddrPort, ssrc uint32, seq uint16, at time.Duration) bool {
	c := &s.candidate
	switch {
	case c.n > 0 && c.from == from && c.ssrc == ssrc:
		if step := seq - c.seq; step == 0 || step > 10 {
			c.n = 0 // a repetition, or no stream
		}
	case c.n > 0 && at < c.heard+100*time.Millisecond:
		return false
	default:
		c.n = 0
	}
	c.from, c.ssrc, c.seq, c.heard = from, ssrc, seq, at
	c.n++
	return c.n >= latchPackets
}
