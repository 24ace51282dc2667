package rtp

import (
	"net/netip"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

// receive takes what has come since the last tick.
func (s *Stream) receive(b *batch, now time.Time) {
	for range receiveRounds {
		n := s.pair.rtp.receive(b)
		if s.phase == phaseLive {
			for i := range n {
				p := &b.packets[i]
				if isRTCP(p.data) {
					s.hearReport(p, now)
					continue
				}
				s.hear(p, now)
			}
		}
		if n < batchSize {
			return
		}
	}
}

// hear takes an RTP packet, or leaves it.
func (s *Stream) hear(p *packet, now time.Time) {
	h, payload, ok := parse(p.data)
	if !ok {
		s.stats.Invalid++
		return
	}
	if !s.source.possible(p.from, s.at) {
		s.stats.Strangers++
		return
	}
	what := s.accepts[h.payload]
	if what == useNone {
		s.stats.Invalid++
		return
	}
	clear, ok := s.open.rtp(p.data, h.ssrc, s.at)
	if ok {
		payload = clear[len(p.data)-len(payload):]
		payload, ok = unpad(clear, payload)
	}
	if !ok {
		s.stats.Invalid++
		return
	}
	ok, took := s.source.accept(p.from, h.ssrc, h.seq, s.at)
	if !ok {
		s.stats.Strangers++
		return
	}
	if took {
		s.arrivals.restart()
		s.aim()
	}
	if !s.params.Direction.mayReceive() {
		return
	}
	s.heard, s.alive, s.ever = s.at, s.at, true
	if s.arrivals.add(h.seq) {
		s.stats.Duplicates++
		return
	}
	age := max(now.Sub(p.at), 0)
	s.arrivals.time(int64(audio.Samples(s.at))-int64(audio.Samples(age)), h.timestamp)
	s.understand(h, what, payload, took, age)
}

// understand does what a packet of the source says.
func (s *Stream) understand(h header, what use, payload []byte, took bool, age time.Duration) {
	var pcm []int16
	switch what {
	case usePCMU:
		pcm = audio.DecodeUlaw(s.pcm[:0], payload[:min(len(payload), maxPacketSamples)])
	case usePCMA:
		pcm = audio.DecodeAlaw(s.pcm[:0], payload[:min(len(payload), maxPacketSamples)])
	case useNoise:
		s.jitter.silence()
		return
	case useDigits:
		s.jitter.silence()
		key, bad := s.pressed.take(h.timestamp, payload, s.at)
		if bad {
			s.stats.Invalid++
		}
		if key != "" {
			s.emit(carrier.Event{Kind: carrier.EventDigits, Digits: key})
		}
		return
	}
	if len(pcm) == 0 {
		return
	}
	if s.jitter.put(h.timestamp, pcm, h.marker || took, age, s.at) == tooLate {
		s.stats.Late++
	}
}

// hearReport takes RTCP. Its SSRC is not compared: it changes nothing but figures, and proves life.
func (s *Stream) hearReport(p *packet, now time.Time) {
	if !s.expectsRTCP(p.from) {
		s.stats.Strangers++
		return
	}
	data, ok := s.open.rtcp(p.data)
	if !ok {
		s.stats.Invalid++
		return
	}
	h, ok := parseRTCP(data, s.ssrc)
	if !ok {
		s.stats.Invalid++
		return
	}
	s.alive = s.at
	if s.fromRTCP != p.from {
		s.fromRTCP = p.from
		s.aim()
	}
	if h.sender {
		s.lastSR, s.lastSRAt = h.ntp, p.at
	}
	if !h.about {
		return
	}
	s.stats.RemoteLost = uint64(h.lost)
	s.stats.RemoteJitter = audio.Duration(int(min(h.jitter, audio.Rate*10)))
	if h.lastSR != 0 {
		arrived := uint32(ntp(now.Add(-max(now.Sub(p.at), 0))) >> 16)
		if trip := int32(arrived - h.lastSR - h.delay); trip >= 0 {
			s.stats.RoundTrip = time.Duration(trip) * time.Second / 65536
		}
	}
}

// expectsRTCP reports whether the other side's reports may come from there: its address as signalled or as latched.
func (s *Stream) expectsRTCP(from netip.AddrPort) bool {
	if s.source.locked && from.Addr() == s.source.from.Addr() {
		return true
	}
	return from.Addr() == s.params.Remote.Addr() || from == s.params.RemoteRTCP
}
