package rtp

import "encoding/binary"

// header is what matters of an RTP header (RFC 3550 §5.1).
type header struct {
	marker    bool
	payload   uint8
	seq       uint16
	timestamp uint32
	ssrc      uint32
}

const (
	headerSize = 12
	// payloadNoise is comfort noise (RFC 3389): a sign of life without sound.
	payloadNoise = 13
)

// parse splits a datagram into header and payload; false for what is no RTP. The datagram may still be encrypted: then
// the payload is, and it ends with the tag, so padding is left alone until open.
func parse(data []byte) (h header, payload []byte, ok bool) {
	if len(data) < headerSize || data[0]>>6 != 2 {
		return h, nil, false
	}
	start := headerSize + 4*int(data[0]&0x0f)
	if data[0]&0x10 != 0 {
		if len(data) < start+4 {
			return h, nil, false
		}
		start += 4 + 4*int(binary.BigEndian.Uint16(data[start+2:]))
	}
	if len(data) < start {
		return h, nil, false
	}
	return header{
		marker: data[1]&0x80 != 0, payload: data[1] & 0x7f, seq: binary.BigEndian.Uint16(data[2:]),
		timestamp: binary.BigEndian.Uint32(data[4:]), ssrc: binary.BigEndian.Uint32(data[8:]),
	}, data[start:], true
}

// unpad takes the padding off the payload of a packet that is in the clear; false if there is more of it than payload.
func unpad(data, payload []byte) ([]byte, bool) {
	if data[0]&0x20 == 0 {
		return payload, true
	}
	if len(payload) == 0 {
		return nil, false
	}
	padding := int(payload[len(payload)-1])
	if padding == 0 || padding > len(payload) {
		return nil, false
	}
	return payload[:len(payload)-padding], true
}

// append writes the header.
func (h header) append(b []byte) []byte {
	second := h.payload
	if h.marker {
		second |= 0x80
	}
	b = append(b, 0x80, second)
	b = binary.BigEndian.AppendUint16(b, h.seq)
	b = binary.BigEndian.AppendUint32(b, h.timestamp)
	return binary.BigEndian.AppendUint32(b, h.ssrc)
}

// isRTCP tells the two apart where they share a port (RFC 5761 §4).
func isRTCP(data []byte) bool {
	return len(data) >= 8 && data[0]>>6 == 2 && data[1] >= 192 && data[1] <= 223
}

// arrivals counts what came of one source, by sequence numbers (RFC 3550 appendix A.1, without its probation: that is
// the latch's).
type arrivals struct {
	started  bool
	first    int64  // extended sequence number
	newest   int64  // extended
	seen     uint64 // bit n: newest-n came
	received uint64
	before   uint64 // expected of sources that came before this one

	// of the last report
	reportedExpected, reportedReceived uint64

	jitter  float64 // in timestamp units
	transit int64
	timed   bool
}

// far is how much a sequence number may jump before it is a restart of the sender.
const far = 3000

// add counts a packet and reports whether it came before.
func (a *arrivals) add(seq uint16) (duplicate bool) {
	if !a.started {
		a.started, a.first, a.newest, a.seen = true, int64(seq), int64(seq), 1
		a.received++
		return false
	}
	n := a.newest + int64(int16(seq-uint16(a.newest)))
	switch ahead := n - a.newest; {
	case ahead > far || ahead < -far:
		a.restart()
		return a.add(seq)
	case ahead > 0:
		a.seen = a.seen<<min(uint(ahead), 64) | 1
		a.newest = n
	case ahead > -64:
		if a.seen&(1<<-ahead) != 0 {
			return true
		}
		a.seen |= 1 << -ahead
	}
	a.received++
	a.first = min(a.first, n)
	return false
}

// restart begins a new count for a new source, or an old one with new numbers.
func (a *arrivals) restart() {
	a.before = a.expected()
	a.started, a.timed = false, false
}

func (a *arrivals) expected() uint64 {
	if !a.started {
		return a.before
	}
	return a.before + uint64(a.newest-a.first+1)
}

func (a *arrivals) lost() uint64 {
	if e := a.expected(); e > a.received {
		return e - a.received
	}
	return 0
}

// time measures the jitter of RFC 3550 §6.4.1 from the time of arrival in samples.
func (a *arrivals) time(arrival int64, timestamp uint32) {
	transit := arrival - int64(timestamp)
	if a.timed {
		d := int64(int32(transit - a.transit))
		if d < 0 {
			d = -d
		}
		if d < 8000 { // a jump of the timestamps is no jitter
			a.jitter += (float64(d) - a.jitter) / 16
		}
	}
	a.timed, a.transit = true, transit
}

// share is how much was lost since the last report, of 256.
func (a *arrivals) share() uint8 {
	expected, received := a.expected()-a.reportedExpected, a.received-a.reportedReceived
	a.reportedExpected, a.reportedReceived = a.expected(), a.received
	if expected == 0 || received >= expected {
		return 0
	}
	return uint8(min((expected-received)*256/expected, 255))
}
