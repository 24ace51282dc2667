package rtp

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/callwright/callwright/internal/audio"
)

// send puts this tick's 20 ms on the line: digits, or sound, or silence. We send all the time: it keeps ways through NAT
// open and the other side's jitter buffer calm, and costs less than what goes wrong with pauses.
func (s *Stream) send(b *batch) {
	if !s.params.Direction.maySend() || !s.to.IsValid() {
		s.agent = audio.Frame{}
		s.marker = true
		return
	}
	if s.pressing != nil {
		s.press(b)
		return
	}
	s.playout.Fill(&s.agent, s.mark)
	s.sendSound(b)
}

// timestamp of the frame that this tick sends.
func (s *Stream) timestamp() uint32 { return s.clock + uint32((s.frames-1)*frame) }

// sendSound sends s.agent. The marker stands only behind a pause of ours, since we have no silence suppression (RFC 3551
// §4.1).
func (s *Stream) sendSound(b *batch) {
	if !s.params.Direction.maySend() || !s.to.IsValid() {
		s.marker = true
		return
	}
	h := header{marker: s.marker, payload: uint8(s.params.Codec), seq: s.seq, timestamp: s.timestamp(), ssrc: s.ssrc}
	s.marker = false
	out := h.append(b.out[:0])
	if s.params.Codec == PCMA {
		out = audio.EncodeAlaw(out, s.agent[:])
	} else {
		out = audio.EncodeUlaw(out, s.agent[:])
	}
	s.sendPacket(out)
}

func (s *Stream) sendPacket(packet []byte) {
	s.octets += uint32(len(packet) - headerSize)
	s.seq++
	s.stats.Sent++
	sealed, err := s.seal.rtp(packet)
	if err == nil {
		err = s.pair.rtp.send(sealed, s.to)
	}
	if err != nil {
		s.stats.SendErrors++
	}
}

// press goes on with the digits.
func (s *Stream) press(b *batch) {
	p := s.pressing
	s.agent = audio.Frame{}
	beat, over := p.next()
	if over {
		s.pressing = nil
		close(p.done)
		s.playout.Fill(&s.agent, s.mark)
		s.sendSound(b)
		return
	}
	if s.params.SendDigits == 0 {
		if beat.first {
			p.tone = keyTone(beat.code)
		}
		if beat.event && !beat.end {
			copy(s.agent[:], p.tone[beat.index*frame:])
		}
		s.sendSound(b)
		return
	}
	if !beat.event {
		s.sendSound(b) // silence between the digits
		return
	}
	if beat.first {
		p.start = s.timestamp()
	}
	for range beat.repeats {
		h := header{marker: beat.first, payload: s.params.SendDigits & 0x7f, seq: s.seq, timestamp: p.start, ssrc: s.ssrc}
		s.sendPacket(beat.append(h.append(b.out[:0])))
	}
}

// cut leaves out the digits that have not begun; the end of one that has is still sent. Called with the stream locked.
func (p *pressing) cut() {
	if p.tick == 0 {
		p.digits = ""
	} else if p.digits != "" {
		p.digits = p.digits[:1]
	}
}

// control reads the RTCP socket and sends a report when it is due.
func (s *Stream) control(b *batch, now time.Time) {
	for range receiveRounds {
		n := s.pair.rtcp.receive(b)
		for i := range n {
			if isRTCP(b.packets[i].data) {
				s.hearReport(&b.packets[i], now)
			} else {
				s.stats.Invalid++
			}
		}
		if n < batchSize {
			break
		}
	}
	if s.at >= s.report {
		s.report = s.at + reportTime/2 + rand.N(reportTime)
		s.sendReport(now, false)
	}
}

// sendReport tells the other side how it goes, and at the end that it is over.
func (s *Stream) sendReport(now time.Time, leaving bool) {
	if !s.toRTCP.IsValid() || s.params.Direction == Inactive && !leaving {
		return
	}
	r := report{
		ssrc: s.ssrc, now: now, timestamp: s.timestamp(), packets: uint32(s.stats.Sent), octets: s.octets,
		name: s.name, leaving: leaving,
	}
	if a := &s.arrivals; a.started {
		r.heard, r.of = true, s.source.ssrc
		r.lost, r.newest, r.jitter = a.lost(), uint32(a.newest), uint32(a.jitter)
		r.share = a.share()
		if r.lastSR = s.lastSR; r.lastSR != 0 {
			r.delay = uint32(now.Sub(s.lastSRAt) * 65536 / time.Second)
		}
	}
	sealed, err := s.seal.rtcp(r.append(make([]byte, 0, 128)))
	if err != nil {
		return
	}
	socket := s.pair.rtcp
	if s.params.Mux {
		socket = s.pair.rtp
	}
	_ = socket.send(sealed, netip.AddrPortFrom(s.toRTCP.Addr(), s.toRTCP.Port()))
}
